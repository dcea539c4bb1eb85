"""The reported number of received bytes never decreases within an attempt, however long a commit takes."""

from __future__ import annotations

import contextlib
import random
import threading
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, QUICK_RETRY, finish
from towline_client import JSON, RPCError, Towline

SIZE = 2 * MIB


def told(message: JSON) -> list[JSON]:
    """The downloads (or progress reports) in a message."""
    if message.get("method") == "progress":
        return [message["params"]]
    if message.get("method") == "changed":
        return [message["params"]["download"]]
    result = message.get("result") or {}
    return [result["download"]] if "download" in result else result.get("downloads", [])


def falls(host: Towline) -> list[str]:
    """Every message in which `receivedBytes` decreased within an attempt."""
    most: dict[tuple[str, int], int] = {}
    found = []
    for message in list(host.messages):
        for download in told(message):
            key, count = (download["id"], download["attempt"]), download["receivedBytes"]
            if count < most.get(key, 0):
                found.append(f"{key}: {count} after {most[key]}: {message.get('method', 'an answer')}")
            most[key] = max(count, most.get(key, 0))
    return found


def unsteady(server: ScriptedServer, path: str, chance: random.Random) -> None:
    """A file that is sometimes cut off, delayed or replaced by another version."""
    resource = server.add(path, content(chance.randrange(100), SIZE))
    for version in range(chance.randrange(2, 7)):
        resource.then(
            Behaviour(
                rate=chance.choice([2 * MIB, 8 * MIB, None]),
                drop_after=chance.randrange(SIZE),
                reset=chance.random() < 0.5,
                headers=[("ETag", f'"{version // 2}"')],
            )
        )


@pytest.mark.parametrize("seed", range(3))
def test_counts_never_fall_while_commits_are_slow(
    launch: Launcher, server: ScriptedServer, slow_commits: Path, work: Path, seed: int
) -> None:
    chance = random.Random(seed)
    slow = {"SLOW_COMMITS_PATH": "/towline.db", "SLOW_COMMITS_MS": "150", "SLOW_COMMITS_SEED": str(seed)}
    host = launch(env={"LD_PRELOAD": str(slow_commits), **slow})
    host.call("configure", progressIntervalMs=50)
    ids = [f"d{number}" for number in range(6)]
    for one in ids:
        unsteady(server, f"/{one}", chance)
        host.call("start", id=one, url=server.url(f"/{one}"), path=str(work / one), retry=QUICK_RETRY)
    done = threading.Event()

    def command() -> None:
        while not done.is_set():
            method = chance.choice(["pause", "resume", "get", "list", "get"])
            host.send(method, {} if method == "list" else {"id": chance.choice(ids)})
            done.wait(chance.random() / 10)

    commander = threading.Thread(target=command)
    commander.start()
    done.wait(2.5)
    done.set()
    commander.join()
    for one in ids:
        with contextlib.suppress(RPCError):  # it may have finished
            host.call("resume", id=one)
        assert finish(host, one)["state"] in ("completed", "failed")
    assert falls(host) == []
    assert any(download["attempt"] > 1 for m in host.messages for download in told(m)), "nothing was lost"
