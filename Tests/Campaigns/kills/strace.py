"""Uses strace to kill a process at the n-th system call of a kind, or to count its calls."""

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

#: Calls that change what is on disk, or who may use it.
CALLS = (
    "openat,creat,mkdir,mkdirat,unlink,unlinkat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,"
    "pwrite64,pwritev,pwritev2,write,writev,ftruncate,truncate,fallocate,sync_file_range,copy_file_range,"
    "fdatasync,fsync,syncfs,sync,msync,fchmod,chmod,fchmodat,utimensat,fsetxattr,fcntl,flock"
)
#: These calls count only with such an argument.
ONLY = {"openat": ("O_CREAT", "O_TMPFILE"), "fcntl": ("OFD_SETLK",)}
#: The place of a call whose path is unknown before the process runs: counted at any path.
ANYWHERE = "*"
#: The place of a call on a file that was created without a name, which strace cannot identify by path.
UNNAMED = "unnamed"
#: Prefix of places that name a thread: there the calls of that thread are counted, if it already exists.
THREAD = "@"
#: Only these calls can be met by their number at ANYWHERE: no other thread makes as many before.
EARLY_CALLS = ("openat", "mkdir", "unlink", "fcntl")
ATTACH_SECONDS = 5.0

Places = Mapping[str, Sequence[Path]]


@dataclass(frozen=True)
class Point:
    """Where to kill: before the n-th call of a kind, at files of one place or by one thread."""

    scenario: str
    call: str
    place: str
    n: int

    @property
    def kind(self) -> tuple[str, str, str]:
        return (self.scenario, self.call, self.place)

    def __str__(self) -> str:
        return f"{self.scenario}: {self.call} {self.place} {self.n}"


@dataclass(frozen=True)
class Command:
    """strace and its arguments."""

    words: list[str]
    #: The only thread that it watches; None: all threads.
    thread: int | None = None

    def start(self, process_id: int) -> subprocess.Popen[bytes]:
        """Attaches it to a running process; returns when it traces the threads."""
        words = [*self.words, "-p", str(self.thread or process_id)]
        strace = subprocess.Popen(words, stderr=subprocess.PIPE)
        deadline = time.monotonic() + ATTACH_SECONDS
        while not is_traced(process_id, self.thread):
            if time.monotonic() > deadline or strace.poll() is not None:
                strace.kill()
                raise RuntimeError(f"strace did not attach: {strace.communicate()[1]!r}")
            time.sleep(0.001)
        return strace


def injecting(point: Point, what: str, places: Places, process_id: int | None, log: Path) -> Command:
    words = ["strace", "-q", "-o", str(log), "-e", "signal=none", "-e", f"trace={point.call}"]
    words += ["-e", f"inject={point.call}:{what}:when={point.n}"]
    if point.place.startswith(THREAD) and process_id is not None:
        return Command(words, threads(process_id)[point.place])
    words.append("-f")
    if point.place != ANYWHERE:
        words += [word for path in places[point.place] for word in ("-P", str(path))]
    return Command(words)


def killing(point: Point, places: Places, process_id: int | None, log: Path) -> Command:
    """Kills at the point. The call itself does not happen.

    Without `--seccomp-bpf`, which would be faster: with it, strace 6.1 loses the signal.
    """
    return injecting(point, "signal=KILL", places, process_id, log)


def delaying(point: Point, seconds: float, places: Places, process_id: int | None, log: Path) -> Command:
    """Delays the call."""
    return injecting(point, f"delay_enter={int(seconds * 1e6)}", places, process_id, log)


def counting(log: Path) -> Command:
    """Only logs the calls."""
    return Command(
        ["strace", "-f", "-q", "-y", "-s", "300", "-o", str(log), "-e", "signal=none", "-e", f"trace={CALLS}"]
    )


def threads(process_id: int) -> dict[str, int]:
    """The threads of a process, by place."""
    found = {}
    for task in sorted(Path(f"/proc/{process_id}/task").iterdir(), key=lambda path: -int(path.name)):
        with suppress(OSError):
            found[THREAD + (task / "comm").read_text().strip()] = int(task.name)
    return found


def is_traced(process_id: int, thread: int | None) -> bool:
    """True if strace traces the thread, or all threads."""
    for status in Path(f"/proc/{process_id}/task").glob(f"{thread or '*'}/status"):
        with suppress(OSError):
            if "TracerPid:\t0\n" in status.read_text():
                return False
    return True


def kill_child(strace_id: int) -> None:
    """Kills the process that strace started; strace then exits too."""
    with suppress(OSError):
        for child in Path(f"/proc/{strace_id}/task/{strace_id}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)


LINE = re.compile(r"^(\d+) +(\w+)\((.*)")
DESCRIPTOR = re.compile(r"^\d+<([^>]*)>")
QUOTED = re.compile(r'"(/[^"]*)"')


@dataclass
class Stage:
    """What was known about a process when strace started."""

    place_of: Callable[[Path], str | None]
    #: By place.
    threads: dict[str, int]

    def place(self, thread: str, rest: str) -> str | None:
        """The place of a call, from its arguments as strace prints them."""
        descriptor = DESCRIPTOR.match(rest)
        paths = [descriptor[1]] if descriptor is not None else QUOTED.findall(rest)
        places = [place for path in paths if (place := self.place_of(Path(path))) is not None]
        if UNNAMED in places:
            return next((name for name, number in self.threads.items() if str(number) == thread), None)
        return next((place for place in places if place != ANYWHERE), ANYWHERE if places else None)


def counted(log: Path, scenario: str, stage: Stage) -> set[Point]:
    """The points that a process reached, from the log of `counting`."""
    here: Counter[tuple[str, str, str]] = Counter()
    anywhere: Counter[tuple[str, str]] = Counter()
    points = set()
    for line in log.read_text(errors="replace").splitlines():
        found = LINE.match(line)
        if found is None:
            continue
        thread, call, rest = found.groups()
        anywhere[thread, call] += 1
        place = stage.place(thread, rest)
        if place is None:
            continue
        here[thread, call, place] += 1
        if place == ANYWHERE and call not in EARLY_CALLS:
            continue
        if call in ONLY and not any(word in rest for word in ONLY[call]):
            continue
        is_by_path = place != ANYWHERE and not place.startswith(THREAD)
        n = here[thread, call, place] if is_by_path else anywhere[thread, call]
        points.add(Point(scenario, call, place, n))
    return points
