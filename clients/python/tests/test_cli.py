"""The command, run as a program."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Optional

import pytest
from loopback import Resource, Server, content

from towline import Towline, text


class Runner:
    """Runs `python -m towline` in a directory of its own."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self.directory = directory
        self.environment = environment
        directory.mkdir()

    def __call__(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == status, done.stderr
        return done

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.directory,
            env=self.environment,
            stdout=pipe,
            stderr=pipe,
            text=True,
            start_new_session=True,
        )

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "towline", *arguments]


@pytest.fixture
def run(tmp_path: Path, environment: dict[str, str]) -> Runner:
    return Runner(tmp_path / "here", environment)


def asked(resource: Resource) -> None:
    """Returns when the server has sent what it may, and the client had time to take it."""
    deadline = time.monotonic() + 20
    while not resource.held and time.monotonic() < deadline:
        time.sleep(0.01)
    assert resource.held


def test_several_files_are_downloaded_and_their_paths_printed(run: Runner, server: Server) -> None:
    bodies = {f"f{n}": content(n, 50_000) for n in range(3)}
    for name, body in bodies.items():
        server.add(name, body)
    done = run("get", *(server.url(name) for name in bodies))
    assert sorted(done.stdout.split()) == [str(run.directory / name) for name in bodies]
    assert done.stderr.count("done ") == 3
    assert "\x1b" not in done.stderr
    for name, body in bodies.items():
        assert (run.directory / name).read_bytes() == body


def test_one_failure_is_the_status_of_all(run: Runner, server: Server) -> None:
    server.add("good", b"good")
    done = run("get", "-q", server.url("good"), server.url("missing"), "ftp://h/f", status=1)
    assert done.stdout.split() == [str(run.directory / "good")]
    assert "httpStatus" in done.stderr
    assert "unsupportedUrl" in done.stderr
    assert "done" not in done.stderr


def test_the_proxy_of_the_environment_is_used_when_asked_for(run: Runner, server: Server) -> None:
    server.add("f", b"x")
    # The server itself, which knows no whole URL.
    run.environment["http_proxy"] = server.url("")
    assert "httpStatus" in run("get", "--proxy-from-environment", server.url("f"), status=1).stderr
    run("get", server.url("f"), "-o", "out")


def test_the_same_command_after_the_end_finds_the_files_there(run: Runner, server: Server) -> None:
    first = server.add("f", b"x" * 1000)
    command = ("get", server.url("f"), "-o", "out")
    assert run(*command).stdout == run(*command).stdout == f"{run.directory / 'out'}\n"
    assert len(first.ranges) == 1
    (run.directory / "out").unlink()
    run(*command)
    assert len(first.ranges) == 2
    assert (run.directory / "out").read_bytes() == first.body


def test_the_directory_and_its_parents_are_made(run: Runner, server: Server) -> None:
    server.add("f", b"x")
    assert run("get", "-d", "new/deeper", server.url("f")).stdout == f"{run.directory / 'new/deeper/f'}\n"
    assert "directory" in run("get", "-o", "other/f", server.url("f"), status=1).stderr


def test_a_file_of_others_is_left_alone_unless_asked_for(run: Runner, server: Server) -> None:
    server.add("f", b"new")
    (run.directory / "f").write_bytes(b"old")
    assert "destinationConflict" in run("get", server.url("f"), status=1).stderr
    run("get", "--if-exists", "rename", server.url("f"))
    assert (run.directory / "f").read_bytes() == b"old"
    run("get", "--if-exists", "overwrite", server.url("f"), "-o", "f")
    assert (run.directory / "f").read_bytes() == b"new"


def test_checksums_are_checked(run: Runner, server: Server) -> None:
    body = content(1, 1000)
    server.add("f", body)
    digest = hashlib.sha256(body).hexdigest()
    run("get", "--checksum", f"sha256:{digest}", server.url("f"), "-o", "good")
    wrong = digest[::-1]
    assert (
        "checksumMismatch" in run("get", "--checksum", wrong, server.url("f"), "-o", "bad", status=1).stderr
    )
    assert not (run.directory / "bad").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("get",),
        ("get", "-o", "f", "-d", "d", "http://h/f"),
        ("get", "-o", "f", "http://h/f", "http://h/g"),
        ("get", "--checksum", "sha256:xyz", "http://h/f"),
        ("get", "-H", "no-colon", "http://h/f"),
        ("fetch",),
    ],
)
def test_wrong_usage_is_status_2(run: Runner, arguments: tuple[str, ...]) -> None:
    assert run(*arguments, status=2).stderr


