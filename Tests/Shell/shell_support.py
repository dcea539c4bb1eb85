"""Runs the shell client as people do: by its name, in a pipe, in a script, on a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from towline_client import clean_environment

TOP = Path(__file__).resolve().parents[2]
CLIENT = TOP / "clients/shell"
GET = CLIENT / "towline-get"
LIBRARY = CLIENT / "towline.sh"
TIMEOUT = 60.0


class Shell:
    """One person's home, working directory and processes."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.environment = clean_environment(self.home, TOWLINE=str(binary))
        self._processes: list[subprocess.Popen[str]] = []

    def start(self, *words: str | Path, **options: object) -> subprocess.Popen[str]:
        """Starts a command in a process group of its own."""
        process = subprocess.Popen(
            [str(word) for word in words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=self.work,
            start_new_session=True,
            **options,
        )
        self._processes.append(process)
        return process

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return ended(self.start(*words))

    def get(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return self.run(GET, *words)

    def bash(self, script: str) -> subprocess.CompletedProcess[str]:
        """Runs a script that has sourced the library, strictly."""
        return self.run("bash", "-c", f"set -euo pipefail\nsource {LIBRARY}\n{script}")

    def close(self) -> None:
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            process.wait()


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Reads a process to its end."""
    output, errors = process.communicate(timeout=TIMEOUT)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def service_of(process: subprocess.Popen[str]) -> int:
    """The process id of the service that a script has started."""

    def search(parent: int) -> int | None:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        for child in map(int, children):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{child}/comm").read_text().strip() == "towline":
                    return child
                if found := search(child):
                    return found
        return None

    return eventually(lambda: search(process.pid), "the service")


def eventually(condition: Callable[[], object], what: str, timeout: float = 20.0) -> object:
    """Polls for what no event reports."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {timeout} s for {what}"
        time.sleep(0.02)
    return value


def exists(process_id: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


class Screen:
    """The little of a terminal that progress bars use; anything else they send is an error."""

    def __init__(self, columns: int, rows: int = 24) -> None:
        self.columns = columns
        self.rows = rows
        self.lines: list[str] = [""]
        self.row = 0
        self.column = 0
        #: lines that ran over the right edge
        self.wrapped: list[str] = []
        self._pending = ""

    def feed(self, data: str) -> None:
        self._pending += data
        while self._pending:
            match = re.match(r"\x1b\[(\d*)([AJK])|[^\x1b]", self._pending)
            if match is None:
                assert re.match(r"\x1b(\[\d*)?$", self._pending), f"not known here: {self._pending[:20]!r}"
                return
            self._pending = self._pending[match.end() :]
            self._obey(match.group(0), match.group(1), match.group(2))

    def _obey(self, text: str, number: str | None, command: str | None) -> None:
        if command == "A":
            self.row = max(0, self.row - int(number or 1))
        elif command == "K":
            self.lines[self.row] = self.lines[self.row][: self.column]
        elif command == "J":
            self.lines[self.row] = self.lines[self.row][: self.column]
            del self.lines[self.row + 1 :]
        elif text == "\r":
            self.column = 0
        elif text == "\n":
            self._down()
        else:
            assert text.isprintable(), f"not printable: {text!r}"
            if self.column == self.columns:
                self.wrapped.append(self.lines[self.row])
                self._down()
                self.column = 0
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + text + line[self.column + 1 :]
            self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, shell: Shell, columns: int, *words: str | Path, **environment: str) -> None:
        self.screen = Screen(columns)
        self.raw = ""
        self._master, slave = pty.openpty()
        self.resize(columns)
        self.process = subprocess.Popen(
            [str(word) for word in words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**shell.environment, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment},
            cwd=shell.work,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        shell._processes.append(self.process)

    def resize(self, columns: int, rows: int = 24) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.columns = columns

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def read(self, seconds: float) -> bool:
        """Reads what is there; false at the end."""
        if not select.select([self._master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._master, 65_536)
        except OSError:
            return False
        self.raw += data.decode()
        self.screen.feed(data.decode())
        return bool(data)

    def read_until(self, condition: Callable[[str], object], what: str, timeout: float = 20.0) -> None:
        deadline = time.monotonic() + timeout
        while not condition(self.screen.text):
            alive = self.read(0.1)
            assert alive or condition(self.screen.text), f"ended before {what}:\n{self.screen.text}"
            assert time.monotonic() < deadline, f"waited for {what}:\n{self.screen.text}"

    def finish(self) -> int:
        deadline = time.monotonic() + TIMEOUT
        while self.read(0.1):
            assert time.monotonic() < deadline, self.screen.text
        status = self.process.wait(TIMEOUT)
        os.close(self._master)
        return status


class Fakes:
    """Programs that only write down how they were called, first in PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "fakes"
        self.folder.mkdir()
        self._log = folder / "calls"

    def add(self, name: str, body: str = "") -> None:
        program = self.folder / name
        program.write_text(f'#!/bin/bash\nprintf "%s\\n" "{name} $*" >>"{self._log}"\n{body}\n')
        program.chmod(0o755)

    def link(self, *names: str) -> None:
        """Real programs, for a PATH that has nothing else."""
        for name in names:
            found = shutil.which(name)
            assert found, name
            (self.folder / name).symlink_to(found)

    def calls(self, name: str) -> list[str]:
        if not self._log.exists():
            return []
        return [line for line in self._log.read_text().splitlines() if line.split()[0] == name]


@pytest.fixture
def shell(binary: Path, tmp_path: Path) -> Iterator[Shell]:
    opened = Shell(binary, tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def fakes(tmp_path: Path) -> Fakes:
    return Fakes(tmp_path)
