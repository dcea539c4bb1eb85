"""Starting the same download again, in the same process and in the next one."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer, content
from support import Held, fetch, finish, line, poll
from towline_client import Towline


def test_the_same_id_and_request_give_the_same_record(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    first = held.started(host, work / "f", id="a")
    again = host.call("start", url=held.url, path=str(work / "f"), id="a")
    assert (again["created"], again["download"]["id"]) == (False, "a")
    assert again["download"]["createdAt"] == first["createdAt"]
    assert len(server.requests()) == 1


def test_without_an_id_the_same_url_and_destination_give_the_same_record(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    first = held.started(host, work / "f")
    again = host.call("start", url=held.url, path=str(work / "f"))
    assert (again["created"], again["download"]["id"]) == (False, first["id"])


def test_a_completed_record_is_found_by_its_id(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    fetch(host, server.url("/f"), work / "f", id="a")
    again = host.call("start", url=server.url("/f"), path=str(work / "f"), id="a")
    assert (again["created"], again["download"]["state"]) == (False, "completed")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"url": "http://127.0.0.1:1/other"}, "url"),
        ({"path": "elsewhere"}, "destination"),
        ({"checksum": {"algorithm": "sha256", "value": "0" * 64}}, "checksum"),
        ({"ifExists": "overwrite"}, "ifExists"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_same_id_with_another_request_is_a_conflict(
    host: Towline, server: ScriptedServer, change: dict[str, Any], named: str
) -> None:
    params = {"url": server.url("/f"), "path": "f", "id": "a", "startPaused": True}
    host.call("start", **params)
    error = host.error("start", **{**params, **change})
    assert error.code == 1004
    assert any(named in str(entry) for entry in error.data["differs"]), error.data


def test_the_same_url_goes_to_two_destinations(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    one, two = (host.call("start", url=server.url("/f"), path=str(work / n))["download"] for n in "ab")
    assert one["id"] != two["id"]
    assert finish(host, one["id"])["state"] == finish(host, two["id"])["state"] == "completed"


def test_relative_paths_are_the_same_destination(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    first = held.started(host, work / "f")
    again = host.call("start", url=held.url, path="./f")
    assert (again["created"], again["download"]["id"]) == (False, first["id"])
    assert again["download"]["path"] == str(work / "f")


def interrupted(launch: Launcher, held: Held, path: Path, how: signal.Signals, **params: Any) -> str:
    process = launch()
    download_id = held.started(process, path, **params)["id"]
    if how == signal.SIGKILL:
        process.kill()
    else:
        process.signal(how)
        process.wait_exit()
    return download_id


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda how: how.name)
def test_running_the_same_command_again_goes_on(
    launch: Launcher, server: ScriptedServer, work: Path, how: signal.Signals
) -> None:
    held = Held(server)
    download_id = interrupted(launch, held, work / "f", how)
    held.release()
    host = launch()
    listed = host.call("list")["downloads"]
    assert [(d["id"], d["state"], d["reason"], d["owner"]) for d in listed] == [
        (download_id, "paused", "interrupted", "none")
    ]
    again = host.call("start", url=held.url, path=str(work / "f"))
    assert (again["created"], again["resumed"], again["download"]["id"]) == (False, True, download_id)
    assert finish(host, download_id)["transfer"]["mode"] == "resumed"
    assert (work / "f").read_bytes() == held.data


def test_what_the_user_paused_stays_paused(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    process = launch()
    download_id = held.started(process, work / "f")["id"]
    process.call("pause", id=download_id)
    process.kill()
    host = launch()
    again = host.call("start", url=held.url, path=str(work / "f"))
    assert (again["created"], again["resumed"]) == (False, False)
    assert (again["download"]["state"], again["download"]["reason"]) == ("paused", "user")
    assert len(server.requests()) == 1


def test_an_interrupted_download_is_found_by_its_id(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    interrupted(launch, held, work / "f", signal.SIGKILL, id="mine")
    held.release()
    host = launch()
    again = host.call("start", url=held.url, path=str(work / "f"), id="mine")
    assert (again["created"], again["resumed"]) == (False, True)
    assert finish(host, "mine")["state"] == "completed"


def test_a_taken_over_download_sends_its_events_here(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download_id = interrupted(launch, held, work / "f", signal.SIGKILL)
    held.release()
    host = launch()
    host.call("start", url=held.url, path=str(work / "f"))
    host.wait_state(download_id, "completed")


def test_a_pipeline_waits_for_what_it_took_over(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    interrupted(launch, held, work / "f", signal.SIGKILL)
    held.release()
    _, status = launch.pipe(line("start", 1, url=held.url, path=str(work / "f")))
    assert status == 0
    assert (work / "f").read_bytes() == held.data


def test_resume_all_continues_the_interrupted(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    interrupted(launch, held, work / "f", signal.SIGKILL)
    held.release()
    _, status = launch.pipe(line("resume", 1, all=True))
    assert status == 0
    assert (work / "f").read_bytes() == held.data


def test_resume_on_start_continues_the_interrupted_but_not_the_paused(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    one, two = Held(server, "/one", seed=1), Held(server, "/two", seed=2)
    process = launch()
    one.started(process, work / "one", id="one")
    two.started(process, work / "two", id="two")
    process.call("pause", id="two")
    process.kill()
    one.release()
    host = launch("--resume-on-start")
    host.call("ping")
    poll(lambda: host.call("get", id="one")["download"]["state"] == "completed")
    assert host.call("get", id="two")["download"]["state"] == "paused"
    assert (work / "one").read_bytes() == one.data


@pytest.mark.parametrize("nested", [False, True], ids=["in params", "in initializationOptions"])
def test_initialize_can_continue_the_interrupted(
    launch: Launcher, server: ScriptedServer, work: Path, nested: bool
) -> None:
    held = Held(server)
    download_id = interrupted(launch, held, work / "f", signal.SIGKILL)
    held.release()
    host = launch()
    options = {"resumeInterrupted": True}
    host.call("initialize", **({"initializationOptions": options} if nested else options))
    poll(lambda: host.call("get", id=download_id)["download"]["state"] == "completed")
    assert (work / "f").read_bytes() == held.data


def test_progress_is_known_at_launch_before_any_network(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    process = launch()
    download_id = held.started(process, work / "f")["id"]
    process.signal(signal.SIGTERM)
    process.wait_exit()
    server.close()
    known = launch().call("get", id=download_id)["download"]
    assert (known["receivedBytes"], known["totalBytes"]) == (held.after, len(held.data))
    assert (known["state"], known["reason"]) == ("paused", "interrupted")


@pytest.mark.parametrize("method", ["get", "start", "list"])
def test_nobody_is_told_of_a_completion_before_it_is_recorded(
    launch: Launcher, server: ScriptedServer, work: Path, method: str
) -> None:
    """While the record is being written to disk, every request still reports an active download."""
    host = launch()
    for number in range(40):
        download_id, path = f"d{number}", str(work / f"f{number}")
        url = server.url(f"/{number}")
        server.add(f"/{number}", content(number, 20_000))
        host.call("start", url=url, path=path, id=download_id)
        while True:
            if method == "start":
                told = host.call("start", url=url, path=path, id=download_id)["download"]
            elif method == "get":
                told = host.call("get", id=download_id)["download"]
            else:
                told = host.call("list", ids=[download_id])["downloads"][0]
            if told["state"] == "completed":
                break
        with closing(sqlite3.connect(f"file:{launch.state}/towline.db?mode=ro", uri=True)) as database:
            recorded = database.execute("SELECT state FROM download WHERE id=?", (download_id,)).fetchone()
        assert recorded == ("completed",)