def test_a_missing_service_is_named(run: Runner) -> None:
    assert "argument" in run("get", "--towline", "/nowhere/towline", "http://h/f", status=1).stderr


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_keeps_the_partial_and_the_same_command_resumes(
    run: Runner, server: Server, number: signal.Signals, status: int
) -> None:
    held = server.add("f", content(2, 3_000_000), hold_at=2_000_000)
    server.add("g", b"small")
    command = ("get", server.url("f"), server.url("g"))
    program = run.begin(*command)
    asked(held)
    os.killpg(program.pid, number)
    _, errors = program.communicate(timeout=20)
    assert program.returncode == status
    assert "Traceback" not in errors
    assert not (run.directory / "f").exists()

    listed = run("list", "--json", "--state", "paused").stdout
    download = json.loads(listed)
    assert (download["reason"], download["url"]) == ("interrupted", server.url("f"))
    kept = download["receivedBytes"]
    assert kept > 900_000

    held.release()
    done = run(*command)
    assert set(done.stdout.split()) == {str(run.directory / "f"), str(run.directory / "g")}
    assert f"resumed  f at {text.size(kept)}" in done.stderr
    # The last 16 KiB that were received are compared.
    assert held.ranges[1:] == [f"bytes={kept - 16_384}-{2_999_999}"]
    assert (run.directory / "f").read_bytes() == held.body


def test_a_killed_service_does_not_end_the_command(run: Runner, server: Server) -> None:
    held = server.add("f", content(3, 3_000_000), hold_at=2_000_000)
    program = run.begin("get", server.url("f"))
    asked(held)
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    for thread in Path(f"/proc/{program.pid}/task").iterdir():
        children += (thread / "children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    held.release()
    output, errors = program.communicate(timeout=20)
    assert (program.returncode, output.strip()) == (0, str(run.directory / "f")), errors
    assert (run.directory / "f").read_bytes() == held.body


def test_a_download_of_another_process_that_is_removed_ends_the_command(
    run: Runner, server: Server, binary: str
) -> None:
    held = server.add("f", content(4, 3_000_000), hold_at=2_000_000)
    with Towline(binary, env=run.environment) as owner:
        started = owner.start(server.url("f"), run.directory / "f")
        asked(held)
        program = run.begin("get", server.url("f"), "-o", "f")
        # Removals by others are noticed twice a second.
        time.sleep(2)
        assert program.poll() is None
        owner.cancel(started)
        owner.remove(started)
        printed, complaints = program.communicate(timeout=20)
    assert (program.returncode, printed) == (1, "")
    assert "removed" in complaints or "canceled" in complaints


def test_a_url_with_a_password_finds_its_download_under_another_id(run: Runner, server: Server) -> None:
    held = server.add("f", content(4, 3_000_000), hold_at=2_000_000)
    url = server.url("f").replace("//", "//me:secret@")
    with Towline(env=run.environment) as owner:
        owner.start(url, run.directory / "f")
        asked(held)
    held.release()
    assert run("get", url, "-o", "f").stdout == f"{run.directory / 'f'}\n"


def test_list_pause_resume_cancel_by_url_and_id(run: Runner, server: Server) -> None:
    held = server.add("f", content(4, 3_000_000), hold_at=2_000_000)
    program = run.begin("get", server.url("f"))
    asked(held)
    program.send_signal(signal.SIGINT)
    program.communicate(timeout=20)
    (line,) = run("list").stdout.splitlines()
    id = line.split()[0]
    assert "paused (interrupted)" in line
    assert run("pause", id).stdout == f"{id} paused\n"
    assert run("pause", id).stdout == f"{id} paused already\n"
    held.release()
    assert run("resume", server.url("f")).stdout == f"{run.directory / 'f'}\n"
    assert "invalidState" in run("cancel", id, status=1).stderr
    assert "no unfinished" in run("cancel", server.url("f"), status=1).stderr
    assert "downloadNotFound" in run("pause", "nothing", status=1).stderr
    assert "name downloads" in run("pause", status=1).stderr
    assert run("pause", "--all").stdout == ""
    assert "completed" in run("list").stdout


def test_cancel_deletes_the_partial_and_the_next_get_starts_from_zero(run: Runner, server: Server) -> None:
    held = server.add("f", content(5, 3_000_000), hold_at=2_000_000)
    program = run.begin("get", server.url("f"))
    asked(held)
    program.send_signal(signal.SIGINT)
    program.communicate(timeout=20)
    assert run("cancel", server.url("f")).stdout.split()[1] == "canceled"
    held.release()
    run("get", server.url("f"))
    assert held.ranges == [None, None]


def test_a_second_command_looks_on_and_takes_over(run: Runner, server: Server) -> None:
    held = server.add("f", content(6, 3_000_000), hold_at=2_000_000)
    first = run.begin("get", server.url("f"))
    asked(held)
    second = run.begin("get", server.url("f"))
    assert second.stderr is not None
    assert second.stderr.readline().startswith("watching f")
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=20)
    held.release()
    output, errors = second.communicate(timeout=20)
    assert (second.returncode, output.strip()) == (0, str(run.directory / "f")), errors


