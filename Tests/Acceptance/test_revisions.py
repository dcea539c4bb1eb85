"""A client that has seen a change, and lists from the revision before it, finds the change."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, finish
from towline_client import JSON, Towline

DATA = content(3, MIB)
SHA256 = {"algorithm": "sha256", "value": hashlib.sha256(DATA).hexdigest()}
QUICK = {"maxAttempts": 2, "initialDelayMs": 1, "maxDelayMs": 1}


def listed(host: Towline, since: int) -> set[str]:
    found: set[str] = set()
    cursor: str | None = None
    while True:
        page = host.call("list", changedSince=since, cursor=cursor)
        found |= {download["id"] for download in page["downloads"]} | set(page["removed"])
        cursor = page["nextCursor"]
        if cursor is None:
            return found


def looks(host: Towline, download_id: str, answers: list[JSON]) -> list[JSON]:
    """Every Download with this id in events and in these answers, in order."""
    found = []
    for message in host.messages:
        told = message.get("params") or message.get("result") or {}
        if told.get("download", {}).get("id") == download_id and ("method" in message or told in answers):
            found.append(told["download"])
    return found


def test_what_follows_an_answer_is_listed_from_its_revision(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    """The server does not answer yet, so no later change can hide a missing one."""
    gate = threading.Event()
    server.add("/f", DATA, default=Behaviour(hold_head=gate))
    try:
        for number in range(5):
            name = f"d{number}"
            answer = host.call("start", id=name, url=server.url("/f"), path=str(work / name))
            for command in ("resume", "update"):
                seen = host.wait_state(name, "active")
                assert name in listed(host, answer["download"]["revision"])
                assert name in listed(host, seen["revision"] - 1)
                host.call("pause", id=name)
                host.wait_state(name, "paused")
                if command == "resume":
                    answer = host.call("resume", id=name)
            host.call("cancel", id=name)
    finally:
        gate.set()


@pytest.mark.parametrize(
    "life",
    [
        {"checksum": SHA256},
        {"checksum": SHA256 | {"value": "0" * 64}},
        {"path": "/none"},
        {"path": "/flaky", "retry": QUICK},
        {"path": "/cut", "retry": QUICK},
        {"directory": True},
    ],
    ids=["verified", "wrong digest", "404", "503 once", "cut once", "named late"],
)
def test_each_change_of_a_life_has_a_revision_of_its_own(
    host: Towline, server: ScriptedServer, work: Path, life: dict[str, Any]
) -> None:
    server.add("/whole", DATA)
    server.add("/none", b"", default=Behaviour(status=404))
    server.add("/flaky", DATA).then(Behaviour(status=503))
    server.add("/cut", DATA).then(Behaviour(drop_after=MIB // 2))
    params = {"id": "d", "url": server.url(life.get("path", "/whole"))}
    params |= {name: life[name] for name in ("checksum", "retry") if name in life}
    params |= {"directory": str(work)} if "directory" in life else {"path": str(work / "f")}
    answers = [host.call("start", **params)]
    finish(host, "d")
    answers.append(host.call("remove", id="d"))
    told = [download["revision"] for download in looks(host, "d", answers[:1])]
    assert len(told) >= 3
    assert told == sorted(set(told)), told
