"""`wait`, the only long request, and `$/cancelRequest`."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, NO_RETRY, Held, find_member, quickest
from towline_client import RPCError, Towline


def start(host: Towline, server: ScriptedServer, work: Path, name: str) -> str:
    return host.call("start", url=server.url(f"/{name}"), path=str(work / name), id=name, retry=NO_RETRY)[
        "download"
    ]["id"]


def test_wait_answers_when_the_download_has_ended(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", content(1, MIB))
    result = host.call("wait", id=start(host, server, work, "f"))
    assert set(result) == {"download", "seq", "timedOut"}
    assert (result["download"]["state"], result["timedOut"]) == ("completed", False)


def test_wait_answers_after_the_final_event(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", content(1, MIB))
    request = host.send("wait", {"id": start(host, server, work, "f")})
    host.answer(request)
    before = host.messages[: next(n for n, m in enumerate(host.messages) if m.get("id") == request)]
    assert [m for m in before if "method" in m and find_member(m, "state") == "completed"]


def test_wait_on_what_has_ended_answers_at_once(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    download_id = start(host, server, work, "f")
    host.call("wait", id=download_id)
    assert host.call("wait", id=download_id, timeoutMs=0)["timedOut"] is False
    assert quickest(lambda: host.call("wait", id=download_id)) < 0.5
    assert quickest(lambda: host.call("wait", all=True)) < 0.5


def test_wait_tells_of_a_failure_as_a_result(host: Towline, server: ScriptedServer, work: Path) -> None:
    download = host.call("wait", id=start(host, server, work, "missing"))["download"]
    assert (download["state"], download["error"]["kind"]) == ("failed", "httpStatus")
    assert download["error"]["httpStatus"] == 404
    members = {"kind", "message", "retryable", "httpStatus", "curlCode", "errno", "holderId"}
    assert set(download["error"]) == members


def test_wait_gives_up_after_its_timeout(host: Towline, server: ScriptedServer, work: Path) -> None:
    download = Held(server).started(host, work / "f")
    result = host.call("wait", id=download["id"], timeoutMs=100)
    assert (result["timedOut"], result["download"]["state"]) == (True, "active")


def test_other_requests_are_answered_while_one_waits(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    request = host.send("wait", {"id": held.started(host, work / "f")["id"]})
    assert host.call("ping") == {}
    assert len(host.call("list")["downloads"]) == 1
    held.release()
    assert host.answer(request)["download"]["state"] == "completed"


@pytest.mark.parametrize("until", ["settled", "final"])
def test_a_pause_settles_but_does_not_end(
    host: Towline, server: ScriptedServer, work: Path, until: str
) -> None:
    download = Held(server).started(host, work / "f")
    request = host.send("wait", {"id": download["id"], "until": until, "timeoutMs": 500})
    host.call("pause", id=download["id"])
    result = host.answer(request)
    assert (result["download"]["state"], result["timedOut"]) == ("paused", until == "final")


def test_waiting_for_a_retry_is_not_settled(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x").then(Behaviour(status=503, headers=[("Retry-After", "3000")]))
    host.call("start", url=server.url("/f"), path=str(work / "f"), id="d")
    host.wait_state("d", "waiting")
    assert host.call("wait", id="d", until="settled", timeoutMs=100)["timedOut"] is True


def test_a_cancel_by_another_request_ends_the_wait(host: Towline, server: ScriptedServer, work: Path) -> None:
    download = Held(server).started(host, work / "f")
    request = host.send("wait", {"id": download["id"]})
    host.call("cancel", id=download["id"])
    assert host.answer(request)["download"]["state"] == "canceled"


@pytest.mark.parametrize("by", ["ids", "all"])
def test_wait_for_several_counts_by_state(host: Towline, server: ScriptedServer, work: Path, by: str) -> None:
    server.add("/a", b"x")
    server.add("/b", b"x")
    ids = [start(host, server, work, name) for name in ("a", "b", "missing")]
    result = host.call("wait", **({"ids": ids} if by == "ids" else {"all": True}))
    assert result["timedOut"] is False
    assert (find_member(result, "completed"), find_member(result, "failed")) == (2, 1)


def test_wait_for_all_of_nothing_answers_at_once(host: Towline) -> None:
    assert host.call("wait", all=True)["timedOut"] is False


def test_two_waits_on_one_download_are_both_answered(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f")["id"]
    requests = [host.send("wait", {"id": download_id}) for _ in range(2)]
    host.call("ping")
    held.release()
    assert [host.answer(r)["download"]["state"] for r in requests] == ["completed"] * 2


def test_a_cancelled_wait_leaves_the_others(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f")["id"]
    one, two = (host.send("wait", {"id": download_id}) for _ in range(2))
    host.notify("$/cancelRequest", id=one)
    with pytest.raises(RPCError) as caught:
        host.answer(one)
    assert caught.value.code == -32800
    held.release()
    assert host.answer(two)["download"]["state"] == "completed"


def test_cancelling_what_is_not_there_is_ignored(launch: Launcher) -> None:
    host = launch()
    for request_id in (99, "nobody", None):
        host.notify("$/cancelRequest", id=request_id)
    assert host.call("ping") == {}
    assert len(host.messages) == 1


def test_wait_ends_for_a_download_of_another_process(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    one, two = launch(), launch()
    download_id = held.started(one, work / "f")["id"]
    request = two.send("wait", {"id": download_id})
    two.call("ping")
    held.release()
    assert two.answer(request)["download"]["state"] == "completed"


def test_work_done_progress_is_told_under_the_token(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", content(1, 3 * MIB), default=Behaviour(rate=3 * MIB))
    download_id = start(host, server, work, "f")
    request = host.send("wait", {"id": download_id, "workDoneToken": "t"})
    host.answer(request)
    told = [e["params"] for e in host.events if e["method"] == "$/progress"]
    assert {p["token"] for p in told} == {"t"}
    kinds = [p["value"]["kind"] for p in told]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert set(kinds[1:-1]) <= {"report"}
