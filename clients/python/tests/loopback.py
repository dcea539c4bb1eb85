"""A small loopback web server with ranges, whose bodies can be slowed, held and released by a test."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Optional

STEP = 16_384


def content(seed: int, size: int) -> bytes:
    """Bytes that differ between seeds."""
    return random.Random(seed).randbytes(size)


@dataclass
class Resource:
    body: bytes
    status: int = 200
    #: Bytes from the start of the file after which responses are held until `release`.
    hold_at: Optional[int] = None
    #: Bytes a second; None: as fast as it goes.
    rate: Optional[int] = None
    gate: threading.Event = field(default_factory=threading.Event)
    #: True once a response is held.
    held: bool = False
    #: The Range header of each request.
    ranges: list[Optional[str]] = field(default_factory=list)
    #: All headers of each request.
    headers: list[Message] = field(default_factory=list)

    def release(self) -> None:
        self.gate.set()


class Server:
    """`url("name")` of what `add` put there. Ends with its `with` block."""

    def __init__(self) -> None:
        self.resources: dict[str, Resource] = {}
        resources = self.resources

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                answer(self, resources.get(self.path.lstrip("/")))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class HTTPServer(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 128

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a client that was killed

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def add(self, name: str, body: bytes, **options: Any) -> Resource:
        resource = self.resources[name] = Resource(body, **options)
        return resource

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{name}"

    def close(self) -> None:
        for resource in self.resources.values():
            resource.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def answer(handler: BaseHTTPRequestHandler, resource: Optional[Resource]) -> None:
    if resource is None or resource.status != 200:
        handler.send_response(404 if resource is None else resource.status)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    wanted = handler.headers.get("Range")
    resource.ranges.append(wanted)
    resource.headers.append(handler.headers)
    size, first, last = len(resource.body), 0, len(resource.body) - 1
    if wanted is not None:
        left, _, right = wanted[len("bytes=") :].partition("-")
        first, last = int(left), min(int(right), last) if right else last
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {first}-{last}/{size}")
    else:
        handler.send_response(200)
    handler.send_header("Content-Length", str(last + 1 - first))
    handler.send_header("ETag", f'"{hash(resource.body) & 0xFFFFFFFF:x}"')
    handler.send_header("Accept-Ranges", "bytes")
    handler.end_headers()
    with contextlib.suppress(OSError):
        for piece in pieces(resource, first, last + 1):
            handler.wfile.write(piece)


def pieces(resource: Resource, first: int, end: int) -> Iterator[bytes]:
    hold = resource.hold_at
    while first < end:
        if hold is not None and first >= hold and not resource.gate.is_set():
            time.sleep(0.1)  # what was sent arrives meanwhile
            resource.held = True
            resource.gate.wait(60)
        stop = min(first + STEP, end)
        if hold is not None and first < hold and not resource.gate.is_set():
            stop = min(stop, hold)
        yield resource.body[first:stop]
        if resource.rate is not None:
            time.sleep((stop - first) / resource.rate)
        first = stop
