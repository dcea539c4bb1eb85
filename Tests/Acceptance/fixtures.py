"""Fixtures for the acceptance tests and the transcripts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from nginx_server import Nginx, missing_programs, start_nginx
from scripted_server import ScriptedServer
from towline_client import Towline, clean_environment

TOP = Path(__file__).resolve().parents[2]
#: Where builds put the binary. The release build that users get comes first.
BUILDS = (".build-release/release/towline", ".build/release/towline", ".build/debug/towline")


def find_binary() -> Path | None:
    named = os.environ.get("TOWLINE")
    candidates = [Path(named)] if named else [TOP / path for path in BUILDS]
    return next((path.resolve() for path in candidates if os.access(path, os.X_OK)), None)


@pytest.fixture(scope="session")
def binary() -> Path:
    found = find_binary()
    if found is None:
        pytest.exit("no towline binary: run Tests/run, or set TOWLINE to one", returncode=3)
    return found


class Launcher:
    """Starts processes of the service that share one home directory, and checks all of them at the end."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.binary = binary
        self.home = folder / "home"
        self.work = folder / "work"
        self.state = folder / "state"
        self.home.mkdir()
        self.work.mkdir()
        self.processes: list[Towline] = []

    def __call__(
        self,
        *args: str,
        state: Path | str | None = "",
        env: dict[str, str] | None = None,
        framing: str = "line",
        read_at_once: bool = True,
        ignore: Sequence[signal.Signals] = (),
        prefix: Sequence[str] = (),
        cwd: Path | None = None,
    ) -> Towline:
        """Starts one process; without --state-dir if `state` is None."""
        directory = self.state if state == "" else state
        process = Towline(
            self.binary,
            [*([] if directory is None else ["--state-dir", str(directory)]), *args],
            env=clean_environment(self.home, **(env or {})),
            cwd=cwd or self.work,
            framing=framing,
            read_at_once=read_at_once,
            ignore=ignore,
            prefix=prefix,
        )
        self.processes.append(process)
        return process

    def pipe(
        self, *lines: str, args: Sequence[str] = (), timeout: float = 30, **options: Any
    ) -> tuple[Towline, int]:
        """Writes the lines, closes stdin and waits for the exit, as a shell pipeline does."""
        process = self(*args, **options)
        # A process that refuses to start closes its stdin before everything is written.
        try:
            process.raw("".join(line + "\n" for line in lines))
            process.close_stdin()
        except BrokenPipeError:
            pass
        return process, process.wait_exit(timeout)

    def run(self, *args: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Runs the binary with only these arguments and no input."""
        return subprocess.run(
            [str(self.binary), *args],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            env=clean_environment(self.home),
            cwd=self.work,
            **options,
        )


@cache
def declared_errors() -> dict[str, set[tuple[int, str]]]:
    """The errors that openrpc.json lists for each method, as pairs of code and kind."""
    document = json.loads((TOP / "protocol" / "openrpc.json").read_text())
    return {m["name"]: {(e["code"], e["message"]) for e in m["errors"]} for m in document["methods"]}


def undeclared_errors(process: Towline) -> list[str]:
    declared = declared_errors()
    return [
        f"{method} was answered with {code} {kind}, which openrpc.json does not list"
        for method, code, kind in process.errors
        if method in declared and (code, kind) not in declared[method]
    ]


@pytest.fixture
def launch(binary: Path, tmp_path: Path) -> Iterator[Launcher]:
    launcher = Launcher(binary, tmp_path)
    yield launcher
    for process in launcher.processes:
        process.finish()
    violations = [text for process in launcher.processes for text in process.violations]
    violations += [text for process in launcher.processes for text in undeclared_errors(process)]
    assert not violations, "the output broke these rules:\n" + "\n".join(violations)


@pytest.fixture
def host(launch: Launcher) -> Towline:
    """One process on a fresh state directory."""
    return launch()


@pytest.fixture
def work(launch: Launcher) -> Path:
    """The working directory of the processes."""
    return launch.work


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


@pytest.fixture
def other_server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


class WallClock:
    """The clocks that processes started with `environment` see."""

    def __init__(self, shim: Path, folder: Path) -> None:
        self.file = folder / "offset"
        self.file.write_bytes(bytes(24))
        self.environment = {"LD_PRELOAD": str(shim), "WALL_CLOCK_FILE": str(self.file)}

    def jump(self, seconds: int) -> None:
        """Sets the time of day to this many seconds from the real time."""
        self._set(0, seconds)

    def pass_by(self, seconds: int) -> None:
        """Advances the monotonic clocks by this many seconds."""
        self._set(1, seconds)

    def suspend(self, seconds: int) -> None:
        """Simulates that the system was suspended for this many seconds."""
        self._set(2, seconds)

    def _set(self, index: int, seconds: int) -> None:
        # Written in place, because the processes map this file.
        with self.file.open("r+b") as file:
            file.seek(8 * index)
            file.write(struct.pack("<q", seconds))


def compiled(name: str, folder: Path) -> Path:
    """A library to preload, made from the C source of that name beside this file."""
    compiler = shutil.which("cc") or shutil.which("clang") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = folder / f"{name}.so"
    source = Path(__file__).with_name(f"{name}.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture(scope="session")
def clock_shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("wall_clock", tmp_path_factory.mktemp("clock"))


@pytest.fixture(scope="session")
def slow_commits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Preloaded, it makes flushes take longer: see its source."""
    return compiled("slow_commits", tmp_path_factory.mktemp("commits"))


@pytest.fixture
def clock(clock_shim: Path, tmp_path: Path) -> WallClock:
    return WallClock(clock_shim, tmp_path)


@pytest.fixture(scope="session")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    missing = missing_programs()
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}")
    running = start_nginx(tmp_path_factory.mktemp("nginx"))
    yield running
    running.close()
