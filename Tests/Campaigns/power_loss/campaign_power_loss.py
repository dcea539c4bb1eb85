"""Power loss at any moment.

A *recording*: the service runs a scenario (`plans.py`: small files, one that overwrites a file, one that gets
a new name beside an old file, pause, resume, cancel, update, remove, a checksum, and in every third a large
one with checkpoints; kill -9 or suspension in the middle of some) with its state and its downloads on ext4,
every fifth time on XFS, on one volume or two. Under each file system is a disk of our own (`log_disk.c`) that
logs writes and flushes. For each message the host notes the length of the log. In every seventh recording the
scenario ends with a power loss, and the recording shows how a new process continues.

A *case* is one state that a power loss can leave: the power fails at some entry of the log; everything
written before the disk's last flush is there, and any part of the later writes, in blocks of 4 KiB. It is
mounted, and the service starts on it, apparently after a reboot, half of the time with another device number.
In every fifth case it is the same boot: the disk was unplugged and came back, which the service can detect
from Linux 6.8 on.

What must hold, given what had been answered or reported when the power failed:
- every answered request is in the state, and none that was not sent; the state is read without complaint;
- a final name has the complete old version or the complete new one; the new one if the download had
  completed;
- the ranges that the new process takes as received have the right bytes;
- every download that was neither canceled nor removed finishes with the right bytes;
- at most the bytes of 8 MiB or of 2 s, whichever is more, and of one flush, as long as that took here, are
  fetched again;
- the file system is consistent (every tenth case).

The first of every thousand cases run a service that leaves out the flushes of one kind (`drop_sync.c`), and
fail if no check notices; the last of these leaves out none, and must pass.

Not covered: disks that lie about flushes, blocks torn within 4 KiB, other file systems.

A case that fails keeps its recording (the first few do): `TOWLINE_RECORDING=FOLDER` with `--case` checks the
same state again. A new recording has the same scenario but different timing.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

from campaign import Campaign, Result
from towline_client import RPCError

from power_loss import volumes
from power_loss.check import Check
from power_loss.plans import Plan, mutant_plan, plan
from power_loss.recording import Cut, Recording
from power_loss.scenario import Studio

#: Where a worker mounts everything, in its own namespace; so all workers have the same paths.
STAGE = Path("/run/towline-power-loss")
STAGE_MIB = 600
STATES_PER_RECORDING = 20
REPLUGGED_SHARE = 0.2
#: Boot of the scenario, of the process after an earlier power loss, of the check.
FIRST_BOOT, SECOND_BOOT, THIRD_BOOT = 1, 2, 3


@dataclass(frozen=True)
class Mutant:
    """A service that leaves out some of its flushes."""

    #: Which flushes are left out, see drop_sync.c; None: none.
    dropping: str | None
    #: Text that the failure must contain.
    symptom: str
    #: With checkpoints during the download.
    is_large: bool = False

    @property
    def name(self) -> str:
        return f"{self.dropping} at checkpoints" if self.is_large else f"{self.dropping}"


MUTANTS = (
    Mutant("data", "zero"),
    Mutant("data", "are not true", is_large=True),
    Mutant("wal", "expected"),
    Mutant("directory", "missing"),
    Mutant(None, ""),
)
MUTANT_EVERY = 1000
MUTANT_STATES = 25
#: For failures of one worker; each takes about 25 MiB.
KEPT_RECORDINGS = 3


class PowerLossCampaign(Campaign):
    name = "power-loss"
    about = "what was answered survives a power loss, and no file is wrong"
    slice_cases = 155
    whole_cases = 10_050

    @classmethod
    def lacks(cls) -> str | None:
        return volumes.missing()

    def open(self) -> None:
        self.shared = self.work.parent / "recordings"
        self.shared.mkdir(exist_ok=True)
        volumes.enter_namespaces()
        volumes.mount_memory(STAGE, STAGE_MIB)
        self.boot = volumes.Boot(STAGE / "boot_id")
        self.studio = Studio(self.binary, volumes.compile_tools(STAGE), STAGE)
        self.recording: Recording | None = None
        self.kept = 0

    def close(self) -> None:
        self.forget_recording()

    def run(self, index: int, random: Random, folder: Path) -> Result:
        if index % MUTANT_EVERY < len(MUTANTS):
            return self.run_mutant(MUTANTS[index % MUTANT_EVERY], index // MUTANT_EVERY, random)
        number = index // (2 * STATES_PER_RECORDING) * 2 + index % 2
        wanted = plan(number)
        if not self.studio.supports(wanted.kind):
            return Result(lacks=f"{wanted.kind} (mkfs.{wanted.kind}, or the kernel's)")
        recording = self.recorded(number, wanted)
        cut = recording.choose(random)
        is_replugged = random.random() < REPLUGGED_SHARE and volumes.are_mounts_unique()
        boot = THIRD_BOOT if not is_replugged else SECOND_BOOT if wanted.is_second else FIRST_BOOT
        result = self.check(wanted, recording, cut, boot, is_checked=index % 10 == 9)
        result.counts[f"{wanted.kind} states"] += 1
        if is_replugged:
            result.counts["states of an unplugged disk"] += 1
        if wanted.is_second:
            result.counts["states after a second power loss"] += 1
        if result.failures:
            self.keep(recording, cut, folder)
        return result

    # Recordings

    def recorded(self, number: int, wanted: Plan) -> Recording:
        """The recording with this number; the first worker that needs it makes it."""
        folder = self.shared / str(number)
        if given := os.environ.get("TOWLINE_RECORDING"):
            folder = Path(given)
        if self.recording is not None and self.recording.folder == folder:
            return self.recording
        self.forget_recording()
        with (self.shared / f"{number}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "recording.json").exists():
                shutil.rmtree(folder, ignore_errors=True)
                self.record(number, wanted, folder)
                # No worker needs one this old.
                shutil.rmtree(self.shared / str(number - 8), ignore_errors=True)
        self.recording = Recording(folder)
        return self.recording

    def record(self, number: int, wanted: Plan, folder: Path) -> None:
        self.boot.begin(FIRST_BOOT)
        if not wanted.is_second:
            return self.studio.record(wanted, folder)
        before = STAGE / "before"
        try:
            self.studio.record(wanted, before)
            first = Recording(before)
            cut = first.choose(Random(f"second/{number}"))
            self.boot.begin(SECOND_BOOT)
            self.studio.record(wanted, folder, after=(first, cut))
            return first.close()
        finally:
            shutil.rmtree(before, ignore_errors=True)

    def forget_recording(self) -> None:
        if self.recording is not None:
            self.recording.close()
        self.recording = None

    def keep(self, recording: Recording, cut: Cut, folder: Path) -> None:
        """Stores what is needed to check the same state again: TOWLINE_RECORDING=FOLDER and --case."""
        (folder / "cut.json").write_text(json.dumps(vars(cut)))
        self.kept += 1
        if self.kept <= KEPT_RECORDINGS:
            for file in recording.folder.iterdir():
                volumes.copy_sparse(file, folder / file.name)

    # States

    def check(
        self, wanted: Plan, recording: Recording, cut: Cut, boot: int, is_checked: bool = False
    ) -> Result:
        images = [STAGE / f"image{number}" for number in range(recording.disk_count)]
        points = [STAGE / "stage" / f"volume{number}" for number in range(recording.disk_count)]
        points[0].parent.mkdir(exist_ok=True)
        self.boot.begin(boot)
        try:
            recording.build(cut, images)
            # As many mounts as during the recording, so that reused ids are the same.
            with volumes.memory(points[0].with_name("fuse"), 1), volumes.mounted(images, points, wanted.kind):
                check = Check(wanted, recording.before(cut), points, self.binary, STAGE)
                check.is_same_boot = boot != THIRD_BOOT
                devices = [point.stat().st_dev for point in points]
                check.counts[
                    f"device {'kept' if devices == recording.devices else 'changed'} its number"
                ] += 1
                try:
                    check.run()
                except (OSError, AssertionError, RPCError) as error:
                    check.failures.append(f"{type(error).__name__}: {error}")
            if is_checked:
                for image in images:
                    volumes.check(image, wanted.kind)
                check.counts["file systems checked"] += 1
        finally:
            for image in images:
                image.unlink(missing_ok=True)
        where = (
            f"power loss after entry {cut.entries}, {cut.modes}, devices {recording.devices} now {devices}"
        )
        failures = [f"{failure} ({where})" for failure in check.failures]
        return Result(failures, check.worst_refetched_bytes, check.counts)

    def run_mutant(self, mutant: Mutant, number: int, random: Random) -> Result:
        """A service that leaves out flushes must be caught; one that does not must pass the same checks."""
        wanted = mutant_plan(number, mutant.is_large)
        dropping = mutant.dropping
        folder = STAGE / "mutant"
        self.boot.begin(FIRST_BOOT)
        self.studio.record(wanted, folder, dropping)
        recording = Recording(folder)
        try:
            told = recording.told(with_progress=mutant.is_large)
            for moment in random.sample(told, min(MUTANT_STATES, len(told))):
                result = self.check(wanted, recording, recording.at_once(moment.position), THIRD_BOOT)
                if dropping is None and result.failures:
                    return result
                if dropping is not None and any(mutant.symptom in failure for failure in result.failures):
                    return Result(counts=Counter({f"caught without the flush of {mutant.name}": 1}))
        finally:
            recording.close()
            shutil.rmtree(folder)
        if dropping is None:
            return Result(counts=Counter({"passed with all flushes": 1}))
        return Result([f"nobody noticed that the flush of {mutant.name} was left out"])


campaign_class = PowerLossCampaign
