"""Builds the library to preload (shim.c), controls it, and reads its log."""

from __future__ import annotations

import ctypes
import mmap
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")

LOG_LENGTH = 524288
PATH_LENGTH = 256
#: In the order of the enum in shim.c.
CALLS = (
    "open",
    "write",
    "read",
    "fdatasync",
    "fsync",
    "syncfs",
    "truncate",
    "allocate",
    "rename",
    "unlink",
    "mkdir",
    "chmod",
    "stat",
    "close",
    "lock",
    "map",
    "link",
)
DATA, STATE = 1, 2
SIDES = {"data": DATA, "state": STATE}
FAIL, SHORTEN, DELAY, KILL = range(4)
FOR_EVER = 2**32 - 1


class _Entry(ctypes.Structure):
    _fields_ = (
        ("side", ctypes.c_uint8),
        ("call", ctypes.c_uint8),
        ("failed", ctypes.c_uint8),
        ("injected", ctypes.c_uint8),
        ("error", ctypes.c_int32),
        ("inode", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("length", ctypes.c_int64),
    )


class _Control(ctypes.Structure):
    _fields_ = (
        ("armed", ctypes.c_uint32),
        ("side", ctypes.c_uint32),
        ("calls", ctypes.c_uint32),
        ("mode", ctypes.c_uint32),
        ("nth", ctypes.c_uint32),
        ("last", ctypes.c_uint32),
        ("error", ctypes.c_uint32),
        ("delay_ms", ctypes.c_uint32),
        ("hits", ctypes.c_uint32),
        ("fired", ctypes.c_uint32),
        ("counts", ctypes.c_uint64 * len(CALLS) * 3),
        ("prefix", ctypes.c_char * PATH_LENGTH * 3),
        ("logged", ctypes.c_uint32),
        ("log", _Entry * LOG_LENGTH),
    )


@dataclass(frozen=True)
class Entry:
    """One call that the library has logged."""

    side: int
    call: str
    error: int
    injected: bool
    inode: int
    offset: int
    length: int


def build(folder: Path) -> Path:
    """Compiles the library."""
    library = folder / "shim.so"
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", str(library), str(SOURCE), "-ldl"], check=True)
    return library


class Shim:
    """The control block and the log of one case; several processes can use it, one after the other."""

    def __init__(self, library: Path, folder: Path, data: Path, state: Path) -> None:
        self.shim = library
        self.path = folder / "control"
        with self.path.open("wb") as file:
            file.truncate(ctypes.sizeof(_Control))
        with self.path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self._control = _Control.from_buffer(self._map)
        for side, prefix in ((DATA, data), (STATE, state)):
            self._control.prefix[side].value = str(prefix).encode()

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.shim), "FAULTS_CONTROL": str(self.path)}

    def arm(
        self,
        side: int,
        calls: tuple[str, ...],
        nth: int = 1,
        *,
        error: int = 0,
        for_ever: bool = False,
        mode: int = FAIL,
        delay_ms: int = 0,
    ) -> None:
        """From now on the n-th of these calls fails, or all from the n-th on."""
        control = self._control
        control.armed = 0
        control.side = side
        control.calls = sum(1 << CALLS.index(call) for call in calls)
        control.mode, control.error, control.delay_ms = mode, error, delay_ms
        control.nth, control.last = nth, FOR_EVER if for_ever else nth
        control.hits = control.fired = 0
        control.armed = 1

    def repair(self) -> None:
        """Lets all calls pass from now on."""
        self._control.armed = 0

    @property
    def fired(self) -> int:
        """How many calls have failed since `arm`."""
        return int(self._control.fired)

    def counts(self) -> dict[str, dict[str, int]]:
        """How many calls there were on each side."""
        rows = self._control.counts
        return {
            name: {call: int(rows[side][n]) for n, call in enumerate(CALLS) if rows[side][n]}
            for name, side in SIDES.items()
        }

    def log(self) -> list[Entry]:
        """All calls in order; a flush is logged at its start, every other call at its end."""
        end = min(int(self._control.logged), LOG_LENGTH)
        return [
            Entry(e.side, CALLS[e.call], e.error, bool(e.injected), e.inode, e.offset, e.length)
            for e in self._control.log[:end]
        ]

    @property
    def is_log_whole(self) -> bool:
        return int(self._control.logged) <= LOG_LENGTH

    def close(self) -> None:
        del self._control
        self._map.close()
