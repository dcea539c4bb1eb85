"""Kills at chosen system calls: leftover files are removed, and nothing is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer, content
from support import MIB, Held, finish, poll
from towline_client import Towline

#: A file that fits into one buffer, and one that does not.
SIZES = (4_096, 2 * MIB)


def killed_at(launch: Launcher, calls: str, *, path: Path | None = None, when: str = "1") -> Towline:
    """A process that is killed when it enters one of these system calls, if given on this path."""
    if shutil.which("strace") is None:
        pytest.skip("strace is missing")
    only = () if path is None else ("-P", str(path))
    inject = f"inject={calls}:signal=KILL:when={when}"
    prefix = ("strace", "-f", "-qq", "-o", "/dev/null", *only, "-e", f"trace={calls}", "-e", inject)
    return launch(prefix=prefix)


def died(host: Towline) -> None:
    assert host.wait_exit() != 0


def resume(launch: Launcher, download_id: str) -> Towline:
    host = launch("--resume-on-start")
    assert finish(host, download_id)["state"] == "completed"
    return host


@pytest.mark.parametrize(
    ("calls", "size"),
    [("fallocate", 2 * MIB), ("linkat,rename,renameat2", 2 * MIB), ("linkat,rename,renameat2", 4_096)],
)
def test_a_kill_before_the_end_leaves_nothing_beside_the_finished_file(
    launch: Launcher, server: ScriptedServer, work: Path, size: int, calls: str
) -> None:
    data = content(1, size)
    server.add("/f", data)
    first = killed_at(launch, calls)
    first.send("start", {"url": server.url("/f"), "path": str(work / "f"), "id": "f"})
    died(first)
    assert not (work / "f").exists()
    resume(launch, "f")
    assert (work / "f").read_bytes() == data
    assert [entry.name for entry in work.iterdir()] == ["f"]


@pytest.mark.parametrize("size", SIZES)
def test_a_file_that_has_its_name_when_the_process_is_killed_is_recognised(
    launch: Launcher, server: ScriptedServer, work: Path, size: int
) -> None:
    data = content(2, size)
    server.add("/f", data)
    # The directory is flushed after the rename and before the record is updated.
    first = killed_at(launch, "fsync", path=work)
    first.send("start", {"url": server.url("/f"), "path": str(work / "f"), "id": "f"})
    died(first)
    assert (work / "f").read_bytes() == data
    inode = (work / "f").stat().st_ino
    resume(launch, "f")
    assert (work / "f").stat().st_ino == inode
    assert len(server.requests("/f")) == 1
    assert [entry.name for entry in work.iterdir()] == ["f"]


def test_a_cancel_that_a_kill_interrupts_is_finished_by_the_next_process(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    first = killed_at(launch, "unlink,unlinkat", path=work / "f.towline")
    held.started(first, work / "f", id="f")
    first.send("cancel", {"id": "f"})
    died(first)
    assert (work / "f.towline").exists()
    second = launch()
    assert second.call("get", id="f")["download"]["state"] == "canceled"
    assert second.call("get", id="f")["download"]["owner"] == "none"
    poll(lambda: not (work / "f.towline").exists(), what="the end of the partial")
    second.call("remove", id="f")
    assert second.call("list")["downloads"] == []


def test_a_cancel_that_keeps_the_partial_is_not_finished_by_anybody(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    first = launch()
    held.started(first, work / "f", id="f")
    first.call("cancel", id="f", deletePartial=False)
    first.kill()
    second = launch()
    assert second.call("get", id="f")["download"]["state"] == "canceled"
    # A later request is handled after everything the process does at its start.
    second.call("start", url=held.url, path=str(work / "g"), startPaused=True)
    assert (work / "f.towline").stat().st_size == held.after
    second.call("remove", id="f")
    assert not (work / "f.towline").exists()


@pytest.mark.parametrize("state", ["canceled", "failed", "completed"])
def test_a_remove_that_a_kill_interrupts_can_be_repeated(
    launch: Launcher, server: ScriptedServer, work: Path, state: str
) -> None:
    held = Held(server)
    leaves = "f" if state == "completed" else "f.towline"
    first = killed_at(launch, "unlink,unlinkat", path=work / leaves)
    held.started(first, work / "f", id="f")
    if state == "canceled":
        first.call("cancel", id="f", deletePartial=False)
    elif state == "failed":
        (work / "f").write_bytes(b"in the way")
        held.release()
        assert finish(first, "f")["error"]["kind"] == "destinationConflict"
    else:
        held.release()
        finish(first, "f")
    first.send("remove", {"id": "f", "deleteFile": True})
    died(first)
    assert (work / leaves).exists()
    second = launch()
    assert second.call("get", id="f")["download"]["state"] == state
    second.call("remove", id="f", deleteFile=True)
    assert not (work / leaves).exists()
    assert second.call("list")["downloads"] == []
