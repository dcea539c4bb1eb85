"""What must hold after a power loss, from what the host had sent and read before it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from scripted_server import ScriptedServer
from towline_client import JSON, Towline

from power_loss.plans import Item
from power_loss.recording import Moment
from power_loss.server import Folders, start_params

SECOND_NS = 1_000_000_000
CHECKPOINT_BYTES, CHECKPOINT_NS = 8 << 20, 2 * SECOND_NS
#: The delay between received bytes and the start of their flush, and between the flush and its record.
SLACK_NS = SECOND_NS // 2


@dataclass
class Promise:
    """What may be found of one item."""

    item: Item
    #: The states that its record may be in: absent, running, paused, canceled, completed.
    states: set[str] = field(default_factory=lambda: {"absent"})
    #: The start was sent; a host would send it again.
    is_started: bool = False
    priorities: set[int] = field(default_factory=lambda: {0})
    #: Paths of the URL on the server.
    sources: set[str] = field(default_factory=set)
    #: (time, received bytes), as reported.
    progress: list[tuple[int, int]] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """The file must exist."""
        return self.states == {"completed"} or (self.states == {"absent"} and self.is_started)

    @property
    def told_bytes(self) -> int:
        return self.progress[-1][1] if self.progress else 0

    def losable_bytes(self, flush_ns: int) -> int:
        """The bytes of 8 MiB or 2 s, whichever is more, before the last report, and those of one flush."""
        if not self.progress:
            return 0
        end, told = self.progress[-1]
        by_size = [at for at, count in self.progress if count <= told - CHECKPOINT_BYTES]
        if not by_size:
            return told
        begin = min(by_size[-1], end - CHECKPOINT_NS) - flush_ns - SLACK_NS
        # A process that was killed in between may have lost bytes that it had reported.
        counts = [count for at, count in self.progress if at > begin]
        before = [count for at, count in self.progress if at <= begin]
        return told - min([*counts, before[-1] if before else 0])


def promises(items: Sequence[Item], moments: Sequence[Moment]) -> dict[str, Promise]:
    """Promises by item id; `moments` are those before the power loss."""
    found = {item.id: Promise(item, sources={f"/{item.id}"}) for item in items}
    answers = {(m.process, json.dumps(m.message["id"])): m.message for m in moments if _is_answer(m)}
    for moment in moments:
        message, params = moment.message, moment.message.get("params", {})
        if moment.is_sent:
            promise = found.get(params.get("id", ""))
            if promise is not None and message["method"] != "wait":
                _apply(promise, message, answers.get((moment.process, json.dumps(message["id"]))))
        elif (download := _download(message)) is not None:
            _tell(found[download["id"]], moment, download["receivedBytes"])
            if download["state"] == "completed" and "absent" not in found[download["id"]].states:
                found[download["id"]].states = {"completed"}
        elif message.get("method") == "progress":
            _tell(found[params["id"]], moment, params["receivedBytes"])
    return found


def _is_answer(moment: Moment) -> bool:
    return not moment.is_sent and "method" not in moment.message


def _download(message: JSON) -> JSON | None:
    """The Download in an answer or event."""
    body = (
        message.get("result") or (message.get("params") if message.get("method") == "changed" else None) or {}
    )
    download: JSON | None = body.get("download")
    return download


def _tell(promise: Promise, moment: Moment, received: int) -> None:
    promise.progress.append((moment.time_ns, received))


def _state(download: JSON) -> str:
    if download["state"] in ("completed", "canceled"):
        return str(download["state"])
    return "paused" if download["state"] == "paused" and download["reason"] == "user" else "running"


def _apply(promise: Promise, request: JSON, answer: JSON | None) -> None:
    """Applies one request: what it may have changed, or with its answer what it has changed."""
    method, params = request["method"], request["params"]
    if answer is not None and "error" in answer:
        return
    sources = (
        {params["url"][params["url"].index("/", 8) :]} if method == "update" and "url" in params else set()
    )
    priorities = {params["priority"]} if method == "update" and "priority" in params else set()
    if answer is not None:
        promise.sources = sources or promise.sources
        promise.priorities = priorities or promise.priorities
        promise.states = {"absent"} if method == "remove" else {_state(answer["result"]["download"])}
        if method == "start":
            promise.is_started = True
        return
    promise.sources |= sources
    promise.priorities |= priorities
    if method == "start":
        promise.is_started = True
        if "absent" in promise.states:
            promise.states.add("paused" if params.get("startPaused") else "running")
    elif method in ("pause", "resume", "cancel", "remove"):
        after = {"pause": "paused", "resume": "running", "cancel": "canceled", "remove": "absent"}
        promise.states.add(after[method])


def go_on(
    host: Towline,
    found: dict[str, Promise],
    records: dict[str, JSON],
    server: ScriptedServer,
    folders: Folders,
) -> list[str]:
    """Continues every download, as a host does that starts again; returns their ids."""
    going = []
    for item_id, promise in found.items():
        record = records.get(item_id)
        params = start_params(promise.item, server.url(f"/{item_id}"), folders)
        if record is None and promise.states & {"running", "paused"}:
            host.call("start", **params)
            host.call("resume", id=item_id)
        elif record is None or record["state"] != "paused":
            continue
        elif record["reason"] == "user" or promise.sources != {f"/{item_id}"}:
            # Paused, or with another URL than the one of `start`.
            host.call("resume", id=item_id)
        else:
            host.call("start", **params)
        going.append(item_id)
    return going
