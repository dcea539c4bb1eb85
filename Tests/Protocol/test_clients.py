"""The clients in protocol/README.md and protocol/examples do what the page promises."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import PROTOCOL, blocks
from scripted_server import Behaviour, ScriptedServer, content
from towline_client import clean_environment

DATA = content(3, 4 << 20)
HELD = 1 << 20
TIMEOUT = 60


class Fetch:
    """One run of a client that downloads the held file."""

    def __init__(
        self,
        command: list[str],
        folder: Path,
        binary: Path,
        server: ScriptedServer,
        behaviour: Behaviour | None = None,
    ) -> None:
        self.server = server
        self.gate = threading.Event()
        server.add("/f", DATA, default=behaviour or Behaviour(hold_after=HELD, gate=self.gate))
        self.path = folder / "f"
        tools = folder / "bin"
        tools.mkdir()
        (tools / "towline").symlink_to(binary)
        environment = clean_environment(folder)
        environment["PATH"] = f"{tools}:{environment['PATH']}"
        self.process = subprocess.Popen(
            [*command, server.url("/f"), "f"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def services(self) -> list[int]:
        """The process ids of the services that the client has started and not yet waited for."""
        found = []
        for status in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                # The name in parentheses may contain any characters.
                state, parent = status.read_text().rpartition(")")[2].split()[:2]
                if int(parent) == self.process.pid and state != "Z":
                    found.append(int(status.parent.name))
        return found

    def let_go(self) -> None:
        self.server.resources["/f"].default = Behaviour()
        self.gate.set()

    def read_until(self, word: str) -> list[str]:
        """The lines of output up to the one that begins with the word."""
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith(word):
                return lines
        raise AssertionError(f"the output ends without {word!r}: {lines}")

    def end(self) -> tuple[int, list[str]]:
        output, _ = self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode, output.splitlines()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program from the page, saved as the page says."""
    (shown,) = [block for block in blocks() if block.language == "python"]
    path = tmp_path / "fetch.py"
    path.write_text(shown.text)
    return path


@pytest.fixture
def fetch(tmp_path: Path, binary: Path, server: ScriptedServer, program: Path) -> Iterator[Fetch]:
    made = Fetch([sys.executable, str(program)], tmp_path, binary, server)
    yield made
    made.let_go()
    made.process.kill()
    made.process.communicate()


@pytest.mark.timeout(TIMEOUT)
def test_the_program_on_the_page_goes_on_after_a_kill(fetch: Fetch) -> None:
    fetch.server.wait(lambda: fetch.server.body_sent("/f") >= HELD)
    assert fetch.process.stdout is not None
    line = fetch.process.stdout.readline()
    assert line.endswith(f"of {len(DATA)}\n"), line
    (service,) = fetch.services()
    os.kill(service, signal.SIGKILL)
    fetch.server.wait_requests("/f", 2)
    fetch.let_go()
    status, lines = fetch.end()
    assert (status, lines[-1]) == (0, f"completed {fetch.path}")
    assert fetch.path.read_bytes() == DATA
    # The received bytes were not fetched again.
    assert fetch.server.requests("/f")[1].range_start > 0


@pytest.mark.timeout(TIMEOUT)
def test_the_program_on_the_page_ends_when_the_download_does(fetch: Fetch) -> None:
    fetch.let_go()
    status, lines = fetch.end()
    assert (status, lines[-1]) == (0, f"completed {fetch.path}")
    assert fetch.path.read_bytes() == DATA
    assert fetch.services() == []


@pytest.mark.timeout(TIMEOUT)
def test_the_program_on_the_page_gives_up_when_the_service_keeps_dying(
    tmp_path: Path, program: Path, server: ScriptedServer
) -> None:
    dying = Fetch([sys.executable, str(program)], tmp_path, Path("/bin/false"), server)
    status, lines = dying.end()
    assert (status, lines) == (1, [])


@pytest.mark.timeout(TIMEOUT)
def test_the_program_on_the_page_tells_of_failures(
    tmp_path: Path, program: Path, binary: Path, server: ScriptedServer
) -> None:
    missing = Behaviour(status=404)
    failing = Fetch([sys.executable, str(program)], tmp_path, binary, server, missing)
    status, lines = failing.end()
    assert (status, lines) == (1, ["failed The server answered 404."])


def test_the_program_on_the_page_is_short(program: Path) -> None:
    assert len([line for line in program.read_text().splitlines() if line]) <= 80


@pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")
@pytest.mark.timeout(TIMEOUT)
def test_the_perl_client_pauses_resumes_and_goes_on_after_a_kill(
    tmp_path: Path, binary: Path, server: ScriptedServer
) -> None:
    client = Fetch(["perl", str(PROTOCOL / "examples" / "client.pl")], tmp_path, binary, server)
    lines = client.read_until("going on")
    client.let_go()
    status, rest = client.end()
    assert status == 0, lines + rest
    assert rest[-1] == f"completed: {client.path}"
    assert client.path.read_bytes() == DATA
    assert re.fullmatch("going on with [1-9][0-9]* bytes", lines[-1])
    assert "paused user" in lines
    assert any(line.endswith(f"of {len(DATA)} bytes") for line in lines)
    assert all(r.range_start > 0 for r in server.requests("/f")[1:])
