"""towline-get in the hands of who knows curl and wget, and from where it was installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from scripted_server import Behaviour, ScriptedServer, content
from shell_support import CLIENT, GET, Shell
from support import MIB

DATA = b"x" * 1000


@pytest.mark.parametrize(
    "words",
    [
        ["-H", "Authorization: Bearer one", "-H", 'X-Two: "2" \\ é'],
        ["--header", "authorization:Bearer one", '--header=X-Two: "2" \\ é'],
        ["-HAuthorization: Bearer one", "-H", 'X-Two:  "2" \\ é'],
    ],
)
def test_headers_are_sent(shell: Shell, server: ScriptedServer, words: list[str]) -> None:
    server.add("/a.bin", DATA)
    done = shell.get(*words, server.url("/a.bin"))
    assert done.returncode == 0, done.stderr
    (request,) = server.requests("/a.bin")
    assert request.headers["authorization"] == "Bearer one"
    assert request.headers["x-two"].encode("latin-1").decode() == '"2" \\ é'


def test_a_header_twice_is_one_field(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA)
    words = ["-H", "Accept: a/b", "-H", "accept: c/d", "-H", "Cookie: a=1", "-H", "Cookie: b=2"]
    assert shell.get(*words, server.url("/a.bin")).returncode == 0
    (request,) = server.requests("/a.bin")
    assert (request.headers["accept"], request.headers["cookie"]) == ("a/b, c/d", "a=1; b=2")


def test_the_headers_of_the_second_run_count(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA).then(Behaviour(status=403))
    assert shell.get("-H", "X-Token: old", server.url("/a.bin")).returncode == 1
    done = shell.get("-H", "X-Token: new", server.url("/a.bin"))
    assert done.returncode == 0, done.stderr
    assert [request.headers["x-token"] for request in server.requests("/a.bin")] == ["old", "new"]


@pytest.mark.parametrize("source", ["file", "-", "two"])
def test_urls_of_a_list(shell: Shell, server: ScriptedServer, source: str) -> None:
    for name in "abc":
        server.add(f"/{name}", DATA)
    text = f"# a comment\n\n  {server.url('/a')}\t\r\n{server.url('/b')}"
    (shell.home / "list").write_text(text)
    words = {
        "file": f"-i '{shell.home}/list' {server.url('/c')}",
        "-": f"-i - {server.url('/c')} <'{shell.home}/list'",
        "two": f"--input-file='{shell.home}/list' -i <(echo {server.url('/c')})",
    }[source]
    done = shell.run("bash", "-c", f"'{GET}' {words}")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"{shell.work}/{name}" for name in "abc"]


def test_a_list_that_cannot_be_read_is_named(shell: Shell) -> None:
    done = shell.get("-i", "none")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "towline-get: cannot read none\n"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["-O", "URL"], "a.bin"),
        (["URL", "-O"], "a.bin"),
        (["-O", "b.bin", "URL"], "b.bin"),
        (["-Ob.bin", "URL"], "b.bin"),
        (["-fsSLO", "URL"], "a.bin"),
        (["-fsSLo", "b.bin", "URL"], "b.bin"),
        (["-qO", "b.bin", "URL"], "b.bin"),
        (["-c", "-P", "sub", "URL"], "sub/a.bin"),
        (["-C", "-", "--output-dir", "sub", "--remote-name", "URL"], "sub/a.bin"),
        (["-L", "--location", "--silent", "--fail", "URL"], "a.bin"),
        (["-A", "agent/1", "-e", "http://127.0.0.1/from", "URL"], "a.bin"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_habits(shell: Shell, server: ScriptedServer, words: list[str], name: str) -> None:
    server.add("/a.bin", DATA)
    done = shell.get(*(server.url("/a.bin") if word == "URL" else word for word in words))
    assert (done.returncode, done.stdout) == (0, f"{shell.work}/{name}\n"), done.stderr
    if "-A" in words:
        (request,) = server.requests("/a.bin")
        assert request.headers["user-agent"] == "agent/1"
        assert request.headers["referer"] == "http://127.0.0.1/from"


@pytest.mark.parametrize(
    "words",
    [
        ["-H", "no header", "URL"],
        ["-H", "Bad Name: x", "URL"],
        ["-O", "-", "URL"],
        ["-qO-", "URL"],
        ["-o", "-", "URL"],
        ["-C", "100", "URL"],
        ["-fx", "URL"],
        ["--quiet=yes", "URL"],
    ],
    ids=" ".join,
)
def test_what_does_not_fit_is_refused(shell: Shell, server: ScriptedServer, words: list[str]) -> None:
    server.add("/a.bin", DATA)
    done = shell.get(*(server.url("/a.bin") if word == "URL" else word for word in words))
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert not server.requests("/a.bin")


def test_the_version_is_that_of_the_service(shell: Shell) -> None:
    version = subprocess.run(
        [shell.environment["TOWLINE"], "--version"], capture_output=True, text=True, check=True
    ).stdout.split()[-1]
    for option in ("--version", "-V"):
        done = shell.get(option)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"towline-get {version}\n", "")


@pytest.mark.parametrize("library", [".", "../share/towline", "../lib/towline"])
@pytest.mark.parametrize("linked", [False, True])
def test_it_works_from_where_it_was_installed(
    shell: Shell, server: ScriptedServer, tmp_path: Path, library: str, linked: bool
) -> None:
    """The binary beside it is the one that is used, though PATH has none."""
    server.add("/a.bin", content(1, MIB))
    programs = tmp_path / "usr of mine" / "bin"
    programs.mkdir(parents=True)
    shutil.copy2(GET, programs)
    shutil.copy2(shell.environment.pop("TOWLINE"), programs)
    parts = programs / library
    parts.mkdir(parents=True, exist_ok=True)
    for part in CLIENT.glob("*.sh"):
        shutil.copy2(part, parts)
    program = programs / "towline-get"
    if linked:
        program = tmp_path / "get"
        program.symlink_to(programs / "towline-get")
    done = shell.run(program, server.url("/a.bin"))
    assert (done.returncode, done.stdout) == (0, f"{shell.work}/a.bin\n"), done.stderr
    assert (shell.home / ".local/state/towline/default/towline.db").exists()


def test_without_its_library_it_says_where_it_looked(shell: Shell, tmp_path: Path) -> None:
    shutil.copy2(GET, tmp_path)
    done = shell.run(tmp_path / "towline-get", "http://127.0.0.1/")
    if any(Path(f"{folder}/share/towline/towline.sh").exists() for folder in ("/usr", "/usr/local")):
        pytest.skip("it is installed here")
    assert (done.returncode, done.stdout) == (1, "")
    assert "towline.sh" in done.stderr
    assert "No such file" not in done.stderr