def test_a_background_download_needs_no_command(run: Runner, server: Server) -> None:
    held = server.add("f", content(7, 300_000), hold_at=100_000)
    id = run("get", "-b", server.url("f")).stdout.strip()
    held.release()
    deadline = time.monotonic() + 20
    while not (run.directory / "f").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert id in run("list", "--state", "completed").stdout


def on_terminal(
    run: Runner, *arguments: str, environment: Optional[dict[str, str]] = None
) -> tuple[int, str]:
    """Runs the command on a terminal of 100 columns; returns its status and what it wrote there."""
    main, side = pty.openpty()
    program = subprocess.Popen(
        run.command(*arguments),
        cwd=run.directory,
        env={**run.environment, "TERM": "xterm", "COLUMNS": "100", **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=side,
    )
    os.close(side)
    written = b""
    while select.select([main], [], [], 20)[0]:
        try:
            written += os.read(main, 65_536)
        except OSError:
            break
    os.close(main)
    return program.wait(20), written.decode()


def test_a_terminal_shows_bars(run: Runner, server: Server) -> None:
    pytest.importorskip("rich")
    server.add("f [bold].bin".replace(" ", "_"), content(8, 600_000), rate=800_000)
    status, written = on_terminal(run, "get", server.url("f_[bold].bin"), server.url("missing"))
    assert status == 1
    assert "f_[bold].bin" in written, "a name is no markup"
    assert "━" in written
    assert "/s" in written
    assert "586 KiB" in written.replace("585.9", "586")
    assert "100%" in written
    assert "httpStatus" in written


def test_a_terminal_without_rich_shows_lines(run: Runner, server: Server, tmp_path: Path) -> None:
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "rich.py").write_text("raise ImportError")
    server.add("f", b"abc")
    path = f"{tmp_path / 'without'}:{run.environment['PYTHONPATH']}"
    status, written = on_terminal(run, "get", server.url("f"), environment={"PYTHONPATH": path})
    assert status == 0
    assert written.splitlines()[-1] == "done     f (3 B)"


def test_a_reader_that_goes_away_is_no_traceback(run: Runner, server: Server) -> None:
    server.add("f", b"x")
    run("get", server.url("f"))
    shell = " ".join([*run.command("list"), "| true"])
    done = subprocess.run(
        shell, shell=True, cwd=run.directory, env=run.environment, capture_output=True, text=True
    )
    assert done.stderr == ""


def test_which_names_the_service(run: Runner, binary: str) -> None:
    assert run("which").stdout.strip() == binary


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (None, "?"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (5 << 20, "5.0 MiB"),
        (1 << 60, "1024.0 PiB"),
    ],
)
def test_sizes(count: Optional[int], shown: str) -> None:
    assert text.size(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(None, ""), (0.0, "0:00"), (75.4, "1:15"), (3600.0, "1:00:00")]
)
def test_durations(seconds: Optional[float], shown: str) -> None:
    assert text.duration(seconds) == shown


def test_names_do_not_steer_the_terminal() -> None:
    assert text.plain("a\x1b[31mb\n") == "a\ufffd[31mb\ufffd"
