"""An `update` and the requests right behind it: the order of answers and events; and `start` after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer
from support import Held, finish, line
from towline_client import JSON, Towline


def interrupted(launch: Launcher, server: ScriptedServer, work: Path) -> tuple[Towline, Held]:
    """A new process, after one was killed while it ran the download `d`."""
    held = Held(server)
    first = launch()
    held.started(first, work / "f", id="d")
    first.kill()
    return launch(), held


def together(host: Towline, *requests: tuple[str, JSON]) -> list[JSON]:
    """Sends requests in one write; returns their answers."""
    first = 1_000 + 100 * len(host.messages)
    lines = [line(method, first + place, **params) for place, (method, params) in enumerate(requests)]
    host.raw("\n".join(lines) + "\n")
    return [host.answer(first + place) for place in range(len(requests))]


def check_order(host: Towline) -> None:
    """Each event has a revision of its own, higher than those before; those of answers never fall."""
    told = [download["revision"] for download in host.changed()]
    assert told == sorted(set(told)), host.changed()
    results = [m.get("result") or {} for m in host.messages if "method" not in m]
    answered = [result["download"]["revision"] for result in results if "download" in result]
    assert answered == sorted(answered)


@pytest.mark.parametrize(
    "update", [{"metadata": {"m": 1}}, {"priority": 4}, {"headers": {"X-A": "b"}}], ids=str
)
@pytest.mark.parametrize(
    ("command", "states"), [("resume", {"queued", "active"}), ("cancel", {"canceled"}), ("pause", {"paused"})]
)
def test_what_follows_an_update_of_an_interrupted_download_is_told_after_it(
    launch: Launcher, server: ScriptedServer, work: Path, update: JSON, command: str, states: set[str]
) -> None:
    host, _ = interrupted(launch, server, work)
    host.call("subscribe", events=["changed"])
    updated, done = together(host, ("update", {"id": "d", **update}), (command, {"id": "d"}))
    assert (updated["download"]["state"], updated["download"]["reason"]) == ("paused", "interrupted")
    assert done["download"]["state"] in states
    host.wait_event(
        lambda e: e["params"].get("download", {}).get("revision", 0) >= done["download"]["revision"]
    )
    host.call("ping")
    check_order(host)
    first, *others = host.changed("d")
    assert first["reason"] == "interrupted"
    assert others
    assert {d["state"] for d in others} <= states


def test_each_of_many_updates_has_a_revision_of_its_own(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    held.started(host, work / "f", id="d")
    requests: list[tuple[str, JSON]] = [("update", {"id": "d", "metadata": {"m": m}}) for m in range(20)]
    answers = together(host, *requests)
    assert [a["download"]["metadata"]["m"] for a in answers] == list(range(20))
    host.wait_event(lambda e: (e["params"].get("download", {}).get("metadata") or {}).get("m") == 19)
    check_order(host)
    assert [d["metadata"]["m"] for d in host.changed("d") if d["metadata"]] == list(range(20))


def test_a_new_url_and_what_follows_it(host: Towline, server: ScriptedServer, work: Path) -> None:
    """A download that is active, and one that waits for a link."""
    held = Held(server)
    held.started(host, work / "f", id="d")
    held.release()
    together(host, ("update", {"id": "d", "url": held.url + "?2"}), ("pause", {"id": "d"}))
    assert host.call("get", id="d")["download"]["state"] == "paused"
    check_order(host)
    server.add("/expired", held.data).then(Behaviour(hold_after=1 << 20), Behaviour(status=403))
    host.call("start", id="e", url=server.url("/expired"), path=str(work / "e"))
    host.wait_received("e", 1)
    host.call("pause", id="e")
    host.call("resume", id="e")
    host.wait_state("e", "waiting")
    together(host, ("update", {"id": "e", "url": server.url("/expired?2")}), ("cancel", {"id": "e"}))
    assert host.call("get", id="e")["download"]["state"] == "canceled"
    host.call("ping")
    check_order(host)


@pytest.mark.parametrize("change", [{"metadata": {"m": 1}}, {"url": "?2"}], ids=["metadata", "url"])
def test_the_same_start_continues_an_interrupted_download_that_was_updated(
    launch: Launcher, server: ScriptedServer, work: Path, change: dict[str, Any]
) -> None:
    host, held = interrupted(launch, server, work)
    held.release()
    url = held.url + change.get("url", "")
    update = {**change, "url": url} if "url" in change else change
    host.call("update", id="d", **update)
    started = host.call("start", id="d", url=url, path=str(work / "f"))
    assert (started["created"], started["resumed"]) == (False, True)
    done = finish(host, "d")
    assert (done["state"], done["transfer"]["mode"]) == ("completed", "resumed")
    assert (work / "f").read_bytes() == held.data


def test_two_starts_in_one_write_continue_an_interrupted_download_once(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    host, held = interrupted(launch, server, work)
    start = ("start", {"id": "d", "url": held.url, "path": str(work / "f")})
    answers = together(host, start, start, ("pause", {"id": "d"}), ("resume", {"id": "d"}), start)
    assert sorted(a["resumed"] for a in answers if "resumed" in a) == [False, False, True]
    held.release()
    done = finish(host, "d")
    assert (done["state"], done["attempt"]) == ("completed", 1)
    assert (work / "f").read_bytes() == held.data
    check_order(host)
