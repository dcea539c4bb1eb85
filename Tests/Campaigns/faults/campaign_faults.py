"""Fault loops: every system call on files, of the data and of the state, fails once, or from then on.

A case is one point of a fixed, shuffled list (points.py: 18 scenarios by side by call by n-th by errno by
once or for ever): a service that runs its scenario (start, several at once, pause, cancel, remove, update,
taking over what a killed process left, a damaged database, the end …) under a preloaded library (shim.c) in
which that call fails. The calls are counted over all threads; those on data files and on the state
directory are told apart. The library makes a failed flush lose what it was to flush, and a full disk take
half of a write first. Then the fault ends: the disks are well again under the running service, or it is
killed, or told to go, and another one starts. In the end everything has to come to its end. The seed
chooses the contents and how the fault ends.

What must hold: no death but a refusal to start (70, 73 or 74, with a word why) and no silence; requests
answered, or refused with a kind for it; nothing but the whole file under a final name, flushed before it
was renamed, its directory after; for a fault of the data that stays, the kind and errno in the state, and
`waiting`, `diskFull` with all bytes held for a full disk; whatever was answered or told as completed still
so after the process has ended; after the repair the same `start` completes with the right bytes, fetches
nothing again that the service said it held (1 MiB after a kill), leaves no partial behind, and a sound
database in its place.

Besides there are cases with real faults (disks.py): tmpfs and ext4 that are full, also of the state, until
there is room again; a disk that becomes read-only; limits of descriptors and of file sizes; a directory
that is deleted or moved away; a partial that somebody deletes or replaces; disks that hang: a pause is
answered within 1 s, an end takes at most 1.5 s (and what a busy machine adds), other volumes go on.

Not covered: locks that fail for ever (they are waited for, ten seconds each); access, statfs, statx and the
reading of directories (asked beside the way; a failure means "not known"); pages of the database's shared
memory. Flushes are not really made (a kill loses nothing that the kernel has), so that a case takes little
more than its waits.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

from campaign import Campaign, Result
from scripted_server import ScriptedServer

from .disks import DISKS, run_disk
from .points import POINTS, Point
from .shim import build
from .stages import run_point

#: Points, and names of `DISKS`; in an order in which every stretch has some of all.
CASES: list[Point | str] = [*POINTS, *(name for name, (_, count) in DISKS.items() for _ in range(count))]
Random("faults").shuffle(CASES)


class Faults(Campaign):
    name = "faults"
    about = (
        "whatever system call fails, nothing crashes, nothing false is told, and all is well after the repair"
    )
    slice_cases = 120
    whole_cases = len(CASES)

    @classmethod
    def lacks(cls) -> str | None:
        return None if shutil.which("gcc") else "gcc"

    def open(self) -> None:
        self.shim = build(self.work)
        self.server = ScriptedServer()

    def close(self) -> None:
        self.server.close()

    def run(self, index: int, random: Random, folder: Path) -> Result:
        case = CASES[index % len(CASES)]
        self.server.log.clear()
        run = run_disk if isinstance(case, str) else run_point
        return run(self.binary, self.shim, self.server, folder, random, case, str(index))


campaign_class = Faults
