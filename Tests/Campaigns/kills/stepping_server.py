"""A scripted server that knows what its client has read: it reads the state of the client's socket.

Bytes in a receive queue when a process is killed never reached the process, so the kill did not lose them.
"""

from __future__ import annotations

import fcntl
import select
import socket
import struct
import termios
import threading
import time

from scripted_server import Behaviour, ConnectionCut, Request, Resource, ScriptedServer

STEP = 65_536
#: Longer than any pause of a client that keeps reading.
DRAIN_SECONDS = 0.3
#: linux/tcp.h
TCP_ESTABLISHED = 1
#: linux/netlink.h, linux/sock_diag.h
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST = 1


class SocketLook:
    """Asks the kernel for the receive queue at the other end of a loopback connection.  C: sock_diag(7)"""

    def __init__(self) -> None:
        self._netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG)
        self._lock = threading.Lock()

    def unread(self, connection: socket.socket) -> int | None:
        """Bytes that the other end has received but not read; None if it is closed."""
        ends = (connection.getpeername(), connection.getsockname())
        ports = struct.pack("!HH", ends[0][1], ends[1][1])
        addresses = b"".join(socket.inet_aton(host) + bytes(12) for host, _ in ends)
        asked = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF)
        asked += ports + addresses + struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
        head = struct.pack("=IHHII", 16 + len(asked), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0)
        with self._lock:
            self._netlink.send(head + asked)
            answer = self._netlink.recv(8192)
        if struct.unpack_from("=IH", answer)[1] != SOCK_DIAG_BY_FAMILY or answer[17] != TCP_ESTABLISHED:
            return None
        unread: int = struct.unpack_from("=II", answer, 16 + 4 + 48)[1]
        return unread


class Flow:
    """A body in transfer: how much the server has sent, and how much the client has read."""

    def __init__(self, connection: socket.socket, look: SocketLook) -> None:
        self._connection = connection
        self._look = look
        self._lock = threading.Lock()
        self._sent_wire = 0
        self.sent = 0
        #: Body bytes that the client has certainly read from its socket.
        self.read = 0

    def push(self, piece: bytes, *, chunked: bool) -> None:
        """Sends body bytes."""
        rest = memoryview(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
        while rest:
            with self._lock:
                try:
                    count = self._connection.send(rest, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    count = 0
                rest = rest[count:]
                self._sent_wire += count
                if not chunked:
                    self.sent += count
            if count == 0:
                select.select([], [self._connection], [], 0.02)
        if chunked:
            self.sent += len(piece)

    def look(self) -> bool | None:
        """Updates `read`; true if everything sent was read, None if the connection is closed."""
        with self._lock:
            try:
                on_its_way = struct.unpack("=i", fcntl.ioctl(self._connection, termios.TIOCOUTQ, bytes(4)))[0]
                unread = self._look.unread(self._connection)
            except (OSError, ValueError):
                return None
            if unread is None:
                return None
            if on_its_way + unread == 0:
                self.read = self.sent
            elif self.sent == self._sent_wire:
                self.read = max(self.read, self.sent - on_its_way - unread)
            return on_its_way + unread == 0


class SteppingServer(ScriptedServer):
    """Sends the next step when the client has read the last one, or after a short time."""

    def __init__(self) -> None:
        self._look = SocketLook()
        self._flows: dict[int, Flow] = {}
        #: If false, the server sends as fast as it can.
        self.is_stepping = True
        super().__init__()

    def forget(self, prefix: str) -> None:
        """Forgets all paths with this prefix."""
        self.is_stepping = True
        with self._changed:
            gone = [r for r in self.log if r.target.startswith(prefix)]
            self.log = [r for r in self.log if not r.target.startswith(prefix)]
            for request in gone:
                self._flows.pop(id(request), None)
            for path in [p for p in self.resources if p.startswith(prefix)]:
                del self.resources[path]

    def resources_below(self, prefix: str) -> list[Resource]:
        return [resource for path, resource in self.resources.items() if path.startswith(prefix)]

    def body_read(self, request: Request) -> int:
        """Body bytes that the client has certainly read by now, or had read when it was killed."""
        flow = self._flows.get(id(request))
        if flow is None:
            return 0
        flow.look()
        return flow.read

    def _send_body(
        self, connection: socket.socket, request: Request, body: bytes, behaviour: Behaviour
    ) -> None:
        flow = self._flows[id(request)] = Flow(connection, self._look)
        while flow.sent < len(body):
            if flow.sent == behaviour.hold_after:
                self._wait_for(behaviour.gate or threading.Event(), connection)
            if flow.sent == behaviour.drop_after:
                self._cut(connection, behaviour.reset)
            stops = [n for n in (behaviour.hold_after, behaviour.drop_after) if n is not None]
            until = min([flow.sent + STEP, *(n for n in stops if n > flow.sent)])
            flow.push(body[flow.sent : until], chunked=behaviour.chunked)
            self._drain(flow)
            with self._changed:
                request.body_sent = flow.sent
                self._changed.notify_all()
        if behaviour.chunked:
            connection.sendall(b"0\r\n\r\n")

    def _drain(self, flow: Flow) -> None:
        """Waits until the client has read everything."""
        deadline = time.monotonic() + (DRAIN_SECONDS if self.is_stepping else 0)
        while not (is_drained := flow.look()):
            if is_drained is None:
                raise ConnectionCut
            if time.monotonic() >= deadline:
                return
            self._stopping.wait(0.0005)
