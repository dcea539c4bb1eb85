"""Power loss at any moment."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections import Counter
from pathlib import Path
from random import Random

from campaign import Campaign, Result
from towline_client import RPCError

from power_loss import volumes
from power_loss.check import Check
from power_loss.recording import Cut, Recording
from power_loss.scenario import Plan, Studio, mutant_plan, plan

#: Where all of a worker is mounted, in its own namespace: so all workers have the same paths.
STAGE = Path("/mnt")
STAGE_MIB = 600
STATES_PER_RECORDING = 20
#: What is not flushed, and a word of the failure that must follow; without the former all is flushed.
MUTANTS = (("data", "zero"), ("wal", "expected"), ("directory", "missing"), (None, ""))
MUTANT_EVERY = 1000
MUTANT_STATES = 25
#: Of failures of one worker; each takes some 25 MiB.
KEPT_RECORDINGS = 3


class PowerLossCampaign(Campaign):
    name = "power-loss"
    about = "what was answered is there after a power loss, and no file is wrong"
    slice_cases = 154
    whole_cases = 10_040

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
            return self.run_mutant(*MUTANTS[index % MUTANT_EVERY], index // MUTANT_EVERY, random)
        number = index // (2 * STATES_PER_RECORDING) * 2 + index % 2
        wanted = plan(number)
        if not volumes.is_supported(wanted.kind):
            return Result(lacks=f"{wanted.kind} (mkfs.{wanted.kind} and the kernel's)")
        recording = self.recorded(number, wanted)
        cut = recording.choose(random)
        result = self.check(wanted, recording, cut, is_checked=index % 10 == 9)
        result.counts[f"{wanted.kind} states"] += 1
        if result.failures:
            self.keep(recording, cut, folder)
        return result

    # Recordings

    def recorded(self, number: int, wanted: Plan) -> Recording:
        """The recording of that number, made by whichever worker needs it first."""
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
                self.boot.begin(1)
                self.studio.record(wanted, folder)
                # Those of workers that are still at it stay mapped.
                shutil.rmtree(self.shared / str(number - 8), ignore_errors=True)
        self.recording = Recording(folder)
        return self.recording

    def forget_recording(self) -> None:
        if self.recording is not None:
            self.recording.close()
        self.recording = None

    def keep(self, recording: Recording, cut: Cut, folder: Path) -> None:
        """Leaves what is needed to look at the same state again: TOWLINE_RECORDING=FOLDER and --case."""
        (folder / "cut.json").write_text(json.dumps(vars(cut)))
        self.kept += 1
        if self.kept <= KEPT_RECORDINGS:
            for file in recording.folder.iterdir():
                volumes.copy_sparse(file, folder / file.name)

    # States

    def check(self, wanted: Plan, recording: Recording, cut: Cut, is_checked: bool = False) -> Result:
        images = [STAGE / f"image{number}" for number in range(recording.disk_count)]
        points = [STAGE / "stage" / f"volume{number}" for number in range(recording.disk_count)]
        points[0].parent.mkdir(exist_ok=True)
        self.boot.begin(2)
        try:
            recording.build(cut, images)
            with volumes.mounted(images, points, wanted.kind):
                check = Check(wanted, recording.before(cut), points, self.binary, STAGE)
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

    def run_mutant(self, dropping: str | None, symptom: str, number: int, random: Random) -> Result:
        """A service that leaves out flushes must be caught; one that does not must pass the same checks."""
        wanted = mutant_plan(number)
        folder = STAGE / "mutant"
        self.boot.begin(1)
        self.studio.record(wanted, folder, dropping)
        recording = Recording(folder)
        try:
            told = [m for m in recording.moments if not m.is_sent and m.message.get("method") != "progress"]
            for moment in random.sample(told, min(MUTANT_STATES, len(told))):
                result = self.check(wanted, recording, recording.at_once(moment.position))
                if dropping is None and result.failures:
                    return result
                if dropping is not None and any(symptom in failure for failure in result.failures):
                    return Result(counts=Counter({f"caught without the flush of {dropping}": 1}))
        finally:
            recording.close()
            shutil.rmtree(folder)
        if dropping is None:
            return Result(counts=Counter({"passed with all flushes": 1}))
        return Result([f"nobody noticed that the flush of {dropping} was left out"])


campaign_class = PowerLossCampaign
