"""Helpers that many acceptance tests use."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from scripted_server import Behaviour, Resource, ScriptedServer, content
from towline_client import JSON, Timeout, Towline

MIB = 1 << 20
FINAL = ("completed", "failed", "canceled")
#: No retry: a failure is reported at once.
NO_RETRY = {"maxAttempts": 0}
#: Retries that are fast enough for a test.
QUICK_RETRY = {"maxAttempts": 20, "initialDelayMs": 20, "maxDelayMs": 100}

T = TypeVar("T")


def line(method: str, request_id: Any = None, **params: Any) -> str:
    """One request as a line for a pipeline; a notification if there is no id."""
    message: JSON = {"jsonrpc": "2.0", "method": method}
    if request_id is not None:
        message["id"] = request_id
    if params:
        message["params"] = params
    return json.dumps(message)


def sha256(data: bytes | Path) -> str:
    return hashlib.sha256(data.read_bytes() if isinstance(data, Path) else data).hexdigest()


def poll(condition: Callable[[], T | None], timeout: float = 10.0, what: str = "a condition") -> T:
    """Checks again and again; for things without an event (other processes, the file system)."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Timeout(f"waited {timeout} s for {what}")
        time.sleep(0.02)


def has_default_route() -> bool:
    """Whether the service can tell an unknown name from a missing network. Sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.41.0.4", 53))
        except OSError:
            return False
    return True


def quickest(action: Callable[[], object], tries: int = 3) -> float:
    """The shortest time of several runs in seconds, to reduce noise from other processes."""
    times = []
    for _ in range(tries):
        began = time.monotonic()
        action()
        times.append(time.monotonic() - began)
    return min(times)


def finish(host: Towline, download_id: str, timeout: float = 30.0) -> JSON:
    """Calls `wait` and returns the final Download."""
    return host.call("wait", id=download_id, timeout=timeout)["download"]


def fetch(host: Towline, url: str, path: Path, **params: Any) -> JSON:
    """Starts a download and returns the final Download."""
    started = host.call("start", url=url, path=str(path), **params)
    return finish(host, started["download"]["id"])


#: Received bytes that every resume fetches again to compare them.
OVERLAP = 16_384


def resume_start(held: int) -> int:
    """The first byte that a resume requests after this many received bytes."""
    return max(0, held - OVERLAP)


class Held:
    """A resource whose body is held after some bytes until `release`, so that the download stays active."""

    def __init__(
        self,
        server: ScriptedServer,
        path: str = "/held",
        size: int = 4 * MIB,
        after: int = MIB,
        seed: int = 7,
    ) -> None:
        self.gate = threading.Event()
        self.data = content(seed, size)
        self.after = after
        self.path = path
        self.url = server.url(path)
        self.server = server
        self.resource: Resource = server.add(path, self.data)
        self.resource.default = Behaviour(hold_after=after, gate=self.gate)

    def release(self) -> None:
        """Releases the held bodies; later requests are not held."""
        self.resource.default = Behaviour()
        self.gate.set()

    def started(self, host: Towline, path: Path, **params: Any) -> JSON:
        """Starts the download and returns its Download once all bytes before the hold have been received."""
        download = host.call("start", url=self.url, path=str(path), **params)["download"]
        if self.after:
            host.wait_received(download["id"], self.after)
        else:
            self.server.wait_requests(self.path, 1)
        return download


def has_value(tree: Any, value: Any) -> bool:
    """True if the value is anywhere in the JSON tree."""
    if isinstance(tree, dict):
        return any(has_value(v, value) for v in tree.values())
    if isinstance(tree, list):
        return any(has_value(v, value) for v in tree)
    return tree == value and type(tree) is type(value)


def find_member(tree: Any, name: str) -> Any:
    """The first member of that name anywhere in the JSON tree, else None."""
    if isinstance(tree, dict):
        if name in tree:
            return tree[name]
        tree = list(tree.values())
    if isinstance(tree, list):
        return next((found for v in tree if (found := find_member(v, name)) is not None), None)
    return None


def forged(text: str, **values: str | None) -> str:
    """Resume data with changed values (None removes one) and a matching digest."""
    pairs = dict(pair.split("=", 1) for pair in text.split("&")[1:])
    pairs.pop("sha256")
    for name, value in values.items():
        pairs.pop(name, None)
        if value is not None:
            pairs = {name: quote(value, safe='/:,"'), **pairs}
    body = "towline-resume-1&" + "&".join(f"{name}={value}" for name, value in pairs.items())
    return f"{body}&sha256={sha256(body.encode())}"
