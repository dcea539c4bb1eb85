"""`shutdown` right after other requests, and the end of input right after it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer
from support import Held, line
from towline_client import JSON, Towline

ENDS = {"suspend": "paused", "cancel": "canceled"}


def state_of(launch: Launcher, download_id: str) -> str:
    return str(launch().call("get", id=download_id)["download"]["state"])


@pytest.mark.parametrize("mode", ENDS)
@pytest.mark.parametrize("in_batch", [False, True])
def test_a_pipeline_that_shuts_down_ends_with_unfinished_downloads(
    launch: Launcher, server: ScriptedServer, work: Path, mode: str, in_batch: bool
) -> None:
    held = Held(server)
    lines = [line("start", n, id=f"d{n}", url=held.url, path=str(work / f"f{n}")) for n in (1, 2)]
    lines.append(line("shutdown", 9, mode=mode))
    if in_batch:
        lines = ["[" + ",".join(lines) + "]"]
    process, status = launch.pipe(*lines, timeout=10)
    assert status == 0
    batch = process.wait_message(lambda m: isinstance(m, list)) if in_batch else process.messages
    answers = {m["id"]: m["result"] for m in batch if "id" in m}
    assert answers[9] is None
    for n in (1, 2):
        assert answers[n]["created"] is True
        assert state_of(launch, f"d{n}") == ENDS[mode]


def test_a_download_that_already_runs_does_not_keep_it_either(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    host = launch()
    Held(server).started(host, work / "f")
    assert host.call("shutdown") is None
    host.close_stdin()
    assert host.wait_exit() == 0


@pytest.mark.parametrize("framing", ["line", "header"])
def test_what_was_to_go_on_without_its_host_is_over_after_shutdown(
    launch: Launcher, server: ScriptedServer, work: Path, framing: str
) -> None:
    host = launch("--on-host-exit", "finish", framing=framing)
    host.call("initialize", processId=None)
    Held(server).started(host, work / "f")
    assert host.call("shutdown") is None
    host.close_stdin()
    assert host.wait_exit() == 0


@pytest.mark.parametrize("framing", ["line", "header"])
@pytest.mark.parametrize("end", ["exit", "input", "pipeline"])
def test_shutdown_suspends_all_but_background_downloads(
    launch: Launcher, server: ScriptedServer, work: Path, framing: str, end: str
) -> None:
    host = launch(framing=framing)
    if end != "pipeline":
        host.call("initialize", processId=None)
    background, other = Held(server, "/background"), Held(server, "/other")
    background.started(host, work / "background", id="background", background=True)
    other.started(host, work / "other", id="other")
    assert host.call("shutdown") is None
    assert host.error("start", url=server.url("/background"), path=str(work / "x")).kind == "shuttingDown"
    reader = launch()
    seen = {d["id"]: (d["state"], d["reason"]) for d in reader.call("list")["downloads"]}
    assert seen == {"background": ("active", None), "other": ("paused", "interrupted")}
    if end == "exit":
        host.notify("exit")
    host.close_stdin()
    background.release()
    assert host.wait_exit() == 0
    assert (work / "background").read_bytes() == background.data
    assert not (work / "other").exists()


def test_a_signal_suspends_background_downloads_after_shutdown(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    host = launch()
    host.call("initialize", processId=None)
    Held(server).started(host, work / "f", background=True)
    host.call("shutdown")
    host.process.terminate()
    assert host.wait_exit() == 128 + 15


def test_a_host_that_dies_after_shutdown_does_not_keep_it(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    host = launch("--on-host-exit", "finish", read_at_once=False)
    held = Held(server)
    host.send("start", {"id": "d", "url": held.url, "path": str(work / "f")})
    server.wait_requests("/held", 1)
    host.send("shutdown")
    host.stop_having_a_reader()
    host.close_stdin()
    assert host.wait_exit() in (0, 141)


def test_shutdown_cancel_cancels_what_the_requests_before_it_start(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    host = launch()
    held = Held(server)
    requests = [
        {"jsonrpc": "2.0", "id": n, "method": "start"}
        | {"params": {"id": f"d{n}", "url": held.url, "path": str(work / f"f{n}"), "startPaused": n == 3}}
        for n in (1, 2, 3)
    ]
    shutdown = {"jsonrpc": "2.0", "id": 9, "method": "shutdown", "params": {"mode": "cancel"}}
    host.raw("".join(json.dumps(r) + "\n" for r in [*requests, shutdown]))
    assert host.answer(9) is None
    for n in (1, 2, 3):
        assert [d["state"] for d in host.changed(f"d{n}")][-1] == "canceled"
    host.close_stdin()
    assert host.wait_exit() == 0
    assert [state_of(launch, f"d{n}") for n in (1, 2, 3)] == ["canceled"] * 3
    assert list(work.glob("f*")) == []


def test_shutdown_cancel_cancels_what_a_start_has_found(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    first = launch()
    held = Held(server)
    params = {"id": "d", "url": held.url, "path": str(work / "f")}
    first.call("start", **params, startPaused=True)
    first.kill()
    second = launch()
    assert second.call("start", **params)["created"] is False
    assert second.call("shutdown", mode="cancel") is None
    assert state_of(launch, "d") == "canceled"


def test_shutdown_cancel_leaves_what_another_process_runs(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    first = launch()
    held = Held(server)
    held.started(first, work / "f", id="d")
    second = launch()
    second.call("start", id="d", url=held.url, path=str(work / "f"))
    assert second.call("shutdown", mode="cancel") is None
    assert first.call("get", id="d")["download"]["state"] == "active"


def test_shutdown_finish_behind_start_finishes_it(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x" * 1000)
    process, status = launch.pipe(
        line("start", 1, id="d", url=server.url("/f"), path=str(work / "f")),
        line("shutdown", 2, mode="finish"),
    )
    assert (status, process.answer(2)) == (0, None)
    assert (work / "f").read_bytes() == b"x" * 1000


def test_a_wait_behind_a_start_is_answered_by_the_shutdown(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    process, status = launch.pipe(
        line("start", 1, id="d", url=held.url, path=str(work / "f")),
        line("wait", 2, id="d"),
        line("shutdown", 3),
        timeout=10,
    )
    assert process.response(2)["error"]["code"] == 1012
    assert (status, process.answer(3)) == (0, None)


def test_its_host_can_be_gone_before_the_answer(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    host.send("start", {"id": "d", "url": held.url, "path": str(work / "f")})
    host.send("shutdown", {"mode": "cancel"})
    host.close_stdin()
    assert host.wait_exit() == 0


def started(work: Path, url: str, name: str) -> JSON:
    return {"method": "start", "params": {"id": name, "url": url, "path": str(work / name)}}


CANCEL_ALL = {"method": "shutdown", "params": {"mode": "cancel"}}
#: What is sent in one write before `exit`, the exit status, and the final states of `old` and `new`.
BEFORE_EXIT: dict[str, tuple[list[JSON | str], int, dict[str, str]]] = {
    "shutdown, canceling": ([CANCEL_ALL], 0, {"old": "canceled"}),
    "start and shutdown, canceling": (["new", CANCEL_ALL], 0, {"old": "canceled", "new": "canceled"}),
    "start and shutdown": (["new", {"method": "shutdown"}], 0, {"old": "paused", "new": "paused"}),
    "start": (["new"], 1, {"old": "paused", "new": "paused"}),
    "cancel": ([{"method": "cancel", "params": {"id": "old"}}], 1, {"old": "canceled"}),
    "cancel all": ([{"method": "cancel", "params": {"all": True}}], 1, {"old": "canceled"}),
    "pause and shutdown": (
        [{"method": "pause", "params": {"id": "old"}}, {"method": "shutdown"}],
        0,
        {"old": "paused"},
    ),
}


@pytest.mark.parametrize("framing", ["line", "header"])
@pytest.mark.parametrize("case", BEFORE_EXIT)
def test_what_was_asked_before_exit_is_done(
    launch: Launcher, server: ScriptedServer, work: Path, case: str, framing: str
) -> None:
    requests, status, ends = BEFORE_EXIT[case]
    host = launch(framing=framing)
    held = Held(server)
    held.started(host, work / "old", id="old")
    texts = []
    for number, request in enumerate(requests, 900):
        members = started(work, held.url, request) if isinstance(request, str) else request
        texts.append(json.dumps({"jsonrpc": "2.0", "id": number, **members}))
    texts.append(json.dumps({"jsonrpc": "2.0", "method": "exit"}))
    behind = started(work, held.url, "behind")
    texts.append(json.dumps({"jsonrpc": "2.0", "id": 999, **behind}))
    head = "Content-Length: {}\r\n\r\n{}" if framing == "header" else "{1}\n"
    host.raw("".join(head.format(len(text), text) for text in texts))
    assert host.wait_exit() == status
    for number in range(900, 900 + len(requests)):
        assert "result" in host.response(number), host.response(number)
    assert [m["error"]["code"] for m in host.messages if m.get("id") == 999] in ([], [1012])
    second = launch()
    listed = {d["id"]: d["state"] for d in second.call("list")["downloads"]}
    assert listed == ends
    kept = {f"{name}.towline" for name, end in ends.items() if end == "paused"}
    assert {p.name for p in work.iterdir()} <= kept
    if ends["old"] == "paused":
        assert second.call("get", id="old")["download"]["receivedBytes"] > 0


def test_exit_does_not_wait_for_what_never_ends(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    host = launch()
    Held(server).started(host, work / "f", id="f")
    host.send("wait", {"id": "f"})
    host.send("shutdown", {"mode": "finish"})
    host.notify("exit")
    assert host.wait_exit(timeout=5) == 0
    assert state_of(launch, "f") == "paused"


@pytest.mark.parametrize("framing", ["line", "header"])
@pytest.mark.parametrize("end", ["shutdown and exit", "exit", "input"])
def test_a_background_download_goes_on_that_was_started_just_before_the_end(
    launch: Launcher, server: ScriptedServer, work: Path, framing: str, end: str
) -> None:
    held = Held(server)
    host = launch(framing=framing)
    initialized = host.send("initialize", {"processId": None})
    started = host.send("start", {"id": "d", "url": held.url, "path": str(work / "f"), "background": True})
    if end.startswith("shutdown"):
        ended = host.send("shutdown")
    if end.endswith("exit"):
        host.notify("exit")
    host.close_stdin()
    # Earlier requests are answered first.
    host.answer(initialized)
    assert host.answer(started)["created"] is True
    if end.startswith("shutdown"):
        assert host.answer(ended) is None
    held.release()
    host.wait_exit()
    assert (work / "f").read_bytes() == held.data
