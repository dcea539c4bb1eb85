"""A loopback server that sends responses byte for byte, one connection per request."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from dataclasses import dataclass, field

from .grammar import FILE
from .response import ETAG, HELD_BYTES, Response

#: The pause between pieces, so that they are read one by one.
PIECE_SECONDS = 0.002
HOLD_SECONDS = 20.0
OTHER = b"what the redirect leads to"


@dataclass
class Play:
    """The answers of one path, one request after the other; called by the server's threads."""

    response: Response
    #: Path and Range of each request so far.
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, path: str, asked: str | None) -> tuple[list[bytes], bool]:
        """The pieces to send, and whether the connection stays open after them."""
        with self._lock:
            number = len(self.requests)
            self.requests.append((path, asked))
        if not path.endswith("/file"):
            return [whole(OTHER, '"other"')], False
        if self.response.is_resumed:
            if number == 0:
                # Cut where the resume should begin.
                answer = whole(FILE, ETAG)
                return [answer[: answer.index(b"\r\n\r\n") + 4 + HELD_BYTES]], False
            if number > 1:
                return [honest(asked)], False
        elif number:
            return [b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"], False
        return self.response.pieces, self.response.stays_open


def whole(data: bytes, etag: str) -> bytes:
    return b"HTTP/1.1 200 OK\r\nETag: %s\r\nContent-Length: %d\r\n\r\n%s" % (etag.encode(), len(data), data)


def honest(asked: str | None) -> bytes:
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", asked or "")
    if match is None or int(match[1]) >= len(FILE):
        return whole(FILE, ETAG)
    first, last = int(match[1]), int(match[2] or len(FILE) - 1)
    span, count = f"{first}-{last}/{len(FILE)}", last + 1 - first
    head = (
        f"HTTP/1.1 206 Part\r\nETag: {ETAG}\r\nContent-Range: bytes {span}\r\nContent-Length: {count}\r\n\r\n"
    )
    return head.encode() + FILE[first : last + 1]


class Server:
    """Listens on a free port of every loopback address, from construction until `close`."""

    def __init__(self) -> None:
        self.plays: dict[str, Play] = {}
        self._listener = socket.create_server(("0.0.0.0", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(HOLD_SECONDS)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            request = b""
            while b"\r\n\r\n" not in request:
                chunk = connection.recv(65_536)
                if not chunk:
                    return
                request += chunk
            path = request.split(b" ", 2)[1].decode("latin-1")
            asked = re.search(rb"\r\nrange: *([^\r]*)\r\n", request, re.IGNORECASE)
            play = self.plays.get(path.split("/")[1])
            if play is None:
                connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                return
            pieces, stays_open = play.answer(path, asked[1].decode("latin-1") if asked else None)
            for number, piece in enumerate(pieces):
                if number:
                    time.sleep(PIECE_SECONDS)
                connection.sendall(piece)
            if not stays_open:
                connection.shutdown(socket.SHUT_WR)
            # Wait for the client to close, so that no reset loses bytes; a second request gets no answer.
            connection.recv(1)
