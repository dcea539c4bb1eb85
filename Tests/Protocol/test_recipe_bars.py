"""The bars of protocol/recipes.md: right at the end, never falling, and at the rate that was chosen."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from fixtures import Launcher
from recipes import load, program
from scripted_server import Behaviour, ScriptedServer, content
from towline_client import JSON, clean_environment

FILES = 97
SLOW = 1_200_000
#: writes what the service sends, with the time, to a file
TEE = """#!{python}
import subprocess, sys, time
service = subprocess.Popen(["{binary}", *sys.argv[1:]], stdout=subprocess.PIPE)
with open("{log}", "w") as log:
    for line in service.stdout:
        log.write(f"{{time.monotonic()}} {{line.decode()}}")
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
sys.exit(service.wait())
"""


class Drawn:
    """One run of the program: what it printed, and what the service sent."""

    def __init__(self, launch: Launcher, urls: list[str]) -> None:
        tools = launch.home / "bin"
        tools.mkdir(exist_ok=True)
        log = launch.home / "log"
        towline = tools / "towline"
        towline.write_text(TEE.format(python=sys.executable, binary=launch.binary, log=log))
        towline.chmod(0o755)
        environment = clean_environment(launch.home)
        environment["PATH"] = f"{tools}:{environment['PATH']}"
        run = subprocess.run(
            [sys.executable, str(program("bars", launch.home)), str(launch.work), *urls],
            env=environment,
            cwd=launch.work,
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
        )
        self.status = run.returncode
        *self.lines, self.counts = run.stdout.splitlines()
        pairs = [line.split(" ", 1) for line in log.read_text().splitlines()]
        self.messages = [(float(at), json.loads(text)) for at, text in pairs]

    def events(self, method: str) -> list[tuple[float, JSON]]:
        return [(at, m["params"]) for at, m in self.messages if m.get("method") == method]

    def numbers(self) -> list[tuple[int, int, float, int]]:
        """Of each line: files done, files, per cent, speed."""
        found = []
        for line in self.lines:
            match = re.fullmatch(r"(\d+) of (\d+) files, ([\d.]+) %, (\d+) B/s", line)
            assert match, line
            found.append((int(match[1]), int(match[2]), float(match[3]), int(match[4])))
        return found


@pytest.mark.timeout(60)
def test_a_hundred_files(launch: Launcher, server: ScriptedServer) -> None:
    paths = [f"/{number}.bin" for number in range(FILES)]
    for number, path in enumerate(paths):
        server.add(path, content(number, 20_000))
    server.add("/slow.bin", content(200, SLOW), default=Behaviour(rate=400_000))
    server.add("/unknown.bin", content(201, SLOW), default=Behaviour(rate=400_000, no_length=True))
    server.add("/missing.bin", b"", default=Behaviour(status=404))
    names = ["/slow.bin", "/unknown.bin", "/missing.bin", *paths]
    drawn = Drawn(launch, [server.url(path) for path in names])
    assert (drawn.status, drawn.counts) == (1, "{'failed': 1, 'completed': 99}")
    numbers = drawn.numbers()
    assert numbers[-1][:3] == (100, 100, 100.0)
    shares = [share for _, files, share, _ in numbers if files == 100]
    assert shares == sorted(shares)
    # While only the slow ones run, the bar moves by `progress` alone.
    assert len({share for done, _, share, _ in numbers if done == 98}) >= 3
    assert max(speed for *_, speed in numbers) > 0
    # Each event once, at the chosen rate.
    changes = Counter(params["seq"] for _, params in drawn.events("changed"))
    assert set(changes.values()) == {1}
    times = [at for at, params in drawn.events("progress") if (params["path"] or "").endswith("/slow.bin")]
    assert len(times) >= 3
    assert (times[-1] - times[0]) / (len(times) - 1) > 0.4
    assert len(list(launch.work.iterdir())) == 99


def test_all_files_that_complete_are_a_success(launch: Launcher, server: ScriptedServer) -> None:
    server.add("/a.bin", b"a")
    drawn = Drawn(launch, [server.url("/a.bin")])
    assert (drawn.status, drawn.counts) == (0, "{'completed': 1}")
    assert drawn.lines[-1].startswith("1 of 1 files, 100.0 %")
    again = Drawn(launch, [server.url("/a.bin")])
    assert (again.status, again.counts) == (0, "{'completed': 1}")
    assert again.lines[-1].startswith("1 of 1 files, 100.0 %")
    assert len(server.requests("/a.bin")) == 1


def test_a_total_that_is_null_counts_as_nothing_yet() -> None:
    bars: Any = load("bars")["Bars"]
    assert bars.part(None, {"receivedBytes": 5, "totalBytes": None}) == 0
    assert bars.part(None, {"receivedBytes": 5, "totalBytes": 20}) == 0.25
