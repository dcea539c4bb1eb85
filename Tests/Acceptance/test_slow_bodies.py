"""Servers that are slow but not silent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import NO_RETRY, fetch
from towline_client import Towline


@contextmanager
def slow_server(pieces: Sequence[bytes], seconds: float) -> Iterator[str]:
    """A server that answers one request with these pieces, `seconds` apart; yields its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = threading.Event()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                for piece in pieces:
                    connection.sendall(piece)
                    done.wait(seconds)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/f"
        done.set()


HEAD = b"HTTP/1.1 200 OK\r\n"
BODIES = {
    "with a length": (HEAD + b"Content-Length: 4\r\n\r\na", b"b", b"c", b"d"),
    "chunked": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
        b"1\r\nb\r\n",
        b"2\r\ncd\r\n0\r\n\r\n",
    ),
    "until the end": (HEAD + b"\r\na", b"b", b"c", b"d"),
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_byte_now_and_then_is_not_silence(host: Towline, work: Path, kind: str) -> None:
    with slow_server(BODIES[kind], 1.6) as url:
        end = fetch(host, url, work / "f", stallTimeoutMs=2_000, retry=NO_RETRY)
    assert end["state"] == "completed", end["error"]
    assert (work / "f").read_bytes() == b"abcd"


LINES = (b"HTTP/1.1 103 Early Hints\r\n", b"\r\n", HEAD, b"Content-Length: 1\r\n", b"\r\n", b"x")


def test_a_head_that_comes_line_by_line_is_not_silence(host: Towline, work: Path) -> None:
    with slow_server(LINES, 0.5) as url:
        end = fetch(host, url, work / "f", stallTimeoutMs=1_200, retry=NO_RETRY)
    assert end["state"] == "completed", end["error"]


SILENT = {
    "before the head": b"",
    "in the head": HEAD,
    "before the body": HEAD + b"Content-Length: 2\r\n\r\n",
    "in the body": HEAD + b"Content-Length: 2\r\n\r\nx",
}


@pytest.mark.parametrize("where", SILENT)
def test_silence_is_a_stall_wherever_it_falls(host: Towline, work: Path, where: str) -> None:
    with slow_server((SILENT[where],), 20) as url:
        end = fetch(host, url, work / "f", stallTimeoutMs=500, retry=NO_RETRY)
    assert (end["state"], end["error"]["kind"]) == ("failed", "stalled")
