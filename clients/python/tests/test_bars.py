"""Progress bars, of programs and of the command, on terminals of every kind."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PACKAGE
from loopback import Server, content
from test_cli import Runner, asked, on_terminal, run

pytest.importorskip("rich")

from towline import Towline
from towline.bars import Bars

__all__ = ["run"]
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LONG = "a-file-with-a-name-that-is-longer-than-the-terminal-is-wide.tar.gz"


def lines(written: str) -> list[str]:
    """What stood on the terminal, line by line, drawn over or not."""
    return [line.rstrip() for line in re.split(r"[\r\n]+", CONTROL.sub("", written)) if line.strip()]


def test_a_program_shows_bars_by_fetch(
    binary: str, server: Server, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    server.add("f_[bold]", content(1, 300_000))
    server.add("g", content(2, 200_000))
    shown = io.StringIO()
    with Towline(binary, state_dir=state) as client, Bars(shown) as bars:
        for name in ("f_[bold]", "g"):
            client.fetch(server.url(name), tmp_path / name, progress=bars)
    first, second = lines(shown.getvalue())
    assert first.startswith("f_[bold] ")
    assert "100%" in first
    assert "293.0 KiB / 293.0 KiB" in first
    assert second.startswith("g ")


@pytest.mark.parametrize("columns", [1, 10, 24, 40, 60, 100])
def test_a_bar_fits_its_terminal(run: Runner, server: Server, columns: int) -> None:
    server.add(LONG, content(1, 600_000), rate=1_000_000)
    environment = {"COLUMNS": str(columns)}
    status, written = on_terminal(run, "get", server.url(LONG), environment=environment)
    assert status == 0, written
    drawn = lines(written)
    assert max(map(len, drawn)) <= columns
    if columns >= 40:
        assert "100%" in drawn[-1]
        assert drawn[-1].startswith("a-fi")
        assert "━" in drawn[-1]
    assert ("/s" in written) == (columns >= 60)


def test_after_ctrl_c_what_is_kept_stands_below_the_bars(run: Runner, server: Server) -> None:
    held = server.add("f", content(1, 3_000_000), hold_at=2_000_000)
    main, side = pty.openpty()
    program = subprocess.Popen(
        run.command("get", server.url("f"), server.url("missing")),
        cwd=run.directory,
        env={**run.environment, "TERM": "xterm", "COLUMNS": "40"},
        stdout=subprocess.DEVNULL,
        stderr=side,
    )
    os.close(side)
    asked(held)
    program.send_signal(signal.SIGINT)
    written = b""
    with contextlib.suppress(OSError):
        while part := os.read(main, 65_536):
            written += part
    os.close(main)
    assert program.wait(20) == 130
    bar, failed, kept, hint = lines(written.decode())[-4:]
    assert bar.startswith("f ")
    assert failed.replace("━", "").strip() == "missing"
    assert "\x1b[35m" not in written.decode().rpartition("kept")[0].rpartition("missing")[2], (
        "it seems to be busy"
    )
    assert (kept, hint) == ("kept     f (1.9 MiB of 2.9 MiB)", "the same command resumes")


def test_a_dumb_terminal_gets_lines(run: Runner, server: Server) -> None:
    server.add("f", b"abc")
    status, written = on_terminal(run, "get", server.url("f"), environment={"TERM": "dumb"})
    assert (status, lines(written)[-1]) == (0, "done     f (3 B)")
    assert "\x1b" not in written


def test_no_color_is_respected(run: Runner, server: Server) -> None:
    server.add("f", content(1, 600_000), rate=1_000_000)
    _, coloured = on_terminal(run, "get", server.url("f"), "-o", "a")
    _, plain = on_terminal(run, "get", server.url("f"), "-o", "b", environment={"NO_COLOR": "1"})
    colour = re.compile(r"\x1b\[[0-9;]*3[0-9]")
    assert colour.search(coloured)
    assert not colour.search(plain)


def test_paths_go_to_standard_output_also_with_bars(run: Runner, server: Server) -> None:
    server.add("f", b"abc")
    main, side = pty.openpty()
    done = subprocess.Popen(
        run.command("get", server.url("f")),
        cwd=run.directory,
        env={**run.environment, "TERM": "xterm", "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=side,
        text=True,
    )
    os.close(side)
    output = done.communicate(timeout=20)[0]
    assert output == f"{run.directory / 'f'}\n"
    assert select.select([main], [], [], 0)[0], "there were no bars"
    os.close(main)


def test_without_rich_the_import_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "rich").mkdir()
    (tmp_path / "rich/__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "-c", "import towline.bars"],
        env={"PYTHONPATH": f"{tmp_path}:{PACKAGE / 'src'}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.stderr.splitlines()[-1].endswith("pip install 'towline[cli]'")
