"""Processes killed by SIGKILL at every system call that changes something, and at random instants.

A case runs one scenario (`scenarios.py`) and kills its process: before the n-th call of one kind, at
files of one place, by strace; or at a random instant, or before a random call. Then what is left is looked
at, a new process is started on the same state directory, and brings everything to its end.

What must hold, after every kill:
- what was answered is so: a start has its record, a pause is a pause, a cancel a cancel, an update has its
  URL; what was asked and not answered may be so; a completion that was told has its file;
- the final name holds nothing, what stood there before, or the whole file;
- the database passes SQLite's integrity check and is not set aside;
- the same `start`, or `resume`, ends with exactly the server's bytes, and no partial is left;
- of what the process had taken out of its socket at most 1 MiB is asked for again;
- no process breaks a rule of the wire.

Cases: five of six take the points of `points.tsv` one after the other, in a mixed order that never changes,
the sixth is a kill at random. When the points are used up all are random.

Not covered: calls that libraries make without a file of ours (sockets, pipes, memory). The order in which
threads make their calls is the machine's, so the n-th call of a run need not be the n-th of another. A run
that ends before its n-th call is counted as "not reached".
"""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from random import Random
from typing import ClassVar

from campaign import Campaign, Result
from towline_client import Timeout, Towline

from . import points, strace
from .scenarios import SCENARIOS, Scenario
from .stepping_server import SteppingServer
from .strace import ANYWHERE, Point
from .trial import Trial

#: One case of so many is random while points are left.
RANDOM_EVERY = 6


class Kills(Campaign):
    name: ClassVar[str] = "kills"
    about: ClassVar[str] = "kill -9 at every state-changing system call loses nothing that was promised"
    slice_cases: ClassVar[int] = 150
    whole_cases: ClassVar[int] = 2000

    @classmethod
    def lacks(cls) -> str | None:
        return None if shutil.which("strace") else "strace"

    def open(self) -> None:
        self.server = SteppingServer()

    def close(self) -> None:
        self.server.close()

    @cached_property
    def points(self) -> list[Point]:
        listed = [Point(*values) for values in points.load()]
        Random("kills").shuffle(listed)
        return listed

    def run(self, index: int, random: Random, folder: Path) -> Result:
        number = index - index // RANDOM_EVERY
        is_random = index % RANDOM_EVERY == RANDOM_EVERY - 1 or number >= len(self.points)
        trial = Trial(self.binary, self.server, folder, f"/{folder.name}", random)
        try:
            if not is_random:
                self.kill_at(trial, self.points[number])
            elif random.random() < 0.5:
                name = random.choice(list(SCENARIOS))
                self.kill_after(trial, name, random.uniform(0, SCENARIOS[name].seconds))
            else:
                near = random.choice(self.points)
                n = random.randint(1, max(2, near.n * 2))
                self.kill_at(trial, Point(near.scenario, near.call, ANYWHERE, n))
        finally:
            trial.close()
        return trial.result

    # Kills

    def kill_at(self, trial: Trial, point: Point) -> None:
        (trial.folder / "point").write_text(f"{point}\n")
        scenario = SCENARIOS[point.scenario](trial)
        scenario.prepare()
        for _ in range(scenario.rounds):
            if self.perform(trial, scenario, lambda: strace.kill_arguments(point, trial.places(), trial.log)):
                trial.result.counts[f"killed at {point.call}"] += 1
                trial.result.counts[f"killed in {point.scenario}"] += 1
            else:
                trial.result.counts["not reached"] += 1
                break
        trial.settle()

    def kill_after(self, trial: Trial, name: str, seconds: float) -> None:
        (trial.folder / "point").write_text(f"{name}: after {seconds} s\n")
        scenario = SCENARIOS[name](trial)
        scenario.prepare()
        for _ in range(scenario.rounds):
            if self.perform(trial, scenario, None, seconds):
                trial.result.counts["killed by time"] += 1
            else:
                trial.result.counts["ended before its time"] += 1
                break
        trial.settle()

    def count(self, name: str, random: Random, folder: Path) -> tuple[set[Point], Result]:
        """A dry run: the points that the scenario passes."""
        trial = Trial(self.binary, self.server, folder, f"/{folder.name}", random)
        try:
            scenario = SCENARIOS[name](trial)
            scenario.prepare()
            place_of: list[Callable[[Path], str | None]] = []

            def arguments() -> list[str]:
                place_of.append(trial.place_of())
                return strace.count_arguments(trial.log)

            if self.perform(trial, scenario, arguments):
                raise RuntimeError("a process died in a dry run")
            found = strace.counted(trial.log, name, place_of[0])
            trial.settle()
        finally:
            trial.close()
        return found, trial.result

    def perform(
        self,
        trial: Trial,
        scenario: Scenario,
        arguments: Callable[[], list[str]] | None,
        seconds: float | None = None,
    ) -> bool:
        """One process of the scenario, until it is killed or its act is over; true when it was killed.

        `arguments` is called where the process is to come under strace: what is known then is the most.
        """
        tracer: subprocess.Popen[bytes] | None = None
        if scenario.from_birth:
            prefix = [] if arguments is None else arguments()
            host = trial.launch(*scenario.arguments, prefix=prefix)
        else:
            host = trial.launch(*scenario.arguments)
            scenario.begin(host)
            if arguments is not None:
                tracer = strace.attach(arguments(), host.process.pid)
        timer = threading.Timer(seconds, host.kill) if seconds is not None else None
        if timer is not None:
            timer.start()
        was_killed = not self.survives(scenario, host)
        if timer is not None:
            timer.cancel()
            timer.join()
        if not was_killed:
            # Whatever comes after the act belongs to another scenario.
            if scenario.from_birth and arguments is not None:
                strace.kill_child(host.process.pid)
                host.process.wait(10)
            host.kill()
        if tracer is not None:
            tracer.wait(10)
            if tracer.stderr is not None:
                tracer.stderr.close()
        trial.has_died(host)
        return was_killed

    def survives(self, scenario: Scenario, host: Towline) -> bool:
        """Runs the act; false when the process was killed meanwhile."""
        try:
            scenario.act(host)
        except (Timeout, OSError, ValueError, AssertionError):
            # The output ended in the middle of something, or the input was closed already.
            with suppress(subprocess.TimeoutExpired):
                if host.process.wait(2) == -9:
                    return False
            raise
        return host.process.poll() != -9


campaign_class = Kills
