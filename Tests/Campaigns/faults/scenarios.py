"""What a service is doing when its disks fail. Each scenario starts the fault and continues."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable

from towline_client import Timeout

from .case import EXIT_SECONDS, Case, File
from .shim import DATA, KILL

PIECE = 128 << 10
Scenario = Callable[[Case], None]


def _serve(case: Case) -> bool:
    """Starts a service, then the fault."""
    case.launch()
    case.arm()
    return True


def launch(case: Case) -> None:
    """A first start with an empty state directory, and a download."""
    file = case.add("f", 200_000)
    case.arm()
    if case.launch():
        case.start(file)
        case.settle()


def one(case: Case) -> None:
    """A download of several writes."""
    file = case.add("f", 2 * PIECE + 40_000)
    _serve(case)
    case.start(file)
    case.settle()


def small(case: Case) -> None:
    """A file of one buffer with a checksum, and an empty one."""
    first, second = case.add("f", 20_000, checksum=True), case.add("empty", 0)
    _serve(case)
    for file in (first, second):
        case.start(file)
    case.settle()


def chunked(case: Case) -> None:
    """A file whose length is unknown until the end."""
    file = case.add("f", 2 * PIECE + 40_000, chunked=True)
    _serve(case)
    case.start(file)
    case.settle()


def named(case: Case) -> None:
    """A name from the response that is already taken."""
    file = case.add("f.bin", PIECE + 40_000, directory=True, ifExists="rename")
    (case.data / "f.bin").write_bytes(b"somebody else's")
    file.path = case.data / "f (1).bin"
    _serve(case)
    case.start(file)
    case.settle()


def overwrite(case: Case) -> None:
    """An existing file that stays until the new one is complete."""
    file = case.add("f", PIECE + 40_000, old=b"old", ifExists="overwrite", checksum=True)
    _serve(case)
    case.start(file)
    case.settle()


def several(case: Case) -> None:
    """Several downloads at the same time."""
    sizes = (20_000, PIECE + 10_000, 2 * PIECE, 3 * PIECE + 5)
    files = [case.add(f"f{n}", size, checksum=n == 1) for n, size in enumerate(sizes)]
    _serve(case)
    for file in files:
        case.start(file)
    case.settle()


def pause(case: Case) -> None:
    """A pause in the middle, and a resume."""
    file = case.add("f", 4 * PIECE, held_after=2 * PIECE + 50_000)
    _serve(case)
    if case.start(file):
        case.wait_held(file)
        case.ask("pause", file, id=file.id)
        case.check_names()
        case.open_gates()
        case.ask("resume", file, id=file.id)
        case.settle()


def cancel(case: Case) -> None:
    """A cancel in the middle, and the removal of the record."""
    file = case.add("f", 4 * PIECE, held_after=2 * PIECE + 50_000)
    _serve(case)
    if case.start(file):
        case.wait_held(file)
        case.ask("cancel", file, id=file.id)
        case.settle()
        case.ask("remove", file, id=file.id)


def remove(case: Case) -> None:
    """The removal of a completed download with its file, and of a failed one."""
    whole, gone = case.add("f", PIECE + 9), case.add("g", 50_000)
    case.launch()
    case.start(whole)
    case.server.resources[f"/{case.prefix}/g"].default.status = 404
    case.start(gone)
    case.settle()
    case.arm()
    case.ask("remove", whole, id=whole.id, deleteFile=True)
    case.ask("remove", gone, id=gone.id)
    case.server.resources[f"/{case.prefix}/g"].default.status = None


def update(case: Case) -> None:
    """A paused download that is changed and then resumed."""
    file = case.add("f", PIECE + 40_000, startPaused=True)
    _serve(case)
    if case.start(file):
        file.promises["paused"] = True
        case.ask("update", file, id=file.id, metadata={"row": 7}, priority=3)
        case.ask("resume", file, id=file.id)
        case.settle()


def _killed_halfway(case: Case, count: int) -> list[File]:
    files = [case.add(f"f{n}", 4 * PIECE, held_after=2 * PIECE + 50_000 + n) for n in range(count)]
    case.launch()
    for file in files:
        case.start(file)
    for file in files:
        case.wait_held(file)
    assert case.host is not None
    case.host.kill()
    case.open_gates()
    return files


def recover(case: Case) -> None:
    """A start after a kill takes over the record and partial file of the killed process."""
    (file,) = _killed_halfway(case, 1)
    case.arm()
    if case.launch():
        case.start(file)
        case.settle()


def recover_all(case: Case) -> None:
    """A service that by itself continues what a killed one left."""
    files = _killed_halfway(case, 3)
    case.arm()
    if case.launch("--resume-on-start"):
        for file in files:
            case.start(file)
        case.settle()


def pause_stranger(case: Case) -> None:
    """Another process pauses, changes, resumes and cancels what a killed process left."""
    files = _killed_halfway(case, 2)
    case.launch()
    case.arm()
    first, second = files
    case.ask("pause", first, id=first.id)
    case.ask("cancel", second, id=second.id)
    case.settle()


def finalizing(case: Case) -> None:
    """A start after a kill between the rename and its record."""
    file = case.add("f", PIECE + 40_000)
    case.launch()
    case.shim.arm(DATA, ("fsync",), 1, mode=KILL)
    with contextlib.suppress(Timeout, BrokenPipeError):
        assert case.host is not None
        case.host.call("start", **file.params)
        case.host.call("wait", id=file.id)
    assert case.host is not None
    case.host.killed = True
    status = case.host.wait_exit()
    assert status == 128 + signal.SIGKILL, (
        f"the service should have been killed at the rename, but exited with {status}"
    )
    case.shim.repair()
    file.promises["exists"] = True
    case.arm()
    if case.launch():
        case.start(file)
        case.settle()


def damaged(case: Case) -> None:
    """A start with an unreadable database, which must be set aside."""
    file = case.add("f", PIECE + 40_000)
    case.state.mkdir()
    (case.state / "towline.db").write_bytes(b"no database" * 1_000)
    case.arm()
    if case.launch():
        case.start(file)
        case.settle()


def shutdown(case: Case) -> None:
    """The exit of a service in the middle of two downloads."""
    files = [case.add(f"f{n}", 4 * PIECE, held_after=2 * PIECE + 50_000 + n) for n in range(2)]
    case.launch()
    for file in files:
        case.start(file)
    for file in files:
        case.wait_held(file)
    case.arm()
    leave(case)
    case.open_gates()
    case.shim.repair()
    case.launch()


def checkpoint(case: Case) -> None:
    """More than 8 MiB over more than 2 s: written data is made durable during the transfer."""
    file = case.add("f", 10 << 20, held_after=(9 << 20) + 1)
    _serve(case)
    if case.start(file):
        case.wait_held(file)
        time.sleep(2.4)
        case.open_gates()
        case.settle()


def leave(case: Case) -> None:
    """Asks the service to exit; it must do so in time, whatever its disks do."""
    host = case.host
    assert host is not None
    host.send("shutdown")
    host.notify("exit")
    with contextlib.suppress(OSError):
        host.close_stdin()
    began = time.monotonic()
    try:
        status = host.wait_exit(EXIT_SECONDS)
    except Timeout:
        case.fail("the service does not exit after shutdown and exit")
        host.kill()
        return
    if status not in (0, 1):
        case.fail(f"the service exited with {status} after shutdown and exit")
    case.counts["ended slower than 1.5 s"] += time.monotonic() - began > 1.5
    case.host = None


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        launch,
        one,
        small,
        chunked,
        named,
        overwrite,
        several,
        pause,
        cancel,
        remove,
        update,
        recover,
        recover_all,
        pause_stranger,
        finalizing,
        damaged,
        shutdown,
        checkpoint,
    )
}
