"""What towline-get shows on a terminal."""

from __future__ import annotations

import re
import threading

import pytest
from scripted_server import Behaviour, ScriptedServer, content
from shell_support import GET, Shell, Terminal
from support import MIB

DATA = content(4, 6 * MIB)


def hold(server: ScriptedServer, path: str, **options: object) -> threading.Event:
    gate = threading.Event()
    server.add(path, DATA).then(Behaviour(hold_after=3 * MIB, gate=gate, **options))
    return gate


@pytest.mark.parametrize("columns", [120, 80, 40, 25])
def test_a_bar_appears_and_a_line_stays(shell: Shell, server: ScriptedServer, columns: int) -> None:
    gate = hold(server, "/a.bin")
    terminal = Terminal(shell, columns, GET, server.url("/a.bin"))
    terminal.read_until(lambda text: re.search(r"^a\.bin .* (49|50)%", text, re.MULTILINE), "half of a bar")
    (line,) = [line for line in terminal.screen.lines if line]
    assert len(line) < columns
    assert ("[" in line) == (columns >= 80)
    assert ("3.0 MiB/6.0 MiB" in line) == (columns >= 120)
    gate.set()
    assert terminal.finish() == 0
    # The bar is gone; what stays is one line, and the cursor is below it.
    assert re.fullmatch(r"a\.bin: 6\.0 MiB in \d+:\d\d(, \d[\d.]* [KMG]iB/s)?\n", terminal.screen.text), (
        terminal.screen.text
    )
    assert not terminal.screen.wrapped


@pytest.mark.parametrize("columns", [120, 40])
def test_several_bars_and_those_that_end_between_them(
    shell: Shell, server: ScriptedServer, columns: int
) -> None:
    names = ["a.bin", "a-name-that-is-much-longer-than-any-narrow-terminal-has-room-for.bin", "c.bin"]
    gates = [hold(server, f"/{name}") for name in names]
    terminal = Terminal(shell, columns, GET, *(server.url(f"/{name}") for name in names), server.url("/none"))
    terminal.read_until(lambda text: len(re.findall(r" (?:49|50)%", text)) == 3, "three bars")
    bars = [line for line in terminal.screen.lines if "%" in line]
    assert all(len(line) < columns for line in bars)
    assert "0 of 4 finished, 1 failed" in terminal.screen.text
    gates[1].set()
    terminal.read_until(lambda text: "1 of 4 finished, 1 failed" in text, "the second")
    assert len([line for line in terminal.screen.lines if "%" in line]) == 2
    gates[0].set()
    gates[2].set()
    assert terminal.finish() == 1
    assert "%" not in terminal.screen.text
    assert terminal.screen.text.endswith("\n3 of 4 finished\n")
    assert terminal.screen.text.count(": 6.0 MiB in") == 3


def test_one_whose_size_nobody_knows(shell: Shell, server: ScriptedServer) -> None:
    gate = hold(server, "/a.bin", chunked=True)
    terminal = Terminal(shell, 100, GET, server.url("/a.bin"))
    terminal.read_until(lambda text: re.search(r"a\.bin .*\[ *<=> *\] +3\.0 MiB", text), "a bar that moves")
    gate.set()
    assert terminal.finish() == 0
    assert not terminal.screen.wrapped


def test_the_bars_follow_the_size_of_the_terminal(shell: Shell, server: ScriptedServer) -> None:
    gate = hold(server, "/a.bin")
    terminal = Terminal(shell, 120, GET, server.url("/a.bin"))
    terminal.read_until(lambda text: "50%" in text or "49%" in text, "a bar")
    before = len(terminal.screen.lines)
    terminal.screen.lines = [""]
    terminal.screen.row = terminal.screen.column = 0
    terminal.resize(50)
    terminal.read_until(lambda text: re.search(r"^a\.bin +\d\d%", text, re.MULTILINE), "a narrow line")
    assert before == 2
    gate.set()
    assert terminal.finish() == 0
    assert not terminal.screen.wrapped


def test_ctrl_c_at_the_terminal(shell: Shell, server: ScriptedServer) -> None:
    hold(server, "/a.bin")
    terminal = Terminal(shell, 80, GET, server.url("/a.bin"))
    terminal.read_until(lambda text: "50%" in text or "49%" in text, "a bar")
    terminal.type("\x03")
    assert terminal.finish() == -2
    assert re.fullmatch(
        r"(\^C)?a\.bin: interrupted, \d\.\d MiB kept\nthe same command resumes it\n", terminal.screen.text
    ), terminal.screen.text
    terminal = Terminal(shell, 80, GET, server.url("/a.bin"))
    assert terminal.finish() == 0
    assert terminal.screen.text.startswith("a.bin: resumed, ")


def test_wide_characters_do_not_break_the_line(shell: Shell, server: ScriptedServer) -> None:
    name = "ダウンロード" * 8
    gate = threading.Event()
    disposition = "attachment; filename*=UTF-8''" + "".join(f"%{b:02X}" for b in f"{name}.bin".encode())
    server.add("/x", DATA).then(
        Behaviour(hold_after=3 * MIB, gate=gate, headers=[("Content-Disposition", disposition)])
    )
    terminal = Terminal(shell, 80, GET, server.url("/x"))
    terminal.read_until(lambda text: re.search(r"ダウンロ.*…? +\[.* (49|50)%", text), "a bar")
    (line,) = [line for line in terminal.screen.lines if "%" in line]
    assert sum(2 if ord(c) > 0x2FFF else 1 for c in line) < 80
    gate.set()
    assert terminal.finish() == 0


@pytest.mark.parametrize("words", [("-q",), ()])
def test_no_bars_without_a_terminal_that_can(
    shell: Shell, server: ScriptedServer, words: tuple[str, ...]
) -> None:
    server.add("/a.bin", DATA)
    terminal = Terminal(shell, 80, GET, *words, server.url("/a.bin"), TERM="dumb" if not words else "xterm")
    assert terminal.finish() == 0
    assert "\x1b" not in terminal.raw
    # Bars or not: without them the path is printed here too.
    assert f"{shell.work}/a.bin" in terminal.raw
    assert ("started" in terminal.raw) == (not words)


def test_the_path_goes_into_a_pipe_and_the_bars_to_the_terminal(shell: Shell, server: ScriptedServer) -> None:
    gate = hold(server, "/a.bin")
    terminal = Terminal(shell, 80, "bash", "-c", f"'{GET}' {server.url('/a.bin')} >out")
    terminal.read_until(lambda text: "50%" in text or "49%" in text, "a bar")
    gate.set()
    assert terminal.finish() == 0
    assert (shell.work / "out").read_text() == f"{shell.work}/a.bin\n"
    assert "%" not in terminal.screen.text
