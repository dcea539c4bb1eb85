"""Random requests sent together, in several processes one after the other: events and answers agree."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer, content
from support import line
from towline_client import JSON, Towline

IDS = ("d0", "d1", "d2")


def request(chance: random.Random, server: ScriptedServer, work: Path) -> tuple[str, JSON]:
    name = chance.choice(IDS)
    url = server.url(f"/{name}")
    choices: list[tuple[str, JSON]] = [
        ("start", {"id": name, "url": url, "path": str(work / name), "ifExists": "overwrite"}),
        ("pause", {"id": name}),
        ("resume", {"id": name}),
        ("cancel", {"id": name}),
        ("update", {"id": name, "metadata": {"m": chance.randrange(1_000)}}),
        ("update", {"id": name, "url": url, "headers": {"X-A": str(chance.randrange(9))}}),
        ("remove", {"id": name}),
        ("get", {"id": name}),
        ("pause", {"all": True}),
        ("resume", {"all": True}),
    ]
    # A start makes the others mean something.
    return choices[0] if chance.random() < 0.2 else chance.choice(choices)


def check(host: Towline) -> None:
    """Of one download each event has a higher revision than the one before, and each answer no lower one."""
    told: dict[str, int] = {}
    answered: dict[str, int] = {}
    for message in host.messages:
        if message.get("method") in ("changed", "removed"):
            shown = message["params"].get("download") or message["params"]
            assert shown["revision"] > told.get(shown["id"], 0), message
            told[shown["id"]] = shown["revision"]
        elif "download" in (message.get("result") or {}):
            shown = message["result"]["download"]
            assert shown["revision"] >= answered.get(shown["id"], 0), message
            answered[shown["id"]] = shown["revision"]
    for download in host.call("list")["downloads"]:
        assert download["revision"] >= told.get(download["id"], 0)


@pytest.mark.parametrize("seed", range(12))
def test_events_are_in_the_order_of_requests_that_are_sent_together(
    launch: Launcher, server: ScriptedServer, work: Path, seed: int
) -> None:
    chance = random.Random(seed)
    for number, name in enumerate(IDS):
        server.add(f"/{name}", content(number, 300_000), default=Behaviour(rate=400_000))
    for _ in range(3):
        host = launch()
        host.call("subscribe", progressIntervalMs=50)
        for burst in range(1, 5):
            requests = [request(chance, server, work) for _ in range(chance.randrange(1, 8))]
            lines = [line(method, 1_000 * burst + i, **p) for i, (method, p) in enumerate(requests)]
            host.raw("\n".join(lines) + "\n")
            for place in range(len(requests)):
                host.response(1_000 * burst + place)
        check(host)
        host.kill()
