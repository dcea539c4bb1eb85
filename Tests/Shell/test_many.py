"""towline-get with hundreds of URLs, and what it says of those that take no time."""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time

import pytest
from scripted_server import Behaviour, ScriptedServer, content
from shell_support import GET, Fakes, Shell, Terminal, ended, eventually
from support import MIB

COUNT = 300


def test_a_path_comes_before_all_are_started(shell: Shell, server: ScriptedServer) -> None:
    """One request a URL and process each would take half a minute; the bound is generous."""
    for number in range(COUNT):
        server.add(f"/{number}", b"x" * 100)
    began = time.monotonic()
    process = shell.start(GET, *(server.url(f"/{number}") for number in range(COUNT)))
    assert process.stdout
    first = process.stdout.readline()
    taken = time.monotonic() - began
    done = ended(process)
    assert done.returncode == 0, done.stderr[-500:]
    paths = sorted([first, *done.stdout.splitlines(keepends=True)])
    assert paths == sorted(f"{shell.work}/{number}\n" for number in range(COUNT))
    assert done.stderr.endswith(f"\n{COUNT} of {COUNT} finished\n")
    assert taken < 5, f"the first path after {taken:.1f} s"


def test_one_jq_for_the_whole_run(shell: Shell, server: ScriptedServer, fakes: Fakes) -> None:
    for number in range(5):
        server.add(f"/é{number}".encode().decode("latin-1"), b"x")
        server.add(f"/{number}", b"x" * 100)
    jq = shutil.which("jq")
    fakes.add("jq", f'exec {jq} "$@"')
    shell.environment["PATH"] = f"{fakes.folder}:{shell.environment['PATH']}"
    done = shell.get("-d", "Téléchargements", *(server.url(f"/{number}") for number in range(5)))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5
    assert len(fakes.calls("jq")) == 1


def test_those_that_finished_are_not_called_interrupted(shell: Shell, server: ScriptedServer) -> None:
    """Downloads finish while others are started; one is held back by the server."""
    gate = threading.Event()
    server.add("/held", content(1, MIB)).then(Behaviour(hold_after=MIB // 2, gate=gate))
    for number in range(40):
        server.add(f"/{number}", b"x" * 100)
    process = shell.start(GET, server.url("/held"), *(server.url(f"/{number}") for number in range(40)))
    eventually(lambda: len(list(shell.work.glob("[0-9]*[0-9]"))) > 5, "some files")
    os.killpg(process.pid, signal.SIGINT)
    done = ended(process)
    gate.set()
    assert done.returncode == -signal.SIGINT
    interrupted = set(re.findall(r"^(\w+): interrupted", done.stderr, re.MULTILINE))
    finished = {path.name for path in shell.work.iterdir() if path.suffix != ".towline"}
    assert "held" in interrupted
    assert not interrupted & finished
    assert {line.rpartition("/")[2] for line in done.stdout.splitlines()} == finished


@pytest.mark.parametrize("names", [["a.bin"], ["a.bin", "b.bin"]])
def test_no_rate_is_shown_as_nothing(shell: Shell, server: ScriptedServer, names: list[str]) -> None:
    """Neither where it ends within its first interval, nor in the bars before that."""
    for name in names:
        server.add(f"/{name}", content(2, 3 * MIB), default=Behaviour(rate=6 * MIB))
    urls = [server.url(f"/{name}") for name in names]
    done = shell.get("-d", "lines", *urls)
    assert re.findall(r"3\.0 MiB in 0:0\d, \d+\.\d [KMG]iB/s$", done.stderr, re.MULTILINE), done.stderr
    terminal = Terminal(shell, 100, GET, "-d", "bars", *urls)
    assert terminal.finish() == 0
    for text in (done.stderr, terminal.raw):
        assert not re.search(r"(?<![\d.])0 B/s", text), text
