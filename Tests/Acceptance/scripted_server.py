"""A loopback HTTP/1.1 server that does exactly what a test says, including wrong behaviour.

Each request takes the next `Behaviour` of its resource, or the default one when the queue is empty.
It uses plain sockets, because HTTP libraries cannot send much of what real servers and middleboxes send.
"""

from __future__ import annotations

import contextlib
import random
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

SEND_BUFFER = 65_536
CHUNK = 16_384
HEAD_LIMIT = 65_536


def content(seed: int, size: int) -> bytes:
    """Bytes that do not repeat and differ between seeds."""
    return random.Random(seed).randbytes(size)


@dataclass
class Behaviour:
    """How one request is answered. Unset members follow from the resource and the request."""

    status: int | None = None
    headers: Sequence[tuple[str, str]] = ()
    #: on: supported; off: refused with `Accept-Ranges: none`; ignored: always a plain 200
    ranges: str = "on"
    #: replaces the Content-Range of a 206; the empty string leaves it out
    content_range: str | None = None
    body: bytes | None = None
    #: sends at most this many bytes, as a 206 even if everything was requested
    cap: int | None = None
    #: omits the fields that describe the resource: type, validators, Accept-Ranges
    bare: bool = False
    chunked: bool = False
    no_length: bool = False
    location: str | None = None
    #: body bytes after which the connection is cut: by FIN, or by RST with `reset`
    drop_after: int | None = None
    reset: bool = False
    #: body bytes after which the response is held until the gate is opened
    hold_after: int | None = None
    gate: threading.Event | None = None
    #: body bytes per second
    rate: int | None = None
    #: 304 if If-None-Match names the ETag, or If-Modified-Since is not before Last-Modified
    conditional: bool = False
    #: the head is sent once this event is set
    hold_head: threading.Event | None = None


@dataclass
class Request:
    """One request as the server received it, and how it was answered."""

    method: str
    target: str
    headers: dict[str, str]
    connection: int
    arrived: float
    status: int = 0
    body_sent: int = 0
    finished: bool = False

    @property
    def path(self) -> str:
        return self.target.split("?", 1)[0]

    @property
    def range(self) -> str | None:
        return self.headers.get("range")

    @property
    def range_start(self) -> int:
        match = re.fullmatch(r"bytes=(\d+)-\d*", self.range or "")
        return int(match.group(1)) if match else 0

    @property
    def if_range(self) -> str | None:
        return self.headers.get("if-range")


@dataclass
class Resource:
    """What is served at one path. Tests may change it between requests."""

    data: bytes
    etag: str | None = '"v1"'
    last_modified: str | None = None
    content_type: str | None = "application/octet-stream"
    default: Behaviour = field(default_factory=Behaviour)
    script: deque[Behaviour] = field(default_factory=deque)

    def then(self, *steps: Behaviour) -> Resource:
        """Queues behaviours for the next requests."""
        self.script.extend(steps)
        return self


class ConnectionCut(Exception):
    """Raised to end this connection."""


