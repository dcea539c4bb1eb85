"""All points at which a call fails: (scenario, side, call, n-th, how, errno, once or always from then on)."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .shim import FAIL, SHORTEN

#: How many calls each scenario makes while the fault is active, counted by profile.py. It need not be exact:
#: a point that is not reached is counted as such.
PROFILE: dict[str, dict[str, dict[str, int]]] = json.loads(
    Path(__file__).with_name("profile.json").read_text()
)

ERRORS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EIO,
    errno.EROFS,
    errno.EXDEV,
    errno.EMFILE,
    errno.EFBIG,
)
#: Calls that fail with every errno at each of the first ten points; the others get two of them, in turn.
MAIN_CALLS = ("open", "write", "fdatasync", "fsync", "truncate", "allocate", "rename", "link", "unlink")
#: Calls that never fail because of a full disk.
ROOMLESS_CALLS = ("stat", "read", "lock", "map")
#: Calls that fail on a disk that is broken or read-only.
DEVICE_CALLS = (
    "open",
    "write",
    "fdatasync",
    "fsync",
    "syncfs",
    "truncate",
    "allocate",
    "rename",
    "link",
    "unlink",
    "mkdir",
)
#: This scenario takes seconds, so it has only points that no other scenario has.
SLOW = "checkpoint"


@dataclass(frozen=True)
class Point:
    scenario: str
    side: str
    calls: tuple[str, ...]
    nth: int
    mode: int
    error: int
    for_ever: bool

    def __str__(self) -> str:
        name = "+".join(self.calls) if len(self.calls) < 3 else "everything"
        how = "a short write and then " if self.mode == SHORTEN else ""
        when = f"from the {self.nth}. on" if self.for_ever else f"at the {self.nth}."
        return f"{self.scenario}: {how}{errno.errorcode[self.error]} of {name} on {self.side} {when}"


def _numbers(count: int) -> list[int]:
    """All of the first ten, then fewer and fewer."""
    return [n for n in range(1, count + 1) if n <= 10 or (n <= 40 and n % 3 == 0) or n % 8 == 0]


def _errors(call: str, nth: int) -> tuple[int, ...]:
    if call in MAIN_CALLS and nth <= 10:
        return ERRORS
    if call in ROOMLESS_CALLS:
        return ERRORS[2 + nth % 5], ERRORS[2 + (nth + 2) % 5]
    return ERRORS[nth % 7], ERRORS[(nth + 3) % 7]


def _slow_points() -> Iterator[Point]:
    numbers = {("data", "fdatasync"): (1, 2), ("data", "write"): (70, 75), ("state", "fdatasync"): (4, 5)}
    for (side, call), nths in numbers.items():
        for nth in nths:
            for error in (errno.ENOSPC, errno.EIO):
                for for_ever in (False, True):
                    yield Point(SLOW, side, (call,), nth, FAIL, error, for_ever)


def _points() -> Iterator[Point]:
    yield from _slow_points()
    for scenario, sides in PROFILE.items():
        if scenario == SLOW:
            continue
        for side, calls in sides.items():
            for call, count in calls.items():
                for nth in _numbers(count):
                    for error in _errors(call, nth):
                        # The service waits ten seconds for a lock, so locks fail only once.
                        for for_ever in (False, True)[: 1 if call == "lock" else 2]:
                            yield Point(scenario, side, (call,), nth, FAIL, error, for_ever)
                    if call == "write":
                        yield Point(scenario, side, (call,), nth, SHORTEN, errno.ENOSPC, False)
                        yield Point(scenario, side, (call,), nth, SHORTEN, errno.ENOSPC, True)
            whole = sum(count for call, count in calls.items() if call in DEVICE_CALLS)
            for nth in _numbers(whole):
                yield Point(scenario, side, DEVICE_CALLS, nth, FAIL, (errno.EIO, errno.EROFS)[nth % 2], True)


POINTS = list(_points())
