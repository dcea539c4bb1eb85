"""What a host can rely on after a kill, from the answers and events that it received."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from towline_client import JSON, RPCError, Timeout, Towline

#: States that are possible after the exit, by the state in the last answer.
AFTER_ANSWER = {
    "queued": {"live", "completed"},
    "active": {"live", "completed"},
    "waiting": {"live", "completed"},
    "paused": {"paused"},
    "completed": {"completed"},
    "canceled": {"canceled"},
}
#: Further states that are possible after a command without an answer.
AFTER_ASKING = {
    "start": {"live", "completed"},
    "resume": {"live", "completed"},
    "pause": {"paused"},
    "cancel": {"canceled"},
    "remove": {"none"},
    "update": set[str](),
}


def standing(download: JSON | None) -> str:
    """The state of a record in one word, as a new process sees it."""
    if download is None:
        return "none"
    if download["state"] == "paused":
        return "paused" if download["reason"] == "user" else "live"
    return str(download["state"])


@dataclass
class Wanted:
    """One download: its request, its expected content, and its possible states."""

    id: str
    url: str
    path: Path
    #: The content of the finished file.
    data: bytes
    options: JSON = field(default_factory=dict)
    #: The earlier content at this path.
    former: bytes | None = None
    stands: set[str] = field(default_factory=lambda: {"none"})
    urls: set[str] = field(default_factory=set)
    #: Received bytes that a pause promised.
    promised: int = 0
    #: The server's file has changed since the start, so that received bytes do not count.
    is_changed: bool = False
    #: The host asked to cancel or remove it.
    is_unwanted: bool = False
    #: Requests that the server had received at the last kill.
    requests_before: int = 0
    #: A request that was sent and whose answer has not been read.
    pending: tuple[Towline, int, str, JSON] | None = None

    def __post_init__(self) -> None:
        self.urls = {self.url}

    @property
    def partials(self) -> list[Path]:
        """Where the partial file can be: beside the requested path, or beside the final one."""
        names = {Path(self.options.get("path", self.path)), self.path}
        return [path.with_name(f"{path.name}.towline") for path in sorted(names)]

    def start_params(self) -> JSON:
        return {"id": self.id, "url": self.url, "path": str(self.path), **self.options}

    def send(self, host: Towline, method: str, **params: Any) -> None:
        """Sends a request without waiting for its answer."""
        self.pending = (host, host.send(method, self.asked(method, params)), method, params)

    def receive(self) -> None:
        """Waits for the answer to the sent request."""
        if self.pending is not None:
            host, request_id, method, params = self.pending
            self.answered(method, params, host.answer(request_id))
            self.pending = None

    def asked(self, method: str, params: JSON) -> JSON:
        """Notes a request before it is sent; returns its params."""
        self.stands = self.stands | AFTER_ASKING[method]
        if method in ("cancel", "remove"):
            self.is_unwanted = True
        if method == "update" and "url" in params:
            self.urls = self.urls | {params["url"]}
        return self.start_params() if method == "start" else {"id": self.id, **params}

    def answered(self, method: str, params: JSON, result: JSON) -> None:
        if method == "remove":
            self.stands = {"none"}
            return
        download = result["download"]
        self.stands = set(AFTER_ANSWER[download["state"]])
        if method == "pause" and download["state"] == "paused":
            self.promised = download["receivedBytes"]
        if method == "update" and "url" in params:
            self.urls = {params["url"]}
            self.url = params["url"]

    def ask(self, host: Towline, method: str, **params: Any) -> JSON | None:
        """Sends a request and waits; None if the state of the download did not allow it."""
        before = (self.stands, self.urls, self.is_unwanted)
        try:
            result: JSON = host.call(method, **self.asked(method, params))
        except RPCError as error:
            if error.kind != "invalidState":
                raise
            self.stands, self.urls, self.is_unwanted = before
            return None
        self.answered(method, params, result)
        return result

    def heard(self, host: Towline) -> None:
        """After the exit: notes the pending answer and the last event."""
        if self.pending is not None and self.pending[0] is host:
            with suppress(Timeout):
                self.receive()
            self.pending = None
        changed = host.changed(self.id)
        if not changed or changed[-1]["state"] != "completed" or self.stands == {"none"}:
            return
        self.stands = {"completed"} | ({"none"} & self.stands if self.is_unwanted else set())
