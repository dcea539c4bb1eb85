"""A loopback server that sends exactly the bytes it is given, over plain TCP or TLS.

For heads and ends that no server framework can send.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HEAD_LIMIT = 65_536


@dataclass
class Answer:
    """All bytes of one answer including the head, and what happens to the connection afterwards."""

    data: bytes
    #: close: FIN, over TLS after a close_notify; cut: only FIN; reset: RST; keep: read the next request
    then: str = "close"


#: Chooses the answer by path and first byte of the requested range (None without a range).
Script = Callable[[str, "int | None"], Answer]


class RawServer:
    """Listens on a free port of 127.0.0.1 until `close`; with `certificates` it speaks TLS."""

    def __init__(self, script: Script | Answer | bytes, certificates: Path | None = None) -> None:
        self.script = script
        self.heads: list[bytes] = []
        self._context: ssl.SSLContext | None = None
        if certificates is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
        self._stopping = threading.Event()
        self._connections: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, path: str = "/f") -> str:
        scheme = "http" if self._context is None else "https"
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    def close(self) -> None:
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    # Internals

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self._connections.add(connection)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                plain = connection
                connection = self._context.wrap_socket(plain, server_side=True)
                self._connections.discard(plain)
                self._connections.add(connection)
            while (head := self._read_head(connection)) and self._answer(connection, head):
                pass
        except OSError:
            pass
        finally:
            self._connections.discard(connection)
            connection.close()

    @staticmethod
    def _read_head(connection: socket.socket) -> bytes:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = connection.recv(HEAD_LIMIT)
            if not piece or len(head) > HEAD_LIMIT:
                return b""
            head += piece
        return head

    def _answer(self, connection: socket.socket, head: bytes) -> bool:
        """Answers one request; false if the connection is to be closed."""
        self.heads.append(head)
        script = self.script
        if isinstance(script, bytes):
            script = Answer(script)
        if not isinstance(script, Answer):
            asked = re.search(rb"(?im)^range: bytes=(\d+)-", head)
            script = script(head.split(b" ", 2)[1].decode(), int(asked.group(1)) if asked else None)
        connection.sendall(script.data)
        if script.then == "keep":
            return True
        if script.then == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif script.then == "close" and isinstance(connection, ssl.SSLSocket):
            connection.settimeout(5)
            # unwrap() also waits for the peer's close_notify. An error is fine: the peer has closed in
            # another way.
            with contextlib.suppress(OSError):
                connection.unwrap()
        else:
            connection.shutdown(socket.SHUT_WR)
            # Read what the peer still sends: unread bytes would turn the FIN into a reset.
            connection.settimeout(5)
            with contextlib.suppress(OSError):
                while socket.socket.recv(connection, HEAD_LIMIT):
                    pass
        return False
