"""One command for several downloads applies to each of them once."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer
from support import Held
from towline_client import Towline

STATES = {"pause": "paused", "resume": "active", "cancel": "canceled"}


def active(host: Towline, server: ScriptedServer, work: Path, name: str) -> str:
    held = Held(server, f"/{name}")
    return str(held.started(host, work / name, id=name)["id"])


@pytest.mark.parametrize("method", STATES)
@pytest.mark.parametrize("ids", [["a", "a"], ["a", "b", "a", "b", "a"]])
def test_an_id_twice_is_one_download(
    host: Towline, server: ScriptedServer, work: Path, method: str, ids: list[str]
) -> None:
    for name in sorted(set(ids)):
        active(host, server, work, name)
        if method == "resume":
            host.call("pause", id=name)
    outcome = host.call(method, ids=ids)
    count = len(set(ids))
    assert outcome == {"matched": count, "changed": count, "errors": []}
    for name in sorted(set(ids)):
        host.wait_state(name, STATES[method])
    # Nothing blocks on it: later commands, also the same one again, are answered.
    assert host.call(method, ids=ids) == {"matched": count, "changed": 0, "errors": []}
    assert host.call("update", id="a", priority=1) if method != "cancel" else True
    assert host.call("ping") == {}


def test_an_id_twice_is_one_error(host: Towline) -> None:
    outcome = host.call("cancel", ids=["none", "none"])
    assert (outcome["matched"], outcome["changed"]) == (0, 0)
    assert [e["id"] for e in outcome["errors"]] == ["none"]


@pytest.mark.parametrize("state", ["paused", "failed"])
def test_an_id_twice_of_what_a_dead_process_left(
    launch: Launcher, server: ScriptedServer, work: Path, state: str
) -> None:
    first = launch()
    if state == "failed":
        first.call("start", id="d", url=server.url("/nowhere"), path=str(work / "f"))
        first.call("wait", id="d")
    else:
        active(first, server, work, "d")
    first.kill()
    second = launch()
    assert second.call("cancel", ids=["d", "d"]) == {"matched": 1, "changed": 1, "errors": []}
    assert second.call("get", id="d")["download"]["state"] == "canceled"
    assert second.call("remove", id="d") == {}
    second.call("start", id="d", url=server.url("/g"), path=str(work / "g"), startPaused=True)


def test_commands_written_at_once_meet_what_those_before_ended(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    """Each command sees the result of the one before it, even at once; none waits for itself."""
    url = server.url("/held")
    Held(server, "/held")
    requests = [host.send("start", {"id": "d", "url": url, "path": str(work / "f")})]
    for method in ("cancel", "cancel", "pause", "cancel"):
        requests.append(host.send(method, {"ids": ["d", "d"]}))
    requests.append(host.send("cancel", {"id": "d"}))
    requests.append(host.send("remove", {"id": "d"}))
    answers = [host.response(request) for request in requests]
    assert [a["result"]["changed"] for a in answers[1:5]] == [1, 0, 0, 0]
    assert answers[3]["result"]["errors"][0]["error"]["code"] == 1002
    assert answers[5]["result"]["changed"] is False
    assert answers[6]["result"] == {}
