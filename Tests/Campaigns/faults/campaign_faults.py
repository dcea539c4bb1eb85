"""Faults: every system call on data files and state files fails, once or always from then on.

A case is one point of a fixed, shuffled list (points.py): scenario, side (data or state), call, n-th call,
errno, once or always. The service runs the scenario (start, several at once, pause, cancel, remove, update,
taking over downloads of a killed process, a damaged database, the exit …) under a preloaded library
(shim.c) that makes this call fail. Calls are counted over all threads, separately for data and state. A
failed flush loses the data that it should have flushed; a full disk first takes half of a write. Then the
fault ends: the disks work again under the running service, or the service is killed or told to exit, and
another one starts. Then every download must finish. The seed chooses the contents and how the fault ends.

What must hold: the service never exits, except that it may refuse to start (70, 73 or 74, with a message),
and never stops answering; requests are answered, or refused with a suitable kind; a final name holds only the
whole file, flushed before it was renamed, and its directory flushed afterwards; a permanent data fault is
reported by kind and errno, a full disk as `waiting`, `diskFull` with all received bytes kept; what an answer
or event promised still holds after the exit; after the repair the same `start` completes with the right
bytes, fetches again nothing that the service reported as received (1 MiB after a kill), and leaves no partial
file and a sound database.

Other cases have real faults (disks.py): tmpfs and ext4 that are full, also for the state, until there is
space again; a disk that becomes read-only; limits on descriptors and file sizes; a directory that is deleted
or moved away; a partial file that is deleted or replaced; disks that hang: a pause is answered within 1 s, an
exit takes at most 1.5 s (plus what a busy machine adds), and downloads to other volumes continue.

Not covered: locks that always fail (the service waits ten seconds for each); access, statfs, statx and
reading of directories (only side information; a failure means "not known"); pages of the database's shared
memory. Flushes are not really made (a kill loses nothing that the kernel has), so that a case takes little
longer than its waits.
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

#: Points and names of `DISKS`, shuffled so that every range of cases has some of all.
CASES: list[Point | str] = [*POINTS, *(name for name, (_, count) in DISKS.items() for _ in range(count))]
Random("faults").shuffle(CASES)


class Faults(Campaign):
    name = "faults"
    about = "whatever system call fails, the service neither crashes nor reports wrong things, and recovers"
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
