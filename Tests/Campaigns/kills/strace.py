"""Kills a process at the n-th system call of a kind, or counts its calls, by strace."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Calls that change what is on disk, or who may.
CALLS = (
    "openat,creat,mkdir,mkdirat,unlink,unlinkat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,"
    "pwrite64,pwritev,pwritev2,write,writev,ftruncate,truncate,fallocate,sync_file_range,copy_file_range,"
    "fdatasync,fsync,syncfs,sync,msync,fchmod,chmod,fchmodat,utimensat,fsetxattr,fcntl,flock"
)
#: Of these only the ones with such an argument.
ONLY = {"openat": ("O_CREAT", "O_TMPFILE"), "fcntl": ("OFD_SETLK",)}
#: The place of a call whose path is not known before the process runs: counted wherever it goes.
ANYWHERE = "*"
#: Of those only these can be met by their number: no thread makes as many before.
EARLY_CALLS = ("openat", "mkdir", "unlink", "fcntl")
ATTACH_SECONDS = 5.0

Places = Mapping[str, Sequence[Path]]


@dataclass(frozen=True)
class Point:
    """Where to kill: before the n-th call of a kind, at files of one place, that one thread makes."""

    scenario: str
    call: str
    place: str
    n: int

    @property
    def kind(self) -> tuple[str, str, str]:
        return (self.scenario, self.call, self.place)

    def __str__(self) -> str:
        return f"{self.scenario}: {self.call} {self.place} {self.n}"


def kill_arguments(point: Point, places: Places, log: Path) -> list[str]:
    """strace that kills at the point.  The call itself does not happen any more.

    Without `--seccomp-bpf`, which would be quicker: strace 6.1 then loses the signal.
    """
    arguments = ["strace", "-f", "-q", "-o", str(log), "-e", "signal=none", "-e", f"trace={point.call}"]
    arguments += ["-e", f"inject={point.call}:signal=KILL:when={point.n}"]
    return arguments + paths_arguments(point.place, places)


def delay_arguments(point: Point, places: Places, log: Path, seconds: float) -> list[str]:
    """strace that holds the call up instead."""
    arguments = ["strace", "-f", "-q", "-o", str(log), "-e", "signal=none", "-e", f"trace={point.call}"]
    arguments += ["-e", f"inject={point.call}:delay_enter={int(seconds * 1e6)}:when={point.n}"]
    return arguments + paths_arguments(point.place, places)


def paths_arguments(place: str, places: Places) -> list[str]:
    return [] if place == ANYWHERE else [word for path in places[place] for word in ("-P", str(path))]


def count_arguments(log: Path) -> list[str]:
    """strace that only tells."""
    return [
        "strace",
        "-f",
        "-q",
        "-y",
        "-s",
        "300",
        "-o",
        str(log),
        "-e",
        "signal=none",
        "-e",
        f"trace={CALLS}",
    ]


def attach(arguments: Sequence[str], process_id: int) -> subprocess.Popen[bytes]:
    """Runs strace on a process that is there already; returns when it has all of its threads."""
    strace = subprocess.Popen([*arguments, "-p", str(process_id)], stderr=subprocess.PIPE)
    deadline = time.monotonic() + ATTACH_SECONDS
    while not all_traced(process_id):
        if time.monotonic() > deadline or strace.poll() is not None:
            strace.kill()
            raise RuntimeError(f"strace did not attach: {strace.communicate()[1]!r}")
        time.sleep(0.001)
    return strace


def kill_child(strace_id: int) -> None:
    """Kills the process that strace started; strace then ends likewise."""
    with suppress(OSError):
        for child in Path(f"/proc/{strace_id}/task/{strace_id}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)


def all_traced(process_id: int) -> bool:
    for status in Path(f"/proc/{process_id}/task").glob("*/status"):
        with suppress(OSError):
            if "TracerPid:\t0\n" in status.read_text():
                return False
    return True


LINE = re.compile(r"^(\d+) +(\w+)\((.*)")
DESCRIPTOR = re.compile(r"^\d+<([^>]*)>")
QUOTED = re.compile(r'"([^"]*)"')


def counted(log: Path, scenario: str, place_of: Callable[[Path], str | None]) -> set[Point]:
    """The points that a process passed, by the log of `count_arguments`."""
    here: Counter[tuple[str, str, str]] = Counter()
    anywhere: Counter[tuple[str, str]] = Counter()
    points = set()
    for line in log.read_text(errors="replace").splitlines():
        found = LINE.match(line)
        if found is None:
            continue
        thread, call, rest = found.groups()
        anywhere[thread, call] += 1
        path = DESCRIPTOR.match(rest) or QUOTED.search(rest)
        place = place_of(Path(path[1])) if path is not None else None
        if place is None:
            continue
        here[thread, call, place] += 1
        if place == ANYWHERE and call not in EARLY_CALLS:
            continue
        if call in ONLY and not any(word in rest for word in ONLY[call]):
            continue
        n = anywhere[thread, call] if place == ANYWHERE else here[thread, call, place]
        points.add(Point(scenario, call, place, n))
    return points
