"""What clients learn about other processes and gaps: who owns a download, and whose events were lost."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer
from support import Held, poll

COMMANDS = {"pause": {}, "resume": {}, "cancel": {}, "update": {"priority": 2}}


@pytest.mark.parametrize("method", COMMANDS)
def test_the_owner_of_a_download_is_named(
    launch: Launcher, server: ScriptedServer, work: Path, method: str
) -> None:
    owner, other = launch(), launch()
    Held(server).started(owner, work / "f", id="f")
    error = other.error(method, id="f", **COMMANDS[method])
    assert (error.code, error.data["processId"], error.data["yields"]) == (1010, owner.process.pid, False)
    assert str(owner.process.pid) in error.message


def test_the_owners_of_several_downloads_are_named(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    owners = {f"d{n}": launch() for n in range(2)}
    for n, (name, owner) in enumerate(owners.items()):
        Held(server, f"/{n}").started(owner, work / name, id=name)
    errors = launch().call("pause", ids=list(owners))["errors"]
    found = {entry["id"]: entry["error"]["data"]["processId"] for entry in errors}
    assert found == {name: owner.process.pid for name, owner in owners.items()}


def test_an_owner_that_would_yield_and_does_not_answer_is_told_apart(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    owner, other = launch("--on-host-exit", "finish"), launch()
    owner.call("initialize", processId=None)
    for name in ("f", "g"):
        Held(server, f"/{name}").started(owner, work / name, id=name)
    owner.close_stdin()
    # A process that has given up one download gives up all.
    poll(lambda: not other.call("pause", ids=["g"])["errors"])
    owner.signal(signal.SIGSTOP)
    try:
        error = other.error("pause", id="f")
        assert (error.code, error.data["processId"], error.data["yields"]) == (1010, owner.process.pid, True)
    finally:
        owner.signal(signal.SIGCONT)
    assert other.call("pause", id="f")["download"]["owner"] == "self"


def test_lost_events_name_their_session(launch: Launcher, work: Path) -> None:
    host = launch(read_at_once=False)
    count = 400

    def notify(method: str, **params: Any) -> None:
        host.send_message({"jsonrpc": "2.0", "method": method, "params": params})

    for n in range(count):
        params = {"url": "http://127.0.0.1:1/f", "path": str(work / str(n)), "metadata": {"a": "x" * 3_900}}
        notify("start", id=f"d{n}", startPaused=True, **params)
    for _ in range(2):
        notify("resume", all=True)
        notify("pause", all=True)
    other = launch()
    seen = (0, time.monotonic())

    def is_over() -> bool:
        nonlocal seen
        revision = other.call("list", limit=1)["revision"]
        if revision != seen[0]:
            seen = (revision, time.monotonic())
        return revision > count and time.monotonic() - seen[1] > 1

    poll(is_over, timeout=30)
    host.start_reading()
    lost = host.wait_event(lambda event: event["method"] == "eventsLost")["params"]
    assert lost["session"] == host.call("info")["session"]
    assert 1 <= lost["fromSeq"] <= lost["toSeq"]
