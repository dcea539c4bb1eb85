"""`inspect`: which requests were sent, and when they began and ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_server import Behaviour, ScriptedServer
from support import NO_RETRY, QUICK_RETRY, Held, fetch, finish
from towline_client import JSON, Towline


def attempts(host: Towline, download_id: str) -> list[JSON]:
    return host.call("inspect", id=download_id)["attempts"]


def test_an_attempt_that_runs_has_no_end_and_a_paused_one_has(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f")["id"]
    assert [a["endedAt"] for a in attempts(host, download_id)] == [None]
    host.call("pause", id=download_id)
    (paused,) = attempts(host, download_id)
    assert paused["startedAt"] <= paused["endedAt"]
    assert paused["error"] is None
    host.call("resume", id=download_id)
    server.wait_requests("/held", 2)
    first, second = attempts(host, download_id)
    assert (first["endedAt"], second["endedAt"]) == (paused["endedAt"], None)
    held.release()
    assert finish(host, download_id)["state"] == "completed"
    ended = [a["endedAt"] for a in attempts(host, download_id)]
    assert ended[0] == paused["endedAt"] <= ended[1]


def test_the_attempt_of_a_completed_download_has_ended(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x" * 5000)
    server.add("/empty", b"")
    server.add("/hop", b"", default=Behaviour(location="/f"))
    for name in ("f", "empty", "hop"):
        done = fetch(host, server.url(f"/{name}"), work / name)
        assert done["state"] == "completed"
        (attempt,) = attempts(host, done["id"])
        assert attempt["startedAt"] <= attempt["endedAt"] <= done["completedAt"]


def test_behind_a_redirect_an_attempt_goes_on(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    server.add("/hop", b"", default=Behaviour(location="/held"))
    host.call("start", id="d", url=server.url("/hop"), path=str(work / "f"))
    host.wait_received("d", held.after)
    assert [a["endedAt"] for a in attempts(host, "d")] == [None]
    held.release()


@pytest.mark.parametrize("command", ["cancel", "fail", "retry"])
def test_so_has_every_other_that_is_over(
    host: Towline, server: ScriptedServer, work: Path, command: str
) -> None:
    held = Held(server)
    if command == "cancel":
        download_id = held.started(host, work / "f")["id"]
        host.call("cancel", id=download_id)
    else:
        server.add("/bad", b"", default=Behaviour(status=404 if command == "fail" else 503))
        retry = NO_RETRY if command == "fail" else {**QUICK_RETRY, "maxAttempts": 2}
        download_id = fetch(host, server.url("/bad"), work / "g", retry=retry)["id"]
    found = attempts(host, download_id)
    assert len(found) == (3 if command == "retry" else 1)
    assert all(a["endedAt"] is not None and a["startedAt"] <= a["endedAt"] for a in found)
    held.release()


def test_a_file_that_is_there_already_ends_its_attempt_too(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x", default=Behaviour(conditional=True))
    fetch(host, server.url("/f"), work / "f")
    done = fetch(host, server.url("/f"), work / "f", ifExists="skip")
    assert done["transfer"]["mode"] == "unchanged"
    assert all(a["endedAt"] is not None for a in attempts(host, done["id"]))
