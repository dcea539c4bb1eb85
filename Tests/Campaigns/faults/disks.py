"""Disks that are really full, read-only, missing or slow, and real resource limits."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from campaign import Result
from scripted_server import Behaviour, ScriptedServer
from support import resume_start
from towline_client import JSON

from .case import Case, File, Over
from .scenarios import PIECE, leave
from .shim import DATA, DELAY, STATE

#: A download that waits for disk space checks again every ten seconds; a case waits this long for it.
ROOM_SECONDS = 20.0
#: The longest that a pause may take on a disk that hangs, on a busy machine.
PAUSE_SECONDS = 1.0
#: The longest that a start may take behind one on a hanging disk: its limit of ten seconds, and some more.
START_SECONDS = 13.0
#: The longest that an exit may take: 1.5 s, and what a busy machine adds.
END_SECONDS = 2.5


class Lacking(Exception):
    """The machine lacks what the case needs."""


@contextlib.contextmanager
def mounted(path: Path, *options: str, source: str = "tmpfs") -> Iterator[None]:
    """A separate file system at this path."""
    done = subprocess.run(["mount", *options, source, str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Lacking("the right to mount file systems")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def small_disk(case: Case, kind: str, path: Path, mebibytes: int) -> contextlib.AbstractContextManager[None]:
    if kind == "tmpfs":
        return mounted(path, "-t", "tmpfs", "-o", f"size={mebibytes}m")
    if shutil.which("mkfs.ext4") is None:
        raise Lacking("mkfs.ext4")
    image = case.folder / f"{path.name}.image"
    with image.open("wb") as file:
        file.truncate(mebibytes << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", str(image)], check=True)
    return mounted(path, "-o", "loop", source=str(image))


def fill(path: Path, room: int) -> Path:
    """Fills the disk, but leaves `room` bytes free."""
    hog = path / "hog"
    with hog.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    size = hog.stat().st_size
    with hog.open("rb+") as file:
        file.truncate(max(0, size - room))
    return hog


def wait_told(
    case: Case, file: File, is_it: Callable[[JSON], bool], what: str, seconds: float = 15.0
) -> JSON:
    """Waits until `get` reports the expected download."""
    deadline = time.monotonic() + seconds
    while True:
        download = case.get(file)
        if download is not None and is_it(download):
            return download
        if time.monotonic() > deadline:
            case.fail(f"{file.id} is not {what}, but {download and (download['state'], download['error'])}")
            return download or {}
        time.sleep(0.02)


def is_full(download: JSON) -> bool:
    return (download["state"], download["reason"]) == ("waiting", "diskFull")


def _full(case: Case, kind: str, by_itself: bool) -> None:
    """Downloads of unknown and known length on a disk that fills up; one on another disk continues."""
    other = case.folder / "other"
    other.mkdir()
    with small_disk(case, kind, case.data, 8), mounted(other, "-t", "tmpfs"):
        big = case.add("big", 4 * PIECE, chunked=True)
        known = case.add("known", 5 * PIECE)
        elsewhere = case.add("elsewhere", 3 * PIECE, path=other / "elsewhere")
        hog = fill(case.data, 2 * PIECE + 30_000)
        case.launch()
        for file in (big, known, elsewhere):
            case.start(file)
        told = [wait_told(case, file, is_full, "waiting for space") for file in (big, known)]
        for download in told:
            if download and (download["error"] or {}).get("errno") != errno.ENOSPC:
                case.fail(f"a full disk is reported as {download['error']}")
        wait_told(case, elsewhere, lambda d: d["state"] == "completed", "completed on the other disk")
        late = case.add("late", 6 * PIECE)
        case.start(late)
        wait_told(case, late, is_full, "waiting for space")
        case.check_names()
        for file, download in zip((big, known), told):
            file.held_bytes = download.get("receivedBytes", 0)
            file.seen_requests = len(case.server.requests(f"/{case.prefix}/{file.id}"))
        hog.unlink()
        if by_itself:
            for file in (big, known, late):
                wait_told(case, file, lambda d: d["state"] == "completed", "completed", ROOM_SECONDS)
        case.finish_all()
        _check_kept(case, (big, known))
        _end(case)


def _check_kept(case: Case, files: tuple[File, ...]) -> None:
    for file in files:
        later = case.server.requests(f"/{case.prefix}/{file.id}")[file.seen_requests :]
        for request in later[:1]:
            count = resume_start(file.held_bytes) - request.range_start
            if count > 0:
                case.fail(f"{file.id}: {count} bytes that were kept on the full disk were fetched again")
                case.refetched_bytes = max(case.refetched_bytes, count)


def full_tmpfs(case: Case) -> None:
    _full(case, "tmpfs", False)


def full_ext4(case: Case) -> None:
    _full(case, "ext4", False)


def full_until_room(case: Case) -> None:
    _full(case, "tmpfs", True)


def full_state(case: Case) -> None:
    """The disk of the state is full: active downloads continue, what cannot be recorded is refused."""
    case.state.mkdir()
    with mounted(case.state, "-t", "tmpfs", "-o", "size=2m,mode=700"):
        file = case.add("f", 4 * PIECE, held_after=2 * PIECE)
        refused = case.add("g", 1_000)
        case.launch()
        case.start(file)
        case.wait_held(file)
        hog = fill(case.state, 0)
        count = 0
        # The log may have space for a few more.
        while count < 300 and case.ask("update", file, id=file.id, metadata={"n": count}) is not None:
            count += 1
        if count == 300:
            case.fail("300 updates were recorded on a full disk")
        case.start(refused)
        case.open_gates()
        case.settle([file])
        case.check_names()
        hog.unlink()
        case.finish_all()
        _end(case)


def read_only(case: Case) -> None:
    """The disk becomes read-only while a download is paused."""
    with mounted(case.data, "-t", "tmpfs", "-o", "size=8m"):
        file = case.add("f", 4 * PIECE, held_after=2 * PIECE + 99)
        late = case.add("g", PIECE)
        case.launch()
        case.start(file)
        case.wait_held(file)
        case.ask("pause", file, id=file.id)
        case.open_gates()
        _remount(case.data, "ro")
        case.ask("resume", file, id=file.id)
        case.settle()
        download = case.get(file)
        told = download and (download["state"], (download["error"] or {}).get("kind"))
        if told != ("failed", "io"):
            case.fail(f"on a read-only disk it is {told}")
        if case.start(late):
            case.settle([late])
        _remount(case.data, "rw")
        case.finish_all()
        _end(case)


def _remount(path: Path, mode: str) -> None:
    # The service closes descriptors in the background.
    for _ in range(100):
        done = subprocess.run(["mount", "-o", f"remount,{mode}", str(path)], capture_output=True, text=True)
        if done.returncode == 0:
            return
        time.sleep(0.05)
    raise AssertionError(f"the disk cannot be made {mode}: {done.stderr}")


def few_descriptors(case: Case) -> None:
    """No descriptor is free to open a file or to connect."""
    file, late = case.add("f", 3 * PIECE), case.add("g", PIECE)
    head = threading.Event()
    case.server.resources[f"/{case.prefix}/f"].default = Behaviour(hold_head=head)
    case.launch()
    case.start(file)
    case.server.wait_requests(f"/{case.prefix}/f", 1)
    assert case.host is not None
    process = case.host.process.pid
    numbers = [int(name) for name in os.listdir(f"/proc/{process}/fd")]
    limits = resource.prlimit(process, resource.RLIMIT_NOFILE)
    free = min(set(range(len(numbers) + 1)) - set(numbers))
    resource.prlimit(process, resource.RLIMIT_NOFILE, (free, limits[1]))
    case.start(late)
    head.set()
    for one in (file, late):
        if not one.promises.get("exists"):
            continue
        # The download with a connection fails first at the file; all other tries fail at the connection.
        download = wait_told(
            case, one, lambda d: d["state"] in ("waiting", "failed"), "waiting for a descriptor"
        )
        error = (download or {}).get("error") or {}
        if (error.get("kind"), error.get("errno")) not in (("io", errno.EMFILE), ("connect", errno.EMFILE)):
            case.fail(f"{one.id} has {error} when no descriptor is free")
        if download and download["state"] == "failed":
            case.fail(f"{one.id} has failed instead of waiting for a descriptor")
    case.check_names()
    resource.prlimit(process, resource.RLIMIT_NOFILE, limits)
    case.server.resources[f"/{case.prefix}/f"].default = Behaviour()
    case.finish_all()
    _end(case)


def file_size(case: Case) -> None:
    """The process may not write long files: EFBIG, and a signal that must not kill it."""
    file = case.add("f", 2 << 20, chunked=case.random.random() < 0.5)
    case.launch()
    assert case.host is not None
    process = case.host.process.pid
    limits = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    case.start(file)
    case.settle()
    download = case.get(file)
    told = download and (download["state"], (download["error"] or {}).get("kind"))
    if told != ("failed", "fileTooLarge"):
        case.fail(f"with a limit of 1 MiB, a file of 2 MiB is {told}")
    case.check_names()
    resource.prlimit(process, resource.RLIMIT_FSIZE, limits)
    case.finish_all()
    _end(case)


def directory_deleted(case: Case) -> None:
    """The directory is deleted with all its files, and created again."""
    file = _halfway(case)
    shutil.rmtree(case.data)
    case.open_gates()
    case.settle()
    download = case.get(file)
    kind = download and (download["error"] or {}).get("kind")
    if kind not in ("destinationGone", "partialReplaced"):
        case.fail(f"without its directory it is {download and download['state']} {kind}")
    case.data.mkdir()
    case.finish_all()
    _end(case)


def directory_moved(case: Case) -> None:
    """The directory is moved away, and back."""
    file = _halfway(case)
    aside = case.folder / "aside"
    case.data.rename(aside)
    case.open_gates()
    case.settle()
    case.check_names()
    download = case.get(file)
    if download is None or download["state"] != "failed":
        case.fail(f"without its directory it is {download and download['state']}")
    aside.rename(case.data)
    file.seen_requests = len(case.server.requests(f"/{case.prefix}/{file.id}"))
    file.held_bytes = download["receivedBytes"] if download else 0
    case.finish_all()
    _check_kept(case, (file,))
    _end(case)


def _halfway(case: Case) -> File:
    file = case.add("f", 5 * PIECE, held_after=3 * PIECE + 7)
    case.launch()
    case.start(file)
    case.wait_held(file)
    return file


def partial_deleted(case: Case) -> None:
    """Somebody deletes the partial file, or puts another file in its place."""
    _halfway(case)
    partial = case.data / "f.towline"
    partial.unlink()
    others = []
    if case.random.random() < 0.5:
        partial.write_bytes(b"not ours")
        others.append("f.towline")
    case.open_gates()
    case.settle()
    case.check_names()
    case.finish_all()
    _end(case, *others)


#: Calls that hang; each scenario also pauses.
HANGS = (("write",), ("open",), ("fdatasync",), ("fsync", "rename"), ("write", "open", "truncate", "close"))


def hung_data(case: Case) -> None:
    """The data disk hangs: pause and exit are in time, and downloads to other disks continue."""
    other = case.folder / "other"
    other.mkdir()
    with mounted(other, "-t", "tmpfs"):
        file = case.add("f", 5 * PIECE, held_after=3 * PIECE + 7)
        elsewhere = case.add("elsewhere", 3 * PIECE, path=other / "elsewhere")
        case.launch()
        case.shim.arm(DATA, case.random.choice(HANGS), 1, for_ever=True, mode=DELAY, delay_ms=4_000)
        case.start(file)
        case.start(elsewhere)
        case.settle([elsewhere])
        if not elsewhere.promises.get("completed"):
            case.fail("a disk that hangs delays a download on another disk")
        took = _time(lambda: case.ask("pause", file, id=file.id))
        if took > PAUSE_SECONDS:
            case.fail(f"a pause took {took:.2f} s on a disk that hangs")
        case.ask("resume", file, id=file.id)
        case.open_gates()
        time.sleep(case.random.random() * 0.3)
        _leave_in_time(case)
        case.shim.repair()
        case.launch()
        case.check_promises()
        case.finish_all()
        _end(case)


def hung_start(case: Case) -> None:
    """The check of a destination hangs: that start is finally refused, and the next one is not affected."""
    other = case.folder / "other"
    other.mkdir()
    with mounted(other, "-t", "tmpfs"):
        file = case.add("f", PIECE)
        elsewhere = case.add("elsewhere", PIECE, path=other / "elsewhere")
        case.launch()
        case.shim.arm(DATA, ("open", "stat"), 1, for_ever=True, mode=DELAY, delay_ms=30_000)
        assert case.host is not None
        first = case.host.send("start", file.params)
        # By then the service knows that the check hangs; a start sent at the same time would wait with it.
        time.sleep(0.5)
        took = _time(lambda: case.start(elsewhere))
        if took > START_SECONDS:
            case.fail(f"a start took {took:.2f} s because the disk of another one hangs")
        case.settle([elsewhere])
        if not elsewhere.promises.get("completed"):
            case.fail("a disk that hangs delays a download on another disk")
        refusal = case.host.response(first).get("error") or {}
        if (refusal.get("data") or {}).get("kind") != "storageFailure":
            case.fail(f"a start on a disk that hangs was answered with {refusal}")
        case.shim.repair()
        case.finish_all()
        _end(case)


def hung_state(case: Case) -> None:
    """The disk of the state hangs: the service still answers, and exits in time."""
    file = case.add("f", 5 * PIECE, held_after=3 * PIECE + 7)
    case.launch()
    case.start(file)
    case.wait_held(file)
    calls = case.random.choice((("write",), ("fdatasync",), ("write", "fdatasync", "lock")))
    case.shim.arm(STATE, calls, 1, for_ever=True, mode=DELAY, delay_ms=3_000)
    assert case.host is not None
    case.host.send("update", {"id": file.id, "metadata": {"row": 1}})
    took = _time(lambda: case.host.call("ping") if case.host else None)
    if took > PAUSE_SECONDS:
        case.fail(f"a ping took {took:.2f} s while the disk of the state hangs")
    case.open_gates()
    _leave_in_time(case)
    case.shim.repair()
    case.launch()
    case.check_promises()
    case.finish_all()
    _end(case)


def _time(action: Callable[[], object]) -> float:
    began = time.monotonic()
    action()
    return time.monotonic() - began


def _leave_in_time(case: Case) -> None:
    took = _time(lambda: leave(case))
    if took > END_SECONDS:
        case.fail(f"the exit took {took:.2f} s on a disk that hangs")


def _end(case: Case, *others: str) -> None:
    """The service exits, and nothing but the allowed files is left."""
    case.hear()
    leave(case)
    case.check_database()
    case.check_flushed()
    wanted = {file.path.name for file in case.files.values()}
    for path in sorted(case.data.iterdir()):
        if path.name not in wanted | {"lost+found", *others}:
            case.fail(f"{path.name} was left behind")


#: Each with its number of cases, which differ by seed.
DISKS: dict[str, tuple[Callable[[Case], None], int]] = {
    scenario.__name__: (scenario, count)
    for scenario, count in (
        (full_tmpfs, 12),
        (full_ext4, 12),
        (full_until_room, 2),
        (full_state, 12),
        (read_only, 8),
        (few_descriptors, 8),
        (file_size, 8),
        (directory_deleted, 8),
        (directory_moved, 8),
        (partial_deleted, 10),
        (hung_data, 20),
        (hung_start, 2),
        (hung_state, 10),
    )
}


def run_disk(
    binary: Path, library: Path, server: ScriptedServer, folder: Path, random: Random, name: str, prefix: str
) -> Result:
    case = Case(binary, library, server, folder, random, prefix)
    try:
        DISKS[name][0](case)
    except Lacking as lack:
        return Result(lacks=str(lack))
    except Over:
        pass
    finally:
        case.close()
    case.counts[f"disks: {name}"] += 1
    failures = [f"{text}\n  at {name}" for text in dict.fromkeys(case.failures)]
    return Result(failures=failures, refetched_bytes=case.refetched_bytes, counts=case.counts)
