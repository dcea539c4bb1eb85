"""A loopback server that can send any bytes; the path names the `Site` that chooses them."""

from __future__ import annotations

import contextlib
import re
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import Protocol

PIECE = 65_536
HEAD_LIMIT = 65_536
#: No answer is held longer than this, whatever the client does.
HOLD_SECONDS = 30.0


@dataclass
class Request:
    """One request, and what was sent for it."""

    method: str
    target: str
    headers: dict[str, str]
    status: int = 0
    body_sent: int = 0
    #: True if the answer was a lie.
    lied: bool = False

    @property
    def asked(self) -> tuple[int, int | None] | None:
        """First and last requested byte; the last is None for an open range."""
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", ""))
        return (int(match[1]), int(match[2]) if match[2] else None) if match else None

    @property
    def if_range(self) -> str | None:
        return self.headers.get("if-range")


@dataclass
class Stop:
    """Where an answer stops before its end, and how."""

    #: Body bytes sent before; -1: not even the head.
    after: int
    #: hold: nothing more is sent until the client closes; fin and reset: the connection ends
    how: str
    #: Set when the stop is reached.
    reached: threading.Event = field(default_factory=threading.Event)


@dataclass
class Answer:
    """What is sent; by default like a full HTTP/1.1 server."""

    status: int
    fields: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    #: length: with Content-Length (`fields` may already have it); chunked; close: until the connection ends
    framing: str = "length"
    version: str = "HTTP/1.1"
    #: The connection ends after the answer.
    closes: bool = False
    #: Sent before the head: interim responses.
    before: bytes = b""
    #: Sent instead of everything else.
    raw: bytes | None = None
    #: Bytes after the end of the body.
    behind: bytes = b""
    stop: Stop | None = None
    #: The body is sent in pieces of this size, with a pause after each.
    piece_bytes: int = PIECE
    pause_seconds: float = 0.0

    def value(self, name: str) -> str | None:
        return next((value for key, value in self.fields if key.lower() == name.lower()), None)

    def drop(self, *names: str) -> Answer:
        lower = {name.lower() for name in names}
        self.fields = [(key, value) for key, value in self.fields if key.lower() not in lower]
        return self

    def put(self, *fields: tuple[str, str]) -> Answer:
        """Replaces these fields."""
        self.drop(*(name for name, _ in fields))
        self.fields += fields
        return self

    def head(self) -> bytes:
        fields = list(self.fields)
        if self.framing == "chunked":
            fields.append(("Transfer-Encoding", "chunked"))
        elif self.framing == "length" and self.value("Content-Length") is None and self.status != 304:
            fields.append(("Content-Length", str(len(self.body))))
        if self.framing == "close" or self.closes:
            fields.append(("Connection", "close"))
        lines = [f"{self.version} {self.status} Said", *(f"{name}: {value}" for name, value in fields)]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Site(Protocol):
    """Chooses the answers for one path."""

    def answer(self, request: Request) -> Answer: ...


class Cut(Exception):
    """The connection ends here."""


class Server:
    """Listens on a free port of every loopback address, from construction until `close`."""

    def __init__(self) -> None:
        self.sites: dict[str, Site] = {}
        self._stopping = threading.Event()
        self._listener = socket.create_server(("0.0.0.0", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        pending = b""
        with connection, contextlib.suppress(OSError, Cut):
            while not self._stopping.is_set():
                while b"\r\n\r\n" not in pending:
                    chunk = connection.recv(65_536)
                    if not chunk or len(pending) > HEAD_LIMIT:
                        return
                    pending += chunk
                head, _, pending = pending.partition(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").split("\r\n")
                method, target, _ = first.split(" ", 2)
                pairs = (line.partition(":") for line in lines)
                request = Request(method, target, {name.lower(): value.strip() for name, _, value in pairs})
                site = self.sites.get(target.split("/")[1])
                answer = site.answer(request) if site else Answer(404)
                request.status = answer.status
                if not self._send(connection, request, answer):
                    return

    def _send(self, connection: socket.socket, request: Request, answer: Answer) -> bool:
        """Sends one answer; false if the connection is to end."""
        stop = answer.stop
        if stop is not None and stop.after < 0:
            self._stop(connection, stop)
        if answer.raw is not None:
            connection.sendall(answer.raw)
            return False
        connection.sendall(answer.before + answer.head())
        offset, ends = 0, len(answer.body) if stop is None else min(stop.after, len(answer.body))
        while offset < ends:
            piece = answer.body[offset : min(offset + answer.piece_bytes, ends)]
            connection.sendall(
                b"%x\r\n%s\r\n" % (len(piece), piece) if answer.framing == "chunked" else piece
            )
            offset += len(piece)
            request.body_sent += len(piece)
            if answer.pause_seconds:
                time.sleep(answer.pause_seconds)
        if stop is not None:
            self._stop(connection, stop)
        if answer.framing == "chunked":
            connection.sendall(b"0\r\n\r\n")
        if answer.behind:
            connection.sendall(answer.behind)
        return not (answer.closes or answer.framing == "close" or answer.version == "HTTP/1.0")

    def _stop(self, connection: socket.socket, stop: Stop) -> None:
        stop.reached.set()
        if stop.how == "hold":
            deadline = time.monotonic() + HOLD_SECONDS
            while not self._stopping.is_set() and time.monotonic() < deadline:
                readable, _, _ = select.select([connection], [], [], 0.2)
                if readable and connection.recv(65_536) == b"":
                    break
        elif stop.how == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Cut
