"""Every example is run as a person would run it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PACKAGE
from loopback import Server, content
from test_cli import asked

EXAMPLES = PACKAGE / "examples"


class Examples:
    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self.directory, self.environment = directory, environment
        directory.mkdir()

    def begin(self, name: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(EXAMPLES / name), *arguments],
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, name: str, *arguments: str, status: int = 0) -> tuple[str, str]:
        program = self.begin(name, *arguments)
        output, errors = program.communicate(timeout=30)
        assert program.returncode == status, errors
        return output, errors


@pytest.fixture
def examples(tmp_path: Path, environment: dict[str, str]) -> Examples:
    return Examples(tmp_path / "here", environment)


def service_of(program: subprocess.Popen[str]) -> int:
    """The process that the program's client spawned."""
    for thread in Path(f"/proc/{program.pid}/task").iterdir():
        for child in (thread / "children").read_text().split():
            return int(child)
    raise AssertionError("the program has no child")


def test_one_file(examples: Examples, server: Server) -> None:
    held = server.add("f.bin", content(1, 3_000_000), hold_at=2_000_000)
    program = examples.begin("one_file.py", server.url("f.bin"))
    asked(held)
    program.send_signal(signal.SIGINT)
    program.communicate(timeout=20)
    assert program.returncode == 130
    held.release()
    output, _ = examples.run("one_file.py", server.url("f.bin"))
    assert output.endswith("f.bin: 3,000,000 bytes\n")
    assert held.ranges[1] is not None
    assert (examples.directory / "f.bin").read_bytes() == held.body


def test_a_folder_of_urls(examples: Examples, server: Server) -> None:
    names = [f"f{n}" for n in range(12)]
    for name in names:
        server.add(name, name.encode())
    urls = [server.url(name) for name in names]
    (examples.directory / "urls.txt").write_text("# my files\n\n" + "\n".join(urls) + "\n")
    output, _ = examples.run("folder.py", "urls.txt", "files")
    assert output.splitlines()[-1] == "12 of 12 finished"
    for name in names:
        assert (examples.directory / "files" / name).read_text() == name
    (examples.directory / "urls.txt").write_text(f"{server.url('missing')}\nftp://h/f\n{urls[0]}\n")
    output, errors = examples.run("folder.py", "urls.txt", "more", status=1)
    assert output.splitlines()[-1] == "1 of 3 finished"
    assert "httpStatus" in errors
    assert "unsupportedUrl" in errors


def test_after_a_crash(examples: Examples, server: Server) -> None:
    held = server.add("f.bin", content(2, 3_000_000), hold_at=2_000_000)
    program = examples.begin("after_a_crash.py", ".", server.url("f.bin"))
    asked(held)
    program.kill()
    program.communicate(timeout=20)

    held.held = False
    program = examples.begin("after_a_crash.py", ".")
    assert program.stdout is not None
    line = program.stdout.readline()
    assert re.match(r"resuming http.*/f.bin at byte [\d,]+\n", line)
    asked(held)
    os.kill(service_of(program), signal.SIGKILL)
    assert program.stdout.readline() == "the service crashed; 1 downloads continue in a new one\n"
    held.release()
    output, errors = program.communicate(timeout=20)
    assert (program.returncode, output) == (0, f"completed {examples.directory / 'f.bin'}\n"), errors
    assert (examples.directory / "f.bin").read_bytes() == held.body
    assert examples.run("after_a_crash.py", ".") == ("", "")


def test_verify_a_checksum(examples: Examples, server: Server) -> None:
    good, bad = content(3, 10_000), content(4, 10_000)
    server.add("good.iso", good)
    server.add("bad.iso", bad)
    right, wrong = hashlib.sha256(good).hexdigest(), hashlib.sha256(b"other").hexdigest()
    server.add("SHA256SUMS", f"{right}  good.iso\n{wrong} *bad.iso\n".encode())
    sums = server.url("SHA256SUMS")
    output, _ = examples.run("verify_checksum.py", sums, "good.iso")
    assert output == f"{examples.directory / 'good.iso'}: OK\n"
    output, _ = examples.run("verify_checksum.py", sums, "bad.iso", "unknown.iso", status=1)
    assert output == f"bad.iso: FAILED\nunknown.iso: not in {sums}\n"
    assert [path.name for path in examples.directory.iterdir()] == ["good.iso"]


def test_every_example_runs_twice(examples: Examples, server: Server) -> None:
    body = content(5, 10_000)
    server.add("f.iso", body)
    server.add("SHA256SUMS", f"{hashlib.sha256(body).hexdigest()}  f.iso\n".encode())
    (examples.directory / "urls.txt").write_text(server.url("f.iso"))
    for number, arguments in enumerate(
        [
            ("one_file.py", server.url("f.iso")),
            ("one_file.py", server.url("f.iso"), "1.iso"),
            ("folder.py", "urls.txt", "2"),
            ("after_a_crash.py", ".", server.url("f.iso")),
            ("verify_checksum.py", server.url("SHA256SUMS"), "f.iso"),
        ]
    ):
        for _ in range(2):
            output, errors = examples.run(*arguments)
            assert errors == "", (number, output)
    assert {path.read_bytes() for path in examples.directory.rglob("*.iso")} == {body}


