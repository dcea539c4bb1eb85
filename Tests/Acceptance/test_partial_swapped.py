"""A partial file that was replaced between two runs: noticed, never followed, and never a wrong file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer
from support import MIB, Held, finish, resume_start

#: The content of a file elsewhere that must never be read, written, shortened or deleted.
PRECIOUS = b"precious" * 1_000


def interrupted(launch: Launcher, server: ScriptedServer, path: Path) -> Held:
    """A download that was killed after 1 of 4 MiB."""
    held = Held(server)
    host = launch()
    held.started(host, path, id="f")
    host.kill()
    held.release()
    return held


def symbolic_link(partial: Path, victim: Path) -> None:
    partial.unlink()
    partial.symlink_to(victim)


def dangling_link(partial: Path, victim: Path) -> None:
    partial.unlink()
    partial.symlink_to(victim.with_name("nowhere"))


def hard_link_to_another(partial: Path, victim: Path) -> None:
    partial.unlink()
    os.link(victim, partial)


def second_name(partial: Path, victim: Path) -> None:
    os.link(partial, partial.with_name("second name"))


def fifo(partial: Path, victim: Path) -> None:
    partial.unlink()
    os.mkfifo(partial)


def directory(partial: Path, victim: Path) -> None:
    partial.unlink()
    partial.mkdir()
    (partial / "inside").write_bytes(b"kept")


def socket_file(partial: Path, victim: Path) -> None:
    partial.unlink()
    os.mknod(partial, 0o140600)


def another_inode(partial: Path, victim: Path) -> None:
    # Even the same bytes are refused: nobody knows when they were written.
    copy = partial.with_name("copy")
    shutil.copy(partial, copy)
    copy.rename(partial)


def another_owner(partial: Path, victim: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(partial, 65_534, 65_534)


SWAPS = (
    symbolic_link,
    dangling_link,
    hard_link_to_another,
    second_name,
    fifo,
    directory,
    socket_file,
    another_inode,
    another_owner,
)
#: After these, the path still names the original file.
STILL_OURS = (second_name, another_owner)


@pytest.mark.parametrize("swap", SWAPS)
def test_a_partial_that_was_swapped_is_left_alone_and_all_is_fetched_anew(
    launch: Launcher, server: ScriptedServer, work: Path, swap: Callable[[Path, Path], None]
) -> None:
    held = interrupted(launch, server, work / "f")
    victim = work / "victim"
    victim.write_bytes(PRECIOUS)
    partial = work / "f.towline"
    swap(partial, victim)
    before = os.lstat(partial)
    host = launch("--resume-on-start")
    host.call("ping")
    end = finish(host, "f")
    assert end["state"] == "completed"
    assert (end["transfer"]["mode"], end["transfer"]["why"]) == ("restarted", "partialDamaged")
    assert (work / "f").read_bytes() == held.data
    # The replacement is untouched.
    after = os.lstat(partial)
    assert (after.st_ino, after.st_mode, after.st_uid) == (before.st_ino, before.st_mode, before.st_uid)
    assert after.st_size == before.st_size
    assert victim.read_bytes() == PRECIOUS
    if swap is directory:
        assert (partial / "inside").read_bytes() == b"kept"
    assert not (work / "nowhere").exists()
    expected = {"f", "f.towline", "victim"} | ({"second name"} if swap is second_name else set())
    assert {entry.name for entry in work.iterdir()} == expected


@pytest.mark.parametrize("kept", [0, 1, 300_000])
def test_of_a_partial_that_was_cut_what_is_left_counts(
    launch: Launcher, server: ScriptedServer, work: Path, kept: int
) -> None:
    held = interrupted(launch, server, work / "f")
    os.truncate(work / "f.towline", kept)
    host = launch("--resume-on-start")
    host.call("ping")
    end = finish(host, "f")
    assert end["state"] == "completed"
    assert (work / "f").read_bytes() == held.data
    assert [request.range_start for request in server.requests(held.path)] == [0, resume_start(kept)]
    assert {entry.name for entry in work.iterdir()} == {"f"}


def test_of_a_partial_that_has_grown_only_what_was_written_counts(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = interrupted(launch, server, work / "f")
    with (work / "f.towline").open("ab") as file:
        file.write(b"x" * 8 * MIB)
    host = launch("--resume-on-start")
    host.call("ping")
    assert finish(host, "f")["state"] == "completed"
    assert (work / "f").read_bytes() == held.data
    assert 0 < server.requests(held.path)[-1].range_start <= held.after


@pytest.mark.parametrize("swap", [swap for swap in SWAPS if swap not in STILL_OURS])
def test_a_partial_that_was_swapped_is_not_removed_with_its_download(
    launch: Launcher, server: ScriptedServer, work: Path, swap: Callable[[Path, Path], None]
) -> None:
    interrupted(launch, server, work / "f")
    victim = work / "victim"
    victim.write_bytes(PRECIOUS)
    swap(work / "f.towline", victim)
    before = os.lstat(work / "f.towline")
    host = launch()
    host.call("cancel", id="f")
    host.call("remove", id="f")
    assert os.lstat(work / "f.towline").st_ino == before.st_ino
    assert victim.read_bytes() == PRECIOUS


@pytest.mark.parametrize("swap", SWAPS)
def test_a_partial_swapped_under_a_running_download_makes_no_wrong_file(
    launch: Launcher, server: ScriptedServer, work: Path, swap: Callable[[Path, Path], None]
) -> None:
    held = Held(server)
    host = launch()
    held.started(host, work / "f", id="f")
    victim = work / "victim"
    victim.write_bytes(PRECIOUS)
    swap(work / "f.towline", victim)
    held.release()
    end = finish(host, "f")
    if end["state"] == "completed":
        assert swap in STILL_OURS
        assert (work / "f").read_bytes() == held.data
    else:
        assert end["error"]["kind"] == "partialReplaced"
        assert not (work / "f").exists()
        host.call("resume", id="f")
        assert finish(host, "f")["state"] == "completed"
        assert (work / "f").read_bytes() == held.data
    assert victim.read_bytes() == PRECIOUS


def test_a_partial_whose_directory_is_away_is_not_given_up(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    folder = work / "disk"
    folder.mkdir()
    held = interrupted(launch, server, folder / "f")
    folder.rename(work / "away")
    host = launch("--resume-on-start")
    host.call("ping")
    end = finish(host, "f")
    assert (end["state"], end["error"]["kind"]) == ("failed", "destinationGone")
    assert end["receivedBytes"] == held.after
    (work / "away").rename(folder)
    host.call("resume", id="f")
    assert finish(host, "f")["transfer"]["mode"] == "resumed"
    assert (folder / "f").read_bytes() == held.data
