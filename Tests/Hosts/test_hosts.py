"""Unmodified programs and libraries drive the service.

With `HOSTS=all` (set by `Tests/run --hosts`) every host runs, and one that is not installed fails. Otherwise
only the default hosts run, and one that is not installed is skipped.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from hosts import HOSTS, PROGRAMS, TOP, Host
from scripted_server import Behaviour, ScriptedServer, content
from support import poll, sha256
from towline_client import clean_environment

ALL = os.environ.get("HOSTS") == "all"
DATA = content(14, 16 << 20)
#: slow enough that a host sees three progress events and can be killed midway
SLOW = Behaviour(rate=2 << 20)
#: bytes that the server has sent when the host is killed
KILL_AFTER = 2 << 20
#: long, because some hosts need seconds to start on a busy machine
PATIENCE = 60


class Run:
    """A folder in which a host is started, with one destination and one state directory."""

    def __init__(self, host: Host, binary: Path, url: str, folder: Path) -> None:
        self.folder = folder
        self.binary = binary
        self.destination = folder / "disk.img"
        self.state = folder / "state"
        self.command = list(host.command)
        if host.build_command:
            self.command = [str(folder / host.name)]
            build = [*host.build_command, *self.command, str(PROGRAMS / f"{host.name}.go")]
            subprocess.run(build, check=True, timeout=300, env={**os.environ, "GOTOOLCHAIN": "local"})
        home = folder / "home"
        home.mkdir()
        self.environment = clean_environment(
            home,
            TOWLINE=str(binary),
            STATE=str(self.state),
            DESTINATION=str(self.destination),
            URL=url,
            TERM="dumb",
        )

    def start(self, mode: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{mode}.out").open("wb") as output:
            return subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
                env={**self.environment, "MODE": mode, "REPORT": str(self.folder / f"{mode}.report")},
            )

    def told(self, mode: str) -> str:
        files = [self.folder / f"{mode}.out", self.folder / f"{mode}.report"]
        return "".join(file.read_text(errors="replace") for file in files if file.exists())

    def facts(self, mode: str) -> dict[str, str]:
        """What the host reported: lines of a word and its value."""
        lines = [line.split() for line in self.told(mode).splitlines()]
        return {words[0]: words[1] for words in lines if len(words) == 2}

    def finish(self, mode: str) -> dict[str, str]:
        process = self.start(mode)
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            pytest.fail(f"the host did not exit:\n{self.told(mode)}")
        finally:
            self.end(process)
        assert status == 0, self.told(mode)
        return self.facts(mode)

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kills a host that hangs, and its services."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pid in self.services():
            os.kill(pid, signal.SIGKILL)

    def services(self) -> list[int]:
        """The processes of the service that use this state directory, whatever their parent is."""
        found = [pid for pid, words in command_lines() if str(self.state) in words]
        return [pid for pid in found if is_program(pid, self.binary)]


def command_lines() -> Iterator[tuple[int, list[str]]]:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            yield int(folder.name), (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")


def is_program(pid: int, binary: Path) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/exe").resolve() == binary
    return False


def refuse(host: Host, everything: bool) -> NoReturn:
    """Fails if every host was requested, else skips; both name the missing host."""
    reason = f"{host.name} needs {host.source}"
    pytest.fail(reason) if everything else pytest.skip(reason)


@pytest.fixture(params=[host for host in HOSTS if ALL or host.always], ids=lambda host: host.name)
def host(request: pytest.FixtureRequest, passed: dict[str, str]) -> Iterator[Host]:
    version = request.param.version()
    if version is None:
        refuse(request.param, everything=ALL)
    failed = request.session.testsfailed
    yield request.param
    if request.session.testsfailed == failed:
        passed[request.param.name] = version


@pytest.mark.timeout(400)
def test_a_host_downloads_pauses_resumes_and_ends(
    host: Host, binary: Path, server: ScriptedServer, tmp_path: Path
) -> None:
    server.add("/disk.img", DATA).then(SLOW)
    run = Run(host, binary, server.url("/disk.img"), tmp_path)
    facts = run.finish("full")
    assert int(facts.pop("progress")) >= 3
    assert facts.pop("continued") in ("queued", "active")
    # Without `shutdown`, the earlier error answer makes the exit status 1.
    status = "0" if host.framing == "header" else "1"
    expected = {"resumed": "false", "paused": "paused", "error": "1001", "ended": "completed", "exit": status}
    assert expected.items() <= facts.items(), run.told("full")
    assert sha256(run.destination) == sha256(DATA)
    first, second = server.requests("/disk.img")
    assert (first.range, second.status) == (None, 206)
    assert 0 < second.range_start < len(DATA)
    assert not run.services()


@pytest.mark.timeout(400)
def test_a_host_that_is_killed_takes_the_service_along_and_resumes(
    host: Host, binary: Path, server: ScriptedServer, tmp_path: Path
) -> None:
    server.add("/disk.img", DATA).then(SLOW)
    run = Run(host, binary, server.url("/disk.img"), tmp_path)
    process = run.start("hold")
    try:
        server.wait(lambda: server.body_sent("/disk.img") >= KILL_AFTER, PATIENCE)
        poll(lambda: run.facts("hold").get("resumed") == "false", PATIENCE, "the host's first answer")
        assert len(run.services()) == 1
        process.kill()
        process.wait()
        poll(lambda: not run.services(), PATIENCE, "the service to exit")
        assert not run.destination.exists()
        assert run.destination.with_name("disk.img.towline").stat().st_size > 0
    finally:
        run.end(process)
    facts = run.finish("again")
    assert {"resumed": "true", "ended": "completed"}.items() <= facts.items(), run.told("again")
    assert sha256(run.destination) == sha256(DATA)
    second = server.requests("/disk.img")[-1]
    assert second.status == 206
    assert 0 < second.range_start < len(DATA)
    assert second.if_range == '"v1"'
    assert not run.services()


def test_a_host_that_is_missing_fails_the_full_run_and_is_skipped_elsewhere() -> None:
    missing = replace(HOSTS[0], check_command=(), version_command=["no-such-program"])
    assert missing.version() is None
    with pytest.raises(pytest.fail.Exception, match=r"vim_lsp needs Debian: vim"):
        refuse(missing, everything=True)
    with pytest.raises(pytest.skip.Exception, match=r"vim_lsp needs Debian: vim"):
        refuse(missing, everything=False)


def test_every_host_stands_in_the_matrix() -> None:
    text = (TOP / "Tests/README.md").read_text()
    matrix = text.split("<!-- hosts -->")[1].split("<!-- end of hosts -->")[0]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in matrix.strip().splitlines()[2:]]
    assert [(c[0], c[2], c[3]) for c in cells] == [(h.title, h.framing, h.source) for h in HOSTS]
    assert all(cell[1][:1].isdigit() for cell in cells)


def test_every_program_is_of_a_host() -> None:
    assert sorted(path.stem for path in PROGRAMS.iterdir() if path.is_file()) == sorted(
        host.name for host in HOSTS
    )
