"""The command where a standard stream is closed, full, or nobody reads it."""

from __future__ import annotations

import subprocess

import pytest
from loopback import Server, content
from test_cli import Runner, run

__all__ = ["run"]


def shell(run: Runner, redirections: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command by a shell that redirects its streams."""
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirections}', "bash", *run.command(*arguments)],
        cwd=run.directory,
        env=run.environment,
        capture_output=True,
        text=True,
        timeout=30,
    )


@pytest.mark.parametrize("errors", ["2>&-", "2>/dev/full", "2>&- <&-", "2> >(exec true)"])
def test_messages_that_cannot_be_written_end_nothing(run: Runner, server: Server, errors: str) -> None:
    server.add("f", content(1, 300_000), rate=600_000)
    server.add("g", b"g")
    done = shell(run, errors, "get", server.url("f"), server.url("g"))
    assert done.returncode == 0
    assert sorted(done.stdout.split()) == [str(run.directory / name) for name in ("f", "g")]
    assert done.stderr == ""
    done = shell(run, errors, "get", server.url("missing"), server.url("f"))
    assert (done.returncode, done.stdout) == (1, f"{run.directory / 'f'}\n")


@pytest.mark.parametrize("reason", [">&-", ">/dev/full", "> >(exec true)", ">&- <&-"])
def test_a_lost_path_is_a_failure_of_a_command_that_continues(
    run: Runner, server: Server, reason: str
) -> None:
    server.add("f", content(1, 300_000), rate=600_000)
    server.add("g", b"g")
    done = shell(run, reason, "get", server.url("g"), server.url("f"))
    assert done.returncode == 1
    assert done.stderr.count("done ") == 2
    assert done.stderr.count("cannot write to standard output") == (reason != "> >(exec true)")
    assert (run.directory / "f").read_bytes() == content(1, 300_000)


def test_all_streams_closed(run: Runner, server: Server) -> None:
    server.add("f", b"abc")
    done = shell(run, "<&- >&- 2>&-", "get", server.url("f"))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert (run.directory / "f").read_bytes() == b"abc"


@pytest.mark.parametrize(
    "arguments", [("list",), ("which",), ("--help",), ("--version",), ("list", "--json")]
)
@pytest.mark.parametrize("output", [">&-", ">/dev/full"])
def test_lines_that_are_lost_are_a_failure(
    run: Runner, server: Server, output: str, arguments: tuple[str, ...]
) -> None:
    server.add("f", b"abc")
    run("get", server.url("f"))
    done = shell(run, output, *arguments)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("arguments", [("pause", "x"), ("get", "--bad")])
@pytest.mark.parametrize("errors", ["2>&-", "2>/dev/full"])
def test_a_failure_that_cannot_be_said_keeps_its_status(
    run: Runner, errors: str, arguments: tuple[str, ...]
) -> None:
    done = shell(run, errors, *arguments)
    assert (done.returncode, done.stdout) == (2 if "--bad" in arguments else 1, "")


def test_a_path_in_a_narrow_encoding(run: Runner, server: Server) -> None:
    server.add("f", b"abc")
    run.environment.update(PYTHONIOENCODING="ascii")
    done = run("get", server.url("f"), "-o", "füß")
    assert "Traceback" not in done.stderr
    assert (run.directory / "füß").read_bytes() == b"abc"