class ScriptedServer:
    """Listens from construction until `close`, by default on a free port of 127.0.0.1."""

    def __init__(self, port: int = 0, address: str = "127.0.0.1") -> None:
        self.address = address
        self.resources: dict[str, Resource] = {}
        self.log: list[Request] = []
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._connections: set[socket.socket] = set()
        self._connection_count = 0
        self._listener = socket.create_server((address, port), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    # For tests

    def url(self, path: str = "", host: str | None = None) -> str:
        return f"http://{host or self.address}:{self.port}{path}"

    def add(
        self,
        path: str,
        data: bytes,
        *,
        etag: str | None = '"v1"',
        last_modified: str | None = None,
        default: Behaviour | None = None,
    ) -> Resource:
        resource = Resource(data, etag, last_modified, default=default or Behaviour())
        self.resources[path] = resource
        return resource

    def requests(self, path: str | None = None) -> list[Request]:
        with self._changed:
            return [r for r in self.log if path in (None, r.path)]

    def body_sent(self, path: str) -> int:
        return sum(r.body_sent for r in self.requests(path))

    def in_progress(self) -> list[Request]:
        with self._changed:
            return [r for r in self.log if not r.finished]

    def wait(self, predicate: Callable[[], bool], timeout: float = 20.0) -> None:
        """Returns once the predicate holds. It is checked whenever a request begins, progresses or ends."""
        deadline = time.monotonic() + timeout
        while not predicate():
            with self._changed:
                left = deadline - time.monotonic()
                if left <= 0:
                    seen = [(r.target, r.range, r.status, r.body_sent) for r in self.log[-20:]]
                    raise AssertionError(f"the condition did not hold within {timeout} s; requests: {seen}")
                self._changed.wait(min(left, 0.05))

    def wait_requests(self, path: str, count: int, timeout: float = 20.0) -> list[Request]:
        self.wait(lambda: len(self.requests(path)) >= count, timeout)
        return self.requests(path)

    def close(self) -> None:
        """Stops listening and closes every connection; the port then refuses connections."""
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._changed:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    # Internals

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                self._connections.add(connection)
                self._connection_count += 1
                number = self._connection_count
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        pending = b""
        try:
            while not self._stopping.is_set():
                while b"\r\n\r\n" not in pending:
                    chunk = connection.recv(65_536)
                    if not chunk or len(pending) > HEAD_LIMIT:
                        return
                    pending += chunk
                head, _, pending = pending.partition(b"\r\n\r\n")
                if not self._answer(connection, head.decode("latin-1"), number):
                    return
        except (OSError, ConnectionCut):
            pass
        finally:
            with self._changed:
                self._connections.discard(connection)
                self._changed.notify_all()
            connection.close()

    def _answer(self, connection: socket.socket, head: str, number: int) -> bool:
        """Answers one request; false if the connection is to be closed."""
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        request = Request(method, target, headers, number, time.monotonic())
        with self._changed:
            self.log.append(request)
            resource = self.resources.get(request.path)
            behaviour = Behaviour(status=404, body=b"nothing here")
            if resource is not None:
                behaviour = resource.script.popleft() if resource.script else resource.default
            self._changed.notify_all()
        try:
            self._wait_for(behaviour.hold_head, connection)
            return self._respond(connection, request, resource or Resource(b"", None), behaviour)
        finally:
            with self._changed:
                request.finished = True
                self._changed.notify_all()

    def _respond(
        self, connection: socket.socket, request: Request, resource: Resource, behaviour: Behaviour
    ) -> bool:
        status, body, fields = self._plan(request, resource, behaviour)
        request.status = status
        keep = not (behaviour.no_length and not behaviour.chunked)
        if behaviour.chunked:
            fields.append(("Transfer-Encoding", "chunked"))
        elif keep and status != 304:
            fields.append(("Content-Length", str(len(body))))
        else:
            fields.append(("Connection", "close"))
        given = {name.lower() for name, _ in behaviour.headers}
        fields = [f for f in fields if f[0].lower() not in given] + list(behaviour.headers)
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in fields)]
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        if request.method != "HEAD":
            self._send_body(connection, request, body, behaviour)
        return keep

    def _plan(
        self, request: Request, resource: Resource, behaviour: Behaviour
    ) -> tuple[int, bytes, list[tuple[str, str]]]:
        if behaviour.location is not None:
            return behaviour.status or 302, b"", [("Location", behaviour.location)]
        if behaviour.status is not None and behaviour.status not in (200, 206):
            return behaviour.status, behaviour.body or b"", []
        if behaviour.conditional and self._not_modified(request, resource):
            return 304, b"", []
        data = resource.data if behaviour.body is None else behaviour.body
        if behaviour.bare:
            return behaviour.status or 200, data, []
        fields = []
        if resource.content_type is not None:
            fields.append(("Content-Type", resource.content_type))
        if resource.etag is not None:
            fields.append(("ETag", resource.etag))
        if resource.last_modified is not None:
            fields.append(("Last-Modified", resource.last_modified))
        if behaviour.ranges == "off":
            fields.append(("Accept-Ranges", "none"))
        elif behaviour.ranges == "on":
            fields.append(("Accept-Ranges", "bytes"))
        if behaviour.status == 206 and behaviour.body is not None:
            # An invented part: no Content-Range unless the test sets one.
            extra = [("Content-Range", behaviour.content_range)] if behaviour.content_range else []
            return 206, data, fields + extra
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", request.range or "")
        if behaviour.cap is not None:
            start = int(match.group(1)) if match else 0
            piece = data[start : start + behaviour.cap]
            named = f"bytes {start}-{start + len(piece) - 1}/{len(data)}"
            return 206, piece, [*fields, ("Content-Range", named)]
        if match is None or behaviour.ranges != "on" or behaviour.status == 200:
            return 200, data, fields
        if request.if_range is not None and not self._still_valid(request.if_range, resource):
            return 200, data, fields
        start = int(match.group(1))
        end = min(int(match.group(2) or len(data) - 1), len(data) - 1)
        if start >= len(data):
            return 416, b"", [("Content-Range", f"bytes */{len(data)}")]
        named = f"bytes {start}-{end}/{len(data)}"
        if behaviour.content_range is not None:
            named = behaviour.content_range
        if named:
            fields.append(("Content-Range", named))
        return 206, data[start : end + 1], fields

    @staticmethod
    def _not_modified(request: Request, resource: Resource) -> bool:
        tags, date = request.headers.get("if-none-match"), request.headers.get("if-modified-since")
        if tags is not None:
            return resource.etag is not None and tags.removeprefix("W/") == resource.etag.removeprefix("W/")
        if date is None or resource.last_modified is None:
            return False
        return parsedate_to_datetime(date) >= parsedate_to_datetime(resource.last_modified)

    @staticmethod
    def _still_valid(if_range: str, resource: Resource) -> bool:
        if if_range.startswith('"'):
            return if_range == resource.etag
        return not if_range.startswith("W/") and if_range == resource.last_modified

    def _send_body(
        self, connection: socket.socket, request: Request, body: bytes, behaviour: Behaviour
    ) -> None:
        began = time.monotonic()
        step = CHUNK if behaviour.rate is None else max(1, min(CHUNK, behaviour.rate // 50))
        stops = [n for n in (behaviour.hold_after, behaviour.drop_after) if n is not None]
        offset = 0
        while True:
            if behaviour.drop_after is not None and offset >= behaviour.drop_after:
                self._cut(connection, behaviour.reset)
            if behaviour.hold_after is not None and offset >= behaviour.hold_after:
                self._wait_for(behaviour.gate or threading.Event(), connection)
                stops = [n for n in stops if n > offset]
            if offset >= len(body):
                break
            until = min([offset + step, len(body), *(n for n in stops if n > offset)])
            piece = body[offset:until]
            if behaviour.chunked:
                connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            else:
                connection.sendall(piece)
            offset = until
            with self._changed:
                request.body_sent += len(piece)
                self._changed.notify_all()
            if behaviour.rate is not None:
                ahead = began + offset / behaviour.rate - time.monotonic()
                if ahead > 0:
                    self._stopping.wait(ahead)
        if behaviour.chunked:
            connection.sendall(b"0\r\n\r\n")

    def _wait_for(self, gate: threading.Event | None, connection: socket.socket) -> None:
        """Waits for the gate; stops if the server closes or the client disconnects."""
        if gate is None:
            return
        while not gate.wait(0.02):
            if self._stopping.is_set():
                raise ConnectionCut
            try:
                if connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"":
                    raise ConnectionCut
            except BlockingIOError:
                continue

    @staticmethod
    def _cut(connection: socket.socket, reset: bool) -> None:
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            connection.shutdown(socket.SHUT_RDWR)
        raise ConnectionCut