def test_what_cannot_be_a_destination_is_said_plainly(examples: Examples, server: Server) -> None:
    server.add("f", b"abc")
    digest = hashlib.sha256(b"abc").hexdigest()
    server.add("SUMS", f"{digest}  d\n{digest}  no/f\n".encode())
    (examples.directory / "d").mkdir()
    (examples.directory / "urls.txt").write_text(server.url("f"))
    for arguments, words in (
        (("one_file.py", server.url("f"), "d"), "d is a directory"),
        (("one_file.py", server.url("f"), "no/f"), "directory"),
        (("folder.py", "urls.txt", "urls.txt"), "File exists"),
        (("folder.py", "no.txt", "d"), "No such file"),
        (("after_a_crash.py", "no", server.url("f")), "directory"),
        (("verify_checksum.py", server.url("SUMS"), "d"), "d is a directory"),
        (("verify_checksum.py", server.url("SUMS"), "no/f"), "directory"),
        (("verify_checksum.py", server.url("no"), "f"), "404"),
    ):
        output, errors = examples.run(*arguments, status=1)
        assert words in output + errors, arguments
        assert "Traceback" not in errors


# The graphical host


def python_with_tk() -> str:
    for python in (sys.executable, "/usr/bin/python3"):
        if (
            shutil.which(python)
            and subprocess.run([python, "-c", "import tkinter"], capture_output=True).returncode == 0
        ):
            return python
    pytest.skip("no Python with tkinter: apt-get install python3-tk")


@pytest.fixture
def screen() -> Iterator[str]:
    """A display of its own."""
    if shutil.which("Xvfb") is None:
        pytest.skip("no Xvfb: apt-get install xvfb")
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as told:
        number = told.readline().strip()
    yield f":{number}"
    server.terminate()
    server.wait(10)


class Desktop:
    """The graphical host under drive_desktop.py."""

    def __init__(self, python: str, examples: Examples, display: str, screenshot: Path) -> None:
        paths = os.pathsep.join([examples.environment["PYTHONPATH"], str(EXAMPLES)])
        self.program = subprocess.Popen(
            [python, str(PACKAGE / "tests/drive_desktop.py"), str(examples.directory), str(screenshot)],
            env={**examples.environment, "PYTHONPATH": paths, "DISPLAY": display},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, command: str) -> str:
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        self.program.stdin.write(command + "\n")
        self.program.stdin.flush()
        return self.program.stdout.readline().strip()

    def close(self) -> int:
        self.program.communicate(timeout=20)
        return self.program.returncode


def test_the_graphical_host(examples: Examples, server: Server, screen: str, tmp_path: Path) -> None:
    """Rows show the share, and which of pause, resume and cancel can be clicked."""
    large = server.add("large.iso", content(5, 3_000_000), hold_at=1_500_000)
    server.add("small.zip", b"small")
    python = python_with_tk()
    do = Desktop(python, examples, screen, tmp_path / "screen.png")
    assert do(f"add {server.url('large.iso')}") == "added"
    assert do(f"add {server.url('small.zip')}") == "added"
    assert "ftp" in do("add ftp://h/f")
    assert do("received large.iso 0.5") == "0.50"
    assert do("state small.zip completed") == "1.00 ---"
    assert do("pause large.iso") == "clicked"
    assert do("state large.iso paused") == "0.50 -xx"
    if do("screen") == "taken":
        assert (tmp_path / "screen.png").stat().st_size > 2000
    large.release()
    assert do("resume large.iso") == "clicked"
    assert do("state large.iso completed") == "1.00 ---"
    assert do.close() == 0
    assert (examples.directory / "large.iso").read_bytes() == large.body

    held = server.add("held.iso", content(6, 3_000_000), hold_at=1_500_000)
    do = Desktop(python, examples, screen, tmp_path / "screen.png")
    assert do("state large.iso completed") == "1.00 ---"
    do(f"add {server.url('held.iso')}")
    do("received held.iso 0.5")
    assert do.close() == 0

    held.held = False
    do = Desktop(python, examples, screen, tmp_path / "screen.png")
    asked(held)
    assert do("state held.iso active").endswith(" x-x"), "what ran when the window was closed goes on"
    assert do("cancel held.iso") == "clicked"
    assert do("state held.iso canceled").endswith(" ---")
    assert do.close() == 0
    assert sorted(path.name for path in examples.directory.iterdir()) == ["large.iso", "small.zip"]
