"""SIGKILL at every system call that changes something, and at random times.

A case runs one scenario (`scenarios.py`, `scenarios_several.py`) and kills its process: with strace before
the n-th call of one kind, at files of one place or by one thread; or at a random time, or before a random
call. Then the case checks what is left, and a new process starts on the same state directory and finishes
everything. If the scenario is itself a recovery, two processes are killed one after the other before that.

What must hold after every kill:
- what was answered holds: a start has its record, a pause is a pause with all its bytes, a cancel a cancel,
  an update has its URL; what was requested and not answered may have happened; a reported completion has its
  file;
- the final name has no file, the earlier file, or the whole new one; other files are unchanged;
- the database passes SQLite's integrity check and is not set aside;
- the same `start`, or `resume` after a pause, ends with exactly the server's bytes and leaves no partial
  file;
- of the bytes that the process had read from its socket, at most 1 MiB is requested again (`slow-disk` comes
  close: a call to the disk is delayed until the process has read all that its buffers can take);
- no process breaks a rule of the wire.

Of every twelve cases, nine take the next points of `points.tsv`, in a fixed shuffled order; two are kills at
random; one runs a scenario without a kill and fails if it makes calls that are not in the list: then run
`points.py`. When all points are used, all cases are random.

Not covered: calls that use no file of the service or its downloads (sockets, pipes, memory); calls on a
partial file that was created without a name, in scenarios that are under strace from the first instruction
(strace cannot identify it by path, and the threads do not exist yet; other scenarios cover them). The order
of calls of different threads varies, so the n-th call can be another one in the next run. A run that ends
before its n-th call is counted as "not reached".
"""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from random import Random

from campaign import Campaign, Result
from towline_client import Timeout, Towline

from . import points, strace
from .scenarios import Scenario
from .scenarios_several import SCENARIOS
from .stepping_server import SteppingServer
from .strace import ANYWHERE, Point
from .trial import Trial

#: What each case of twelve is; all others take the next point.
DOZEN = 12
RANDOM = (5, 11)
DRY = (8,)
#: How long a call is delayed in scenarios that kill by themselves; longer than they need for it.
DELAY_SECONDS = 2.0
#: How often a dry run is repeated before its calls count as missing in the list.
DRY_RUNS = 3


