"""towline-get whose standard streams are closed, full, or nobody's; signals while it starts."""

from __future__ import annotations

import os
import re
import signal
import threading
import time

import pytest
from scripted_server import Behaviour, ScriptedServer, content
from shell_support import GET, Shell, ended, eventually
from support import MIB

DATA = content(1, 3 * MIB)


@pytest.mark.parametrize(
    ("redirection", "status"),
    [
        ("2>&-", 0),
        ("2>/dev/full", 0),
        ("2> >(exec true)", 0),
        ("<&-", 0),
        (">&-", 1),
        (">/dev/full", 1),
        ("> >(exec true)", 1),
        (">&- 2>&-", 1),
        ("<&- >&- 2>&-", 1),
        (">/dev/full 2>/dev/full", 1),
    ],
)
def test_it_goes_on_where_it_can(shell: Shell, server: ScriptedServer, redirection: str, status: int) -> None:
    """What cannot be said does not keep the files from coming; a lost path is no success."""
    for name in "ab":
        server.add(f"/{name}", DATA, default=Behaviour(rate=12 * MIB))
    done = shell.run("bash", "-c", f"'{GET}' {server.url('/a')} {server.url('/b')} {redirection}")
    assert done.returncode == status, done.stderr
    for name in "ab":
        assert (shell.work / name).read_bytes() == DATA
    if status == 0:
        assert sorted(done.stdout.splitlines()) == [f"{shell.work}/a", f"{shell.work}/b"]
    else:
        assert done.stdout == ""
        if "2>" not in redirection:
            assert "standard output could not take all paths" in done.stderr
    assert "write error" not in done.stderr


def test_help_that_cannot_be_written_is_no_success(shell: Shell) -> None:
    for option in ("--help", "--version"):
        done = shell.run("bash", "-c", f"'{GET}' {option} >/dev/full")
        assert done.returncode == 1, option


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_to_all_while_it_starts(
    shell: Shell, server: ScriptedServer, number: signal.Signals
) -> None:
    """At several moments; nothing but the command's own words is ever said."""
    gate = threading.Event()
    for item in range(60):
        server.add(f"/{item}", DATA).then(Behaviour(hold_after=MIB, gate=gate))
    urls = [server.url(f"/{item}") for item in range(60)]
    for milliseconds in (60, 100, 150, 200, 300, 500):
        process = shell.start(GET, *urls)
        time.sleep(milliseconds / 1000)
        os.killpg(process.pid, number)
        done = ended(process)
        assert done.returncode == -number
        own = (
            ": started",
            " kept",
            "resumes it",
            " received before",
            "another process downloads it; waiting for that",
        )
        lines = [
            re.sub(r"( in 0:\d\d(, [\d.]+ [KMG]iB/s)?|: was finished before, 3.0 MiB)$", " kept", line)
            for line in done.stderr.splitlines()
        ]
        strange = [line for line in lines if not line.endswith(own)]
        assert strange == [], milliseconds
        eventually(lambda group=process.pid: not members(group), "the end of its processes")
    gate.set()


def members(group: int) -> list[str]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(entry)
    return found
