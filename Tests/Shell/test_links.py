"""towline-get with a link that was renewed, and --forget."""

from __future__ import annotations

import hashlib
import os
import signal

import pytest
from scripted_server import Behaviour, ScriptedServer, content
from shell_support import GET, Shell, ended, eventually
from support import MIB

SIZE = 6 * MIB
DATA = content(1, SIZE)


def interrupted(shell: Shell, server: ScriptedServer, target: str, *words: str) -> None:
    """Half of the file is received when Ctrl-C comes."""
    path = target.partition("?")[0]
    server.add(path, DATA).then(Behaviour(hold_after=SIZE // 2))
    process = shell.start(GET, *words, server.url(target))
    server.wait(lambda: server.body_sent(path) >= SIZE // 2)
    eventually(lambda: sum(p.stat().st_blocks for p in shell.work.glob("*.towline")) * 512 > MIB, "a partial")
    os.killpg(process.pid, signal.SIGINT)
    ended(process)


@pytest.mark.parametrize("words", [("-o", "a.bin"), (), ("-d", ".")], ids=" ".join)
def test_a_link_with_another_query_is_the_same_download(
    shell: Shell, server: ScriptedServer, words: tuple[str, ...]
) -> None:
    interrupted(shell, server, "/a.bin?signature=1", *words)
    new = (*words, server.url("/a.bin?signature=2&expires=9"))
    done = shell.get(*new)
    assert (done.returncode, done.stdout) == (0, f"{shell.work}/a.bin\n"), done.stderr
    assert (shell.work / "a.bin").read_bytes() == DATA
    assert "a.bin: resumed, " in done.stderr
    # With -d the name is known only when the response is there.
    _, *others = server.requests("/a.bin")
    assert {request.target for request in others} == {"/a.bin?signature=2&expires=9"}
    ranges = [request for request in others if "range" in request.headers]
    assert ranges
    assert sum(request.body_sent for request in ranges) < SIZE
    again = shell.get(*new)
    assert (again.returncode, again.stdout) == (0, done.stdout), again.stderr
    assert "was finished before" in again.stderr


@pytest.mark.parametrize("words", [("-o", "a.bin"), ()], ids=" ".join)
def test_a_finished_file_is_not_taken_for_that_of_another_query(
    shell: Shell, server: ScriptedServer, words: tuple[str, ...]
) -> None:
    """`?page=2` may be another file than `?page=1`; a checksum decides."""
    server.add("/a.bin", DATA)
    assert shell.get(*words, server.url("/a.bin?page=1")).returncode == 0
    other = shell.get(*words, server.url("/a.bin?page=2"))
    assert (other.returncode, other.stdout) == (1, "")
    assert "exists" in other.stderr
    none = shell.get(*words, server.url("/a.bin"))
    assert (none.returncode, none.stdout) == (1, "")
    (shell.work / "a.bin").unlink()
    digest = f"sha256:{hashlib.sha256(DATA).hexdigest()}"
    assert shell.get(*words, "--checksum", digest, server.url("/a.bin?page=1")).returncode == 0
    same = shell.get(*words, "--checksum", digest, server.url("/a.bin?page=2"))
    assert (same.returncode, same.stdout) == (0, f"{shell.work}/a.bin\n"), same.stderr


def test_a_checksum_given_now_is_not_left_out(shell: Shell, server: ScriptedServer) -> None:
    """What is kept was started without it, so nothing would compare it."""
    server.add("/a.bin", DATA)
    assert shell.get("-o", "a.bin", server.url("/a.bin")).returncode == 0
    wrong = f"sha256:{'0' * 64}"
    done = shell.get("-o", "a.bin", "--checksum", wrong, server.url("/a.bin"))
    assert (done.returncode, done.stdout) == (1, "")
    interrupted(shell, server, "/b.bin?1", "-o", "b.bin")
    done = shell.get("-o", "b.bin", "--checksum", wrong, server.url("/b.bin?2"))
    assert (done.returncode, done.stdout) == (1, "")
    assert not (shell.work / "b.bin").exists()


def test_another_path_is_another_download(shell: Shell, server: ScriptedServer) -> None:
    interrupted(shell, server, "/1/a.bin?x", "-o", "a.bin")
    server.add("/2/a.bin", DATA)
    done = shell.get("-o", "a.bin", server.url("/2/a.bin?x"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "uses the destination" in done.stderr


def test_two_queries_of_one_command_are_two_downloads(shell: Shell, server: ScriptedServer) -> None:
    """The name of the second is taken: that is said, and the first does not change its link."""
    server.add("/a.bin", DATA, default=Behaviour(rate=4 * MIB))
    done = shell.get(server.url("/a.bin?part=1"), server.url("/a.bin?part=2"))
    assert done.returncode == 1
    assert done.stdout == f"{shell.work}/a.bin\n"
    assert (shell.work / "a.bin").read_bytes() == DATA
    assert "1 of 2 finished" in done.stderr


@pytest.mark.parametrize("words", [("-o", "a.bin"), ()], ids=" ".join)
@pytest.mark.parametrize("query", ["1", "2"])
def test_forget_drops_what_is_kept(
    shell: Shell, server: ScriptedServer, words: tuple[str, ...], query: str
) -> None:
    interrupted(shell, server, "/a.bin?1", *words)
    server.add("/other", DATA)
    url = server.url(f"/a.bin?{query}")
    done = shell.get("--forget", *words, url)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "a.bin: forgotten, 3.0 MiB dropped" in done.stderr
    assert list(shell.work.iterdir()) == []
    assert "a.bin: nothing is kept" in shell.get("--forget", *words, url).stderr
    # Nothing holds the place any more.
    assert shell.get("-o", "a.bin", server.url("/other")).returncode == 0


def test_forget_leaves_a_finished_file(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA)
    assert shell.get(server.url("/a.bin")).returncode == 0
    done = shell.get("--forget", server.url("/a.bin"))
    assert (done.returncode, done.stdout) == (0, "")
    assert "a.bin: forgotten, the file stays" in done.stderr
    assert (shell.work / "a.bin").read_bytes() == DATA


def test_it_says_why_it_starts_from_zero(shell: Shell, server: ScriptedServer) -> None:
    server.add("/a.bin", DATA, default=Behaviour(ranges="ignored")).then(
        Behaviour(drop_after=SIZE // 2), Behaviour(ranges="ignored", rate=8 * MIB)
    )
    done = shell.get(server.url("/a.bin"))
    assert (done.returncode, done.stdout) == (0, f"{shell.work}/a.bin\n"), done.stderr
    assert done.stderr.count("a.bin: starts from zero: the server ignored the range\n") == 1
    quiet = shell.get("-q", "-o", "b.bin", server.url("/a.bin"))
    assert (quiet.returncode, quiet.stderr) == (0, "")