class Kills(Campaign):
    name = "kills"
    about = "kill -9 at every state-changing system call loses nothing that was promised"
    slice_cases = 150
    whole_cases = 3_100

    @classmethod
    def lacks(cls) -> str | None:
        return None if shutil.which("strace") else "strace"

    def open(self) -> None:
        self.server = SteppingServer()

    def close(self) -> None:
        self.server.close()

    @cached_property
    def points(self) -> list[Point]:
        listed = points.load()
        Random("kills").shuffle(listed)
        return listed

    def run(self, index: int, random: Random, folder: Path) -> Result:
        dozens, place = divmod(index, DOZEN)
        taken = [n for n in range(DOZEN) if n not in RANDOM + DRY]
        if place in taken and (number := dozens * len(taken) + taken.index(place)) < len(self.points):
            point = self.points[number]
            return self.case(point.scenario, random, folder, partial(self.kill_at, lambda: point))
        if place in DRY and dozens * len(taken) < len(self.points):
            names = list(SCENARIOS)
            return self.compare(names[dozens * 7 % len(names)], random, folder)
        if random.random() < 0.5:
            return self.case(random.choice(list(SCENARIOS)), random, folder, self.kill_by_time)
        near = random.choice(self.points)

        def about() -> Point:
            return Point(near.scenario, near.call, ANYWHERE, random.randint(1, max(2, near.n * 2)))

        return self.case(near.scenario, random, folder, partial(self.kill_at, about))

    def case(
        self, name: str, random: Random, folder: Path, body: Callable[[Trial, Scenario], None]
    ) -> Result:
        trial = Trial(self.binary, self.server, folder, f"/{folder.name}", random)
        try:
            scenario = SCENARIOS[name](trial)
            scenario.prepare()
            body(trial, scenario)
            trial.settle()
        finally:
            trial.close()
        return trial.result

    # Kills

    def kill_at(self, next_point: Callable[[], Point], trial: Trial, scenario: Scenario) -> None:
        for _ in range(scenario.rounds):
            point = next_point()
            with (trial.folder / "points").open("a") as note:
                note.write(f"{point}\n")

            def command(process_id: int | None, point: Point = point) -> strace.Command:
                where = (trial.places(), process_id, trial.log)
                if scenario.is_delayed:
                    return strace.delaying(point, DELAY_SECONDS, *where)
                return strace.killing(point, *where)

            if not self.perform(trial, scenario, command):
                trial.result.counts["not reached"] += 1
                return
            trial.result.counts[f"killed at {point.call} {point.place}"] += 1
            trial.result.counts[f"killed in {point.scenario}"] += 1

    def kill_by_time(self, trial: Trial, scenario: Scenario) -> None:
        for _ in range(scenario.rounds):
            seconds = trial.random.uniform(0, scenario.seconds)
            with (trial.folder / "points").open("a") as note:
                note.write(f"{scenario.name}: after {seconds} s\n")
            if not self.perform(trial, scenario, None, seconds):
                trial.result.counts["ended before its time"] += 1
                return
            trial.result.counts["killed by time"] += 1
            trial.result.counts[f"killed in {scenario.name}"] += 1

    # Dry runs

    def count(self, name: str, random: Random, folder: Path) -> tuple[set[Point], Result]:
        """A run without a kill: returns the points that the scenario reaches."""
        found: set[Point] = set()

        def body(trial: Trial, scenario: Scenario) -> None:
            stages: list[strace.Stage] = []
            scenario.is_dry = True

            def command(process_id: int | None) -> strace.Command:
                threads = {} if process_id is None else strace.threads(process_id)
                stages.append(strace.Stage(trial.place_of(), threads))
                return strace.counting(trial.log)

            if self.perform(trial, scenario, command):
                raise RuntimeError("a process died in a dry run")
            passed = strace.counted(trial.log, name, stages[0])
            found.update(p for p in passed if scenario.calls is None or (p.call, p.place) in scenario.calls)

        result = self.case(name, random, folder, body)
        return found, result

    def compare(self, name: str, random: Random, folder: Path) -> Result:
        """A run without a kill, which must reach only points in the list."""
        for run in range(DRY_RUNS):
            here = folder / f"run-{run}"
            here.mkdir()
            found, result = self.count(name, random, here)
            missing = points.missing(found, self.points)
            if not missing:
                break
        else:
            texts = ", ".join(str(point) for point in missing)
            result.failures.append(f"points.tsv is out of date, run points.py: it lacks {texts}")
        result.counts["compared with the list"] += 1
        return result

    # One process

    def perform(
        self,
        trial: Trial,
        scenario: Scenario,
        command: Callable[[int | None], strace.Command] | None,
        seconds: float | None = None,
    ) -> bool:
        """Runs one process of the scenario until it is killed or its act is over; true if it was killed.

        `command` is called as late as possible before strace starts, when most is known. It gets the process
        id if the process already exists.
        """
        scenario.tracer = None
        if scenario.from_birth:
            prefix = [] if command is None else command(None).words
            host = trial.launch(*scenario.arguments, prefix=prefix)
        else:
            host = trial.launch(*scenario.arguments)
            scenario.begin(host)
            if command is not None:
                scenario.tracer = command(host.process.pid).start(host.process.pid)
        timer = threading.Timer(seconds, host.kill) if seconds is not None else None
        if timer is not None:
            timer.start()
        was_killed = not self.survives(scenario, host)
        if timer is not None:
            timer.cancel()
            timer.join()
        if not was_killed:
            # Calls after the act belong to another scenario.
            if scenario.from_birth and command is not None and host.process.poll() is None:
                strace.kill_child(host.process.pid)
                host.process.wait(10)
            host.kill()
        if scenario.tracer is not None:
            scenario.tracer.communicate(timeout=10)
        scenario.after()
        trial.has_died(host)
        return was_killed

    def survives(self, scenario: Scenario, host: Towline) -> bool:
        """Runs the act; false if the process was killed during it."""
        try:
            scenario.act(host)
        except (Timeout, OSError, ValueError, AssertionError):
            # The output ended inside a message, or the input was already closed.
            with suppress(subprocess.TimeoutExpired):
                if host.process.wait(2) == -9:
                    return False
            raise
        return host.process.poll() != -9


campaign_class = Kills
