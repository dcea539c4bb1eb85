"""What each command does in each state."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, NO_RETRY, Held, fetch, finish, resume_start
from towline_client import JSON, RPCError, Towline


class Arranged:
    """Brings a download `d` into a state."""

    def __init__(self, host: Towline, server: ScriptedServer, work: Path) -> None:
        self.host, self.server, self.path = host, server, work / "f"

    def queued(self) -> None:
        self.host.call("configure", maxActive=1)
        Held(self.server, "/first").started(self.host, self.path.with_name("first"))
        self.server.add("/f", b"x")
        self._start()

    def active(self) -> None:
        Held(self.server, "/f").started(self.host, self.path, id="d")

    def waiting(self) -> None:
        self.server.add("/f", b"x").then(Behaviour(status=503, headers=[("Retry-After", "3000")]))
        self._start()
        self.host.wait_state("d", "waiting")

    def paused(self) -> None:
        self.server.add("/f", b"x")
        self._start(startPaused=True)

    def failed(self) -> None:
        self.server.add("/f", b"x").then(Behaviour(status=404))
        self._start(retry=NO_RETRY)
        assert finish(self.host, "d")["state"] == "failed"

    def completed(self) -> None:
        self.server.add("/f", b"x")
        self._start()
        assert finish(self.host, "d")["state"] == "completed"

    def canceled(self) -> None:
        self.paused()
        self.host.call("cancel", id="d")

    def _start(self, **params: Any) -> None:
        self.host.call("start", url=self.server.url("/f"), path=str(self.path), id="d", **params)


#: per state: the result of pause, resume and cancel (None: error 1002; "same": changed is false)
TABLE = {
    "queued": ("paused", "same", "canceled"),
    "active": ("paused", "same", "canceled"),
    "waiting": ("paused", "goes on", "canceled"),
    "paused": ("same", "goes on", "canceled"),
    "failed": (None, "goes on", "canceled"),
    "completed": (None, "same", None),
    "canceled": (None, None, "same"),
}
CASES = [
    (state, command, row[column])
    for state, row in TABLE.items()
    for column, command in enumerate(("pause", "resume", "cancel"))
]


@pytest.mark.parametrize(("state", "command", "outcome"), CASES)
def test_command_in_state(
    host: Towline, server: ScriptedServer, work: Path, state: str, command: str, outcome: str
) -> None:
    getattr(Arranged(host, server, work), state)()
    assert host.call("get", id="d")["download"]["state"] == state
    if outcome is None:
        error = host.error(command, id="d")
        assert (error.code, error.kind) == (1002, "invalidState")
        assert host.call("get", id="d")["download"]["state"] == state
        return
    result = host.call(command, id="d")
    assert set(result) == {"download", "seq", "changed"}
    assert result["changed"] is (outcome != "same")
    if outcome == "goes on":
        assert result["download"]["state"] in ("queued", "active")
        assert finish(host, "d")["state"] == "completed"
    else:
        assert result["download"]["state"] == (state if outcome == "same" else outcome)


@pytest.mark.parametrize("state", ["queued", "active", "waiting", "paused"])
def test_what_is_not_final_cannot_be_removed(
    host: Towline, server: ScriptedServer, work: Path, state: str
) -> None:
    getattr(Arranged(host, server, work), state)()
    assert host.error("remove", id="d").code == 1002


@pytest.mark.parametrize("state", ["failed", "completed", "canceled"])
def test_what_is_final_can_be_removed_and_is_gone(
    host: Towline, server: ScriptedServer, work: Path, state: str
) -> None:
    getattr(Arranged(host, server, work), state)()
    assert host.call("remove", id="d") == {}
    assert host.error("get", id="d").code == 1001
    assert (work / "f").exists() == (state == "completed")


def test_reasons_are_told(host: Towline, server: ScriptedServer, work: Path) -> None:
    Arranged(host, server, work).paused()
    assert host.call("get", id="d")["download"]["reason"] == "user"
    host.call("cancel", id="d")
    assert host.call("get", id="d")["download"]["reason"] is None


def test_a_waiting_download_tells_when_it_goes_on(host: Towline, server: ScriptedServer, work: Path) -> None:
    Arranged(host, server, work).waiting()
    download = host.call("get", id="d")["download"]
    assert download["reason"] in ("retry", "rateLimited")
    assert download["retryAt"] > download["updatedAt"]


def test_failed_then_resumed_is_a_new_attempt(host: Towline, server: ScriptedServer, work: Path) -> None:
    Arranged(host, server, work).failed()
    before = host.call("get", id="d")["download"]
    assert before["error"]["kind"] == "httpStatus"
    assert before["error"]["httpStatus"] == 404
    host.call("resume", id="d")
    after = finish(host, "d")
    assert after["attempt"] == before["attempt"] + 1
    assert after["error"] is None


def test_pause_keeps_the_bytes_and_resume_asks_for_the_rest(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download = held.started(host, work / "f")
    paused = host.call("pause", id=download["id"])["download"]
    assert (paused["state"], paused["reason"], paused["receivedBytes"]) == ("paused", "user", held.after)
    assert Path(paused["partialPath"]).exists()
    assert not (work / "f").exists()
    held.release()
    host.call("resume", id=download["id"])
    done = finish(host, download["id"])
    assert (work / "f").read_bytes() == held.data
    assert done["transfer"] == {"mode": "resumed", "offset": held.after, "why": None, "identity": "validated"}
    second = server.requests("/held")[1]
    assert (second.range_start, second.if_range, second.status) == (resume_start(held.after), '"v1"', 206)


def test_a_paused_download_keeps_no_connection(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    download = held.started(host, work / "f")
    host.call("pause", id=download["id"])
    server.wait(lambda: server.in_progress() == [])


def test_cancel_deletes_the_partial_file(host: Towline, server: ScriptedServer, work: Path) -> None:
    download = Held(server).started(host, work / "f")
    host.call("cancel", id=download["id"])
    host.wait_state(download["id"], "canceled")
    host.call("remove", id=download["id"])
    assert list(work.iterdir()) == []


def test_cancel_can_leave_the_partial_file(host: Towline, server: ScriptedServer, work: Path) -> None:
    download = Held(server).started(host, work / "f")
    host.call("cancel", id=download["id"], deletePartial=False)
    assert len(list(work.iterdir())) == 1


def test_remove_can_delete_the_file_it_downloaded(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    fetch(host, server.url("/f"), work / "f", id="a")
    host.call("remove", id="a", deleteFile=True)
    assert not (work / "f").exists()


def test_remove_spares_a_file_that_is_no_longer_the_one_it_downloaded(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x")
    fetch(host, server.url("/f"), work / "f", id="a")
    (work / "other").write_bytes(b"somebody else's")
    (work / "other").rename(work / "f")
    try:
        host.call("remove", id="a", deleteFile=True)
    except RPCError as error:
        assert error.code in (1002, 1003)  # noqa: PT017
    assert (work / "f").read_bytes() == b"somebody else's"


def test_commands_take_several_ids_and_count(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    for name in ("a", "b", "c"):
        host.call("start", url=server.url("/f"), path=str(work / name), id=name, startPaused=True)
    result = host.call("cancel", ids=["a", "b", "nobody"])
    assert (result["matched"], result["changed"]) == (2, 2)
    assert [e for e in result["errors"] if "nobody" in str(e)]
    result = host.call("cancel", all=True)
    assert result["changed"] == 1
    assert result["errors"] == []


def test_pause_all_and_resume_all(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = [Held(server, f"/{n}", seed=n) for n in range(3)]
    ids = [h.started(host, work / str(n))["id"] for n, h in enumerate(held)]
    assert host.call("pause", all=True)["changed"] == 3
    for h in held:
        h.release()
    assert host.call("resume", all=True)["changed"] == 3
    for n, download_id in enumerate(ids):
        assert finish(host, download_id)["state"] == "completed"
        assert (work / str(n)).read_bytes() == held[n].data


def test_at_most_20_errors_are_listed(host: Towline) -> None:
    result = host.call("pause", ids=[f"nobody{n}" for n in range(50)])
    assert len(result["errors"]) == 20
    assert (result["matched"], result["changed"]) == (0, 0)


def test_pausing_and_resuming_quickly_ends_in_the_right_file(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    data = content(5, 8 * MIB)
    server.add("/f", data, default=Behaviour(rate=16 * MIB))
    host.call("start", url=server.url("/f"), path=str(work / "f"), id="d")
    states: list[JSON] = []
    for _ in range(15):
        for method in ("pause", "resume"):
            try:
                states.append(host.call(method, id="d")["download"])
            except RPCError as error:
                assert error.code == 1002  # noqa: PT017
    assert finish(host, "d")["state"] == "completed"
    assert (work / "f").read_bytes() == data
    received = [s["receivedBytes"] for s in states if s["attempt"] == states[0]["attempt"]]
    assert received == sorted(received)


def test_start_paused_asks_the_server_nothing(host: Towline, server: ScriptedServer, work: Path) -> None:
    Arranged(host, server, work).paused()
    host.call("ping")
    assert server.requests() == []


def test_a_retry_wait_can_be_cut_short(host: Towline, server: ScriptedServer, work: Path) -> None:
    gate = threading.Event()
    server.add("/f", b"x").then(
        Behaviour(status=503, headers=[("Retry-After", "3000")]), Behaviour(hold_head=gate)
    )
    host.call("start", url=server.url("/f"), path=str(work / "f"), id="d")
    host.wait_state("d", "waiting")
    host.call("resume", id="d")
    server.wait_requests("/f", 2)
    gate.set()
    assert finish(host, "d")["state"] == "completed"
