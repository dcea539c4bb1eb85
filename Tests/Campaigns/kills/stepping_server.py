"""A scripted server that knows what its client has read: it sends in steps and looks into the other socket.

What lies in a receive queue when a process is killed was never the process's, so it is not what a kill costs.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import termios
import threading
import time

from scripted_server import Behaviour, ConnectionCut, Request, Resource, ScriptedServer

STEP = 65_536
#: Longer than any pause of a client that goes on reading.
DRAIN_SECONDS = 0.3
#: linux/tcp.h
TCP_ESTABLISHED = 1
#: linux/netlink.h, linux/sock_diag.h
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST = 1


class SocketLook:
    """Asks the kernel for the receive queue of the other end of a loopback connection.  C: sock_diag(7)"""

    def __init__(self) -> None:
        self._netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG)
        self._lock = threading.Lock()

    def unread(self, connection: socket.socket) -> int | None:
        """Bytes that the other end has received and not read; None when it is not open any more."""
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


class SteppingServer(ScriptedServer):
    """Sends the next step when the client has read the last one, or after a while in which it did not."""

    def __init__(self) -> None:
        self._look = SocketLook()
        self._read: dict[int, int] = {}
        super().__init__()

    def forget(self, prefix: str) -> None:
        """Drops what is known of the paths that begin so."""
        with self._changed:
            gone = [r for r in self.log if r.target.startswith(prefix)]
            self.log = [r for r in self.log if not r.target.startswith(prefix)]
            for request in gone:
                self._read.pop(id(request), None)
            for path in [p for p in self.resources if p.startswith(prefix)]:
                del self.resources[path]

    def resources_below(self, prefix: str) -> list[Resource]:
        return [resource for path, resource in self.resources.items() if path.startswith(prefix)]

    def body_read(self, request: Request) -> int:
        """Body bytes that the client has certainly taken out of its socket."""
        return self._read.get(id(request), 0)

    def _send_body(
        self, connection: socket.socket, request: Request, body: bytes, behaviour: Behaviour
    ) -> None:
        offset = 0
        self._read[id(request)] = 0
        while offset < len(body):
            if offset == behaviour.hold_after:
                self._wait_for(behaviour.gate or threading.Event(), connection)
                # Looked at once more: a slow reader may have caught up.
                if self._drained(connection):
                    self._read[id(request)] = offset
            if offset == behaviour.drop_after:
                self._cut(connection, behaviour.reset)
            stops = [n for n in (behaviour.hold_after, behaviour.drop_after) if n is not None and n > offset]
            piece = body[offset : min([offset + STEP, *stops])]
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if behaviour.chunked else piece)
            offset += len(piece)
            with self._changed:
                request.body_sent = offset
            if self._drained(connection, DRAIN_SECONDS):
                self._read[id(request)] = offset
            with self._changed:
                self._changed.notify_all()
        if behaviour.chunked:
            connection.sendall(b"0\r\n\r\n")

    def _drained(self, connection: socket.socket, seconds: float = 0) -> bool:
        """True once the client has read all; what it has not acknowledged is on its way to it."""
        deadline = time.monotonic() + seconds
        while True:
            on_its_way = struct.unpack("=i", fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)))[0]
            if on_its_way == 0:
                unread = self._look.unread(connection)
                if unread == 0:
                    return True
                if unread is None:
                    raise ConnectionCut
            if time.monotonic() >= deadline:
                return False
            self._stopping.wait(0.0005)
