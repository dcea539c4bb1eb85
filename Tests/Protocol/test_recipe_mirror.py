"""The restart loop of protocol/recipes.md: its copy of the list is right after all that can happen to it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures import Launcher
from recipes import Stage, load, program
from scripted_server import Behaviour, ScriptedServer, content
from support import poll
from test_clients import Fetch
from towline_client import JSON, clean_environment

DATA = content(3, 4 << 20)
HELD = 1 << 20


class Copy:
    """The class of the page, and a second process that knows the truth."""

    def __init__(self, launch: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in list(os.environ):
            monkeypatch.delenv(name)
        for name, value in clean_environment(launch.home).items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(launch.work)
        self.mirror: Any = load("mirror")["Mirror"]([str(launch.binary), "--state-dir", str(launch.state)])
        self.mirror.open()
        self.other = launch()

    def truth(self) -> dict[str, JSON]:
        found: dict[str, JSON] = {}
        cursor = None
        while True:
            page = self.other.call("list", fields=["state", "reason", "revision"], cursor=cursor)
            found |= {download["id"]: download for download in page["downloads"]}
            cursor = page["nextCursor"]
            if cursor is None:
                return found

    def shown(self) -> dict[str, JSON]:
        return {
            name: {member: download[member] for member in ("id", "state", "reason", "revision")}
            for name, download in self.mirror.downloads.items()
        }

    def kill(self) -> None:
        self.mirror.process.kill()
        self.mirror.process.wait()
        self.close()

    def close(self) -> None:
        self.mirror.process.stdin.close()
        self.mirror.process.stdout.close()


@pytest.fixture
def copy(launch: Launcher, monkeypatch: pytest.MonkeyPatch) -> Iterator[Copy]:
    made = Copy(launch, monkeypatch)
    yield made
    made.kill()


def test_the_conversation(launch: Launcher, server: ScriptedServer) -> None:
    stage = Stage(launch, server)
    process = stage.session("list").process
    for name in "abc":
        params = {"id": name, "url": server.url("/f"), "path": name, "startPaused": True}
        process.call("start", events="none", **params)
    stage.play("first-list")


def test_it_reads_every_page_and_what_other_processes_change(copy: Copy, server: ScriptedServer) -> None:
    for number in range(60):
        params = {"id": f"d{number}", "url": server.url("/f"), "path": f"f{number}", "startPaused": True}
        copy.other.call("start", **params)
    copy.mirror.catch_up(copy.mirror.revision)
    assert len(copy.shown()) == 60
    assert copy.shown() == copy.truth()
    copy.other.call("cancel", ids=["d0", "d1"])
    copy.other.call("remove", id="d1")
    copy.mirror.catch_up(copy.mirror.revision)
    assert len(copy.shown()) == 59
    assert copy.shown() == copy.truth()
    call = copy.mirror.call

    def change_between_pages(method: str, **params: Any) -> JSON:
        page: JSON = call(method, **params)
        copy.other.call("cancel", id="d2")
        return page

    copy.mirror.call = change_between_pages
    copy.mirror.catch_up(None)
    copy.mirror.call = call
    copy.mirror.catch_up(copy.mirror.revision)
    assert copy.shown() == copy.truth()


def test_it_lists_all_if_its_revision_is_of_another_database(copy: Copy, server: ScriptedServer) -> None:
    copy.other.call("start", id="d", url=server.url("/f"), path="f", startPaused=True)
    copy.mirror.downloads["old"] = {"id": "old", "state": "paused", "reason": "user", "revision": 1}
    copy.mirror.revision, copy.mirror.is_behind = 999_999, True
    copy.mirror.follow()
    assert list(copy.shown()) == ["d"]
    assert copy.shown() == copy.truth()


def test_it_is_right_after_the_service_was_killed(copy: Copy, server: ScriptedServer) -> None:
    gate = threading.Event()
    server.add("/f", DATA, default=Behaviour(hold_after=HELD, gate=gate))
    copy.mirror.call("start", id="d", url=server.url("/f"), path="f")
    while copy.mirror.downloads["d"]["phase"] != "downloading":
        copy.mirror.follow()
    copy.mirror.catch_up(copy.mirror.revision)
    copy.kill()
    copy.mirror.open()
    gate.set()
    assert copy.shown() == copy.truth()
    assert copy.shown()["d"]["reason"] == "interrupted"


def test_it_is_right_after_events_were_lost(copy: Copy, server: ScriptedServer) -> None:
    gate = threading.Event()
    server.add("/f", b"x", default=Behaviour(hold_head=gate))
    for number in range(200):
        params = {"id": f"d{number}", "url": server.url("/f"), "path": f"f{number}", "startPaused": True}
        copy.mirror.call("start", metadata={"fill": "x" * 4000}, **params)
    lost: list[JSON] = []
    apply = copy.mirror.apply

    def watch(event: JSON) -> None:
        if event["method"] == "eventsLost":
            lost.append(event)
        apply(event)

    copy.mirror.apply = watch
    # Nobody reads while these are done: over 4 MiB of events.
    commands = ["resume", "pause"] * 4
    for number, method in enumerate(commands):
        line = f'{{"jsonrpc":"2.0","id":"x{number}","method":"{method}","params":{{"all":true}}}}\n'
        copy.mirror.process.stdin.write(line.encode())
    copy.mirror.process.stdin.write(
        b'{"jsonrpc":"2.0","id":"y","method":"cancel","params":{"ids":["d0"]}}\n'
        b'{"jsonrpc":"2.0","id":"z","method":"remove","params":{"id":"d0"}}\n'
    )
    copy.mirror.process.stdin.flush()
    deadline = time.monotonic() + 30
    while "d0" in copy.truth() and time.monotonic() < deadline:
        time.sleep(0.05)
    copy.mirror.call("ping")
    assert lost
    copy.mirror.follow()
    gate.set()
    assert len(copy.shown()) == 199
    assert copy.shown() == copy.truth()


@pytest.mark.timeout(60)
def test_the_program_finishes_its_download_though_the_service_is_killed(
    launch: Launcher, server: ScriptedServer
) -> None:
    command = [sys.executable, str(program("mirror", launch.home))]
    run = Fetch(command, launch.home, launch.binary, server)
    server.wait(lambda: server.body_sent("/f") >= HELD)
    other = launch("--app", "mirror", state=None)
    poll(lambda: other.call("get", id="file")["download"]["receivedBytes"] > HELD // 2)
    (service,) = run.services()
    os.kill(service, signal.SIGKILL)
    server.wait_requests("/f", 2)
    run.let_go()
    status, lines = run.end()
    assert (status, lines) == (0, ["the service has exited with status -9", "completed"])
    assert run.path.read_bytes() == DATA
    assert server.requests("/f")[1].range_start > 0


@pytest.mark.parametrize(("exit_status", "times"), [(1, 5), (73, 1)])
def test_the_program_gives_up_when_the_service_keeps_exiting(
    tmp_path: Path, server: ScriptedServer, exit_status: int, times: int
) -> None:
    dying = tmp_path / "dying"
    dying.write_text(f"#!/bin/sh\nexit {exit_status}\n")
    dying.chmod(0o755)
    run = Fetch([sys.executable, str(program("mirror", tmp_path))], tmp_path, dying, server)
    assert run.end() == (1, [f"the service has exited with status {exit_status}"] * times)
