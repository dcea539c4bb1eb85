"""How protocol/recipes.md ends the service: nothing that was received is requested again."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from fixtures import Launcher
from recipes import Stage, program
from scripted_server import Behaviour, ScriptedServer, content
from support import poll, resume_start
from test_clients import DATA, HELD, Fetch
from towline_client import JSON


def test_the_conversations(launch: Launcher, server: ScriptedServer) -> None:
    gate = threading.Event()
    server.add("/disk.img", content(1, 4 << 20), default=Behaviour(hold_after=1 << 20, gate=gate))
    stage = Stage(launch, server)
    stage.start("quit.first", server.url("/disk.img"))
    stage.play("quit")
    stage.play("after-quit")
    process = stage.session("quit.second").process
    again = process.call("start", id="disk", url=server.url("/disk.img"), path="disk.img")
    assert again["resumed"] is True
    gate.set()


class Run(Fetch):
    """The program of the page, as a shell starts it: in a process group of its own."""

    def __init__(
        self, launch: Launcher, server: ScriptedServer, own_session: bool = True, patience: float = 2
    ) -> None:
        path = program("quit-program", launch.home)
        shown = path.read_text()
        assert "OWN_SESSION = True" in shown
        shown = shown.replace("OWN_SESSION = True", f"OWN_SESSION = {own_session}")
        path.write_text(shown.replace("timeout=2", f"timeout={patience}"))
        group = [
            sys.executable,
            "-c",
            "import os, sys; os.setpgid(0, 0); os.execv(sys.argv[1], sys.argv[1:])",
        ]
        super().__init__([*group, sys.executable, str(path)], launch.home, launch.binary, server)
        server.wait(lambda: server.body_sent("/f") >= HELD)
        (self.service,) = poll(self.services)
        self.other = launch("--app", "quit", state=None)
        self.wait_received()

    def wait_received(self) -> None:
        """The service has read what the server sent, and stored it."""
        poll(lambda: self.record()["receivedBytes"] == HELD)

    def record(self) -> JSON:
        found: JSON = self.other.call("get", id="file")["download"]
        return found

    def ctrl_c(self) -> tuple[int, list[str]]:
        assert os.getpgid(self.process.pid) == self.process.pid
        os.killpg(self.process.pid, signal.SIGINT)
        return self.end()

    def resumes_where_it_was(self) -> None:
        """The next process requests nothing again but what every resume compares."""
        record = self.record()
        found = {name: record[name] for name in ("state", "reason", "receivedBytes")}
        assert found == {"state": "paused", "reason": "interrupted", "receivedBytes": HELD}
        self.let_go()
        self.other.call("resume", id="file")
        assert self.other.call("wait", id="file")["download"]["state"] == "completed"
        assert self.path.read_bytes() == DATA
        assert [r.range_start for r in self.server.requests("/f")] == [0, resume_start(HELD)]


def test_ctrl_c_reaches_the_host_alone_if_the_service_has_its_own_session(
    launch: Launcher, server: ScriptedServer
) -> None:
    run = Run(launch, server)
    assert os.getpgid(run.service) != run.process.pid
    assert run.ctrl_c() == (0, ["interrupted", "the service exits with status 0"])
    run.resumes_where_it_was()


def test_ctrl_c_ends_also_a_service_in_the_group_of_the_host(
    launch: Launcher, server: ScriptedServer
) -> None:
    run = Run(launch, server, own_session=False)
    assert os.getpgid(run.service) == run.process.pid
    status, (first, last) = run.ctrl_c()
    assert (status, first) == (0, "interrupted")
    # It may read the host's `shutdown` before it takes the signal.
    assert last in ("the service exits with status 130", "the service exits with status 0")
    run.resumes_where_it_was()


def test_the_service_suspends_when_its_host_is_killed(launch: Launcher, server: ScriptedServer) -> None:
    run = Run(launch, server)
    run.process.kill()
    run.process.communicate()
    poll(lambda: run.record()["reason"] == "interrupted")
    run.resumes_where_it_was()


@pytest.mark.parametrize(("which", "status"), [("TERM", 143), ("INT", 130)])
def test_a_signal_to_the_service_suspends_and_answers_the_wait(
    launch: Launcher, server: ScriptedServer, which: str, status: int
) -> None:
    run = Run(launch, server)
    os.kill(run.service, signal.Signals[f"SIG{which}"])
    assert run.end() == (0, ["ended", f"the service exits with status {status}"])
    run.resumes_where_it_was()


def test_the_program_ends_a_service_that_does_not_answer(launch: Launcher, server: ScriptedServer) -> None:
    """A stopped process reads nothing, and receives SIGTERM only once it continues."""
    run = Run(launch, server, patience=0.2)
    os.kill(run.service, signal.SIGSTOP)
    assert run.ctrl_c() == (0, ["interrupted", "the service exits with status -9"])
    assert run.record()["reason"] == "interrupted"
    run.let_go()


def test_the_program_tries_sigterm_before_sigkill(tmp_path: Path, server: ScriptedServer) -> None:
    """The service is replaced by a program that reads nothing, and creates a file when it runs."""
    deaf = tmp_path / "deaf"
    deaf.write_text(f"#!/bin/sh\n: > {tmp_path}/runs\nexec sleep 60\n")
    deaf.chmod(0o755)
    path = program("quit-program", tmp_path)
    path.write_text(path.read_text().replace("timeout=2", "timeout=0.2"))
    run = Fetch([sys.executable, str(path)], tmp_path, deaf, server)
    poll((tmp_path / "runs").exists)
    run.process.send_signal(signal.SIGINT)
    assert run.end() == (0, ["interrupted", "the service exits with status -15"])


def test_the_program_ends_with_its_download(launch: Launcher, server: ScriptedServer) -> None:
    run = Run(launch, server)
    run.let_go()
    assert run.end() == (0, ["completed", "the service exits with status 0"])
    assert run.path.read_bytes() == DATA
