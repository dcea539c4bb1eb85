"""What a scenario wrote to its disks, in order, and the states that a power loss may leave of it."""

from __future__ import annotations

import bisect
import json
import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from power_loss import volumes

#: What a disk writes whole or not at all.
UNIT = 4096
WRITE, FLUSH = 1, 2
HEAD = struct.Struct("<IIQQQ")
#: A flush of much data is a row of such writes, none later than that after the one before.
LARGE_WRITE, PAUSE_NS = 65_536, 150_000_000
#: After so many flushes it is recorded: the data's, its record's, and some of what else goes on.
RECORD_FLUSHES = 6
MODES = ("none", "all", "prefix", "few", "half", "most", "one", "all but one")


@dataclass(frozen=True)
class Entry:
    """One write or flush of a disk."""

    kind: int
    disk: int
    offset: int
    length: int
    time_ns: int
    #: Where its bytes begin in the log, and where the entry ends.
    start: int
    end: int


@dataclass(frozen=True)
class Moment:
    """Something that the host sent or read, and how long the log was then."""

    position: int
    time_ns: int
    #: Of the service: a new one each time that it was started.
    process: int
    #: True for what the host sent.
    is_sent: bool
    message: dict[str, Any]


@dataclass(frozen=True)
class Cut:
    """When the power goes, and what of each disk's writes since its last flush is there nevertheless."""

    #: Entries of the log that came before.
    entries: int
    #: For each disk: offset on the disk and in the log of each unit that is there, in order.
    kept: tuple[tuple[tuple[int, int, int], ...], ...]
    modes: tuple[str, ...]


@dataclass(frozen=True)
class Before:
    """What is known of the time before a cut."""

    moments: list[Moment]
    #: The longest that a checkpoint took.
    flush_ns: int


class Recording:
    """Read from the folder that `scenario.record` has filled."""

    def __init__(self, folder: Path) -> None:
        about = json.loads((folder / "recording.json").read_text())
        self.folder = folder
        self.kind: str = about["kind"]
        self.disk_count: int = about["disks"]
        #: The volumes' device numbers.
        self.devices: list[int] = about["devices"]
        #: The longest flush before an earlier power loss.
        self.earlier_flush_ns: int = about["flushNs"]
        self.moments = [Moment(**moment) for moment in about["moments"]]
        with (folder / "log").open("rb") as file:
            self._log = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self.entries = self._read(about["end"])
        self._ends = [entry.end for entry in self.entries]

    def close(self) -> None:
        self._log.close()

    def _read(self, end: int) -> list[Entry]:
        entries, at = [], 0
        while at < end:
            kind, disk, offset, length, time_ns = HEAD.unpack_from(self._log, at)
            start = at + HEAD.size
            at = start + length
            entries.append(Entry(kind, disk, offset, length, time_ns, start, at))
        return entries

    def entries_before(self, position: int) -> int:
        """How many entries the log had when it was that long."""
        return bisect.bisect_right(self._ends, position)

    def before(self, cut: Cut) -> Before:
        position = self._ends[cut.entries - 1] if cut.entries else 0
        moments = [moment for moment in self.moments if moment.position <= position]
        return Before(moments, max(self.earlier_flush_ns, self._longest_flush_ns(cut.entries)))

    def _longest_flush_ns(self, count: int) -> int:
        """From the first large write of a row of them to the flush of the record that follows the row."""
        longest = begin = last = flushes = 0
        for entry in self.entries[:count]:
            if entry.kind == WRITE and entry.length >= LARGE_WRITE:
                if entry.time_ns - last > PAUSE_NS:
                    begin = entry.time_ns
                last, flushes = entry.time_ns, 0
            elif entry.kind == FLUSH:
                flushes += 1
            if begin and flushes <= RECORD_FLUSHES:
                longest = max(longest, entry.time_ns - begin)
        return longest

    def told(self, with_progress: bool) -> list[Moment]:
        """What the service said while this was recorded."""
        said = [moment for moment in self.moments if not moment.is_sent and moment.position > 0]
        return [moment for moment in said if with_progress or moment.message.get("method") != "progress"]

    # States

    def choose(self, random: Random) -> Cut:
        """A moment, more often than not one that matters, and for each disk what was written out of order."""
        pick = random.random()
        told = [moment.position for moment in self.told(with_progress=False)]
        if pick < 0.35:
            count = self.entries_before(random.choice(told)) + random.choice((0, 0, 0, 1, 2))
        elif pick < 0.55:
            flushes = [i for i, entry in enumerate(self.entries) if entry.kind == FLUSH]
            count = random.choice(flushes) + random.choice((-1, 0, 1, 1, 2, 3))
        else:
            count = random.randint(0, len(self.entries))
        count = min(max(count, 0), len(self.entries))
        modes = tuple(random.choice(MODES) for _ in range(self.disk_count))
        kept = tuple(self._subset(disk, count, mode, random) for disk, mode in enumerate(modes))
        return Cut(count, kept, modes)

    def at_once(self, position: int) -> Cut:
        """The power goes when the log is that long, and only what was flushed is there."""
        return Cut(self.entries_before(position), ((),) * self.disk_count, ("none",) * self.disk_count)

    def _flushed(self, disk: int, count: int) -> int:
        """The number of entries up to the last flush of the disk among the first `count`."""
        for index in range(count - 1, -1, -1):
            if self.entries[index].kind == FLUSH and self.entries[index].disk == disk:
                return index
        return 0

    def _subset(self, disk: int, count: int, mode: str, random: Random) -> tuple[tuple[int, int, int], ...]:
        units = []
        for entry in self.entries[self._flushed(disk, count) : count]:
            if entry.kind != WRITE or entry.disk != disk:
                continue
            units += [
                (entry.offset + at, entry.start + at, min(UNIT, entry.length - at))
                for at in range(0, entry.length, UNIT)
            ]
        if not units or mode == "none":
            return ()
        if mode == "prefix":
            return tuple(units[: random.randint(0, len(units))])
        if mode in ("one", "all but one"):
            one = random.randrange(len(units))
            return (units[one],) if mode == "one" else tuple(units[:one] + units[one + 1 :])
        share = {"few": 0.1, "half": 0.5, "most": 0.9, "all": 1.0}[mode]
        return tuple(unit for unit in units if random.random() < share)

    def build(self, cut: Cut, images: Sequence[Path]) -> None:
        """Makes the disks as they are after the cut."""
        for disk, image in enumerate(images):
            volumes.copy_sparse(self.folder / f"base{disk}", image)
            with image.open("r+b", buffering=0) as file, memoryview(self._log) as log:
                for entry in self.entries[: self._flushed(disk, cut.entries)]:
                    if entry.kind == WRITE and entry.disk == disk:
                        file.seek(entry.offset)
                        file.write(log[entry.start : entry.end])
                for offset, start, length in cut.kept[disk]:
                    file.seek(offset)
                    file.write(log[start : start + length])
