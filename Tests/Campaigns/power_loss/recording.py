"""The writes of a scenario to its disks, in order, and the states that a power loss can leave."""

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

#: A disk writes this much completely or not at all.
UNIT = 4096
WRITE, FLUSH = 1, 2
HEAD = struct.Struct("<IIQQQ")
#: A flush of much data is a row of writes of at least this size, with no longer pause between two of them.
LARGE_WRITE, PAUSE_NS = 65_536, 150_000_000
#: It is recorded after this many flushes: of the data, of its record, and of other work meanwhile.
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
    """A message that the host sent or read, and the length of the log at that time."""

    position: int
    time_ns: int
    #: The number of the service's process; each start has a new one.
    process: int
    #: True if the host sent it.
    is_sent: bool
    message: dict[str, Any]


@dataclass(frozen=True)
class Cut:
    """When the power fails, and which writes since each disk's last flush are there nevertheless."""

    #: Log entries before the power loss.
    entries: int
    #: For each disk: offset on the disk, offset in the log and length of each surviving unit, in order.
    kept: tuple[tuple[tuple[int, int, int], ...], ...]
    modes: tuple[str, ...]


@dataclass(frozen=True)
class Before:
    """What is known about the time before a cut."""

    moments: list[Moment]
    #: The longest time that a checkpoint took.
    flush_ns: int


class Recording:
    """A recording, read from the folder that `Studio.record` has filled."""

    def __init__(self, folder: Path) -> None:
        about = json.loads((folder / "recording.json").read_text())
        self.folder = folder
        self.kind: str = about["kind"]
        self.disk_count: int = about["disks"]
        #: The device numbers of the volumes.
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
        """How many entries the log had at this length."""
        return bisect.bisect_right(self._ends, position)

    def before(self, cut: Cut) -> Before:
        position = self._ends[cut.entries - 1] if cut.entries else 0
        moments = [moment for moment in self.moments if moment.position <= position]
        return Before(moments, max(self.earlier_flush_ns, self._longest_flush_ns(cut.entries)))

    def _longest_flush_ns(self, count: int) -> int:
        """The longest time from the first write of a row of large ones to the flush of its record."""
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
        """The messages of the service during the recording."""
        said = [moment for moment in self.moments if not moment.is_sent and moment.position > 0]
        return [moment for moment in said if with_progress or moment.message.get("method") != "progress"]

    # States

    def choose(self, random: Random) -> Cut:
        """A moment, often an important one, and for each disk the writes that survive out of order."""
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
        """The power fails at this length of the log, and only flushed writes survive."""
        return Cut(self.entries_before(position), ((),) * self.disk_count, ("none",) * self.disk_count)

    def _flushed(self, disk: int, count: int) -> int:
        """The index of the disk's last flush among the first `count` entries; 0 if there is none."""
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
