"""What the processes do that are killed.  Each scenario is deterministic but for the timing of threads."""

from __future__ import annotations

import threading
from typing import ClassVar

from scripted_server import Behaviour
from towline_client import Towline

from .ledger import Wanted
from .trial import Trial

KIB = 1024


class Scenario:
    """One course of events.  Of its acts, everything after `begin` is under the knife."""

    name: ClassVar[str]
    #: The process is under strace from its first instruction; else from the end of `begin`.
    from_birth: ClassVar[bool] = False
    #: How many processes, one after the other, are killed at the same place.
    rounds: ClassVar[int] = 1
    #: How long the act takes, about, on a quiet machine.
    seconds: ClassVar[float] = 0.03
    #: Arguments of the process.
    arguments: ClassVar[tuple[str, ...]] = ()

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.gate = threading.Event()

    def prepare(self) -> None:
        """What there is before; by processes of its own."""

    def begin(self, host: Towline) -> None:
        """Brings the process to where it begins to matter."""

    def act(self, host: Towline) -> None:
        raise NotImplementedError

    # Helpers

    def held(self, wanted: Wanted, after: int) -> None:
        """From now on the server stops after so many bytes of a body until the gate is opened."""
        path = "/" + wanted.url.split("/", 3)[3]
        self.trial.server.resources[path].default = Behaviour(hold_after=after, gate=self.gate)

    def release(self, wanted: Wanted) -> None:
        path = "/" + wanted.url.split("/", 3)[3]
        self.trial.server.resources[path].default = Behaviour()
        self.gate.set()

    def run_until(self, host: Towline, wanted: Wanted, count: int) -> None:
        """Starts the download and returns when the process has read so many bytes, where the server stops."""
        self.held(wanted, count)
        wanted.ask(host, "start")
        self.read_until(wanted, count)

    def read_until(self, wanted: Wanted, count: int) -> None:
        trial = self.trial

        def is_read() -> bool:
            return any(r.range_start + trial.server.body_read(r) >= count for r in trial.requests(wanted))

        trial.server.wait(is_read)

    def end(self, host: Towline, wanted: Wanted) -> None:
        """Lets the download end and waits for that."""
        self.release(wanted)
        host.call("wait", id=wanted.id)


class Life(Scenario):
    """A state directory is made, a file is fetched into it, the process ends."""

    name = "life"
    from_birth = True

    def prepare(self) -> None:
        self.file = self.trial.want("file", 300 * KIB)

    def act(self, host: Towline) -> None:
        self.file.ask(host, "start")
        host.call("wait", id=self.file.id)
        host.close_stdin()
        host.wait_exit()


class Start(Scenario):
    """A request to start, until the server has the request."""

    name = "start"

    def prepare(self) -> None:
        self.file = self.trial.want("file", 700 * KIB)
        self.held(self.file, 1)

    def begin(self, host: Towline) -> None:
        host.call("ping")

    def act(self, host: Towline) -> None:
        self.file.ask(host, "start")
        self.read_until(self.file, 1)
        host.wait_state(self.file.id, "active")


class Transfer(Scenario):
    """Bytes come, are written and marked."""

    name = "download"

    def prepare(self) -> None:
        self.file = self.trial.want("file", 3072 * KIB)

    def begin(self, host: Towline) -> None:
        self.run_until(host, self.file, 1)

    def act(self, host: Towline) -> None:
        self.end(host, self.file)


class Pause(Scenario):
    name = "pause"

    def prepare(self) -> None:
        self.file = self.trial.want("file", 700 * KIB)

    def begin(self, host: Towline) -> None:
        self.run_until(host, self.file, 400 * KIB)

    def act(self, host: Towline) -> None:
        self.file.ask(host, "pause")


class Resume(Scenario):
    name = "resume"

    def prepare(self) -> None:
        self.file = self.trial.want("file", 700 * KIB)

    def begin(self, host: Towline) -> None:
        self.run_until(host, self.file, 400 * KIB)
        self.file.ask(host, "pause")
        self.release(self.file)

    def act(self, host: Towline) -> None:
        self.file.ask(host, "resume")
        host.call("wait", id=self.file.id)


class Complete(Scenario):
    """From the last byte on: flush, digest, rename, record."""

    name = "complete"

    def prepare(self) -> None:
        self.file = self.trial.want("file", 700 * KIB)

    def begin(self, host: Towline) -> None:
        self.run_until(host, self.file, len(self.file.data) - 1)

    def act(self, host: Towline) -> None:
        self.end(host, self.file)


class Cancel(Scenario):
    name = "cancel"

    def prepare(self) -> None:
        self.file = self.trial.want("file", 700 * KIB)

    def begin(self, host: Towline) -> None:
        self.run_until(host, self.file, 400 * KIB)

    def act(self, host: Towline) -> None:
        self.file.ask(host, "cancel")


class Update(Scenario):
    """The download goes on at another URL, which has the same file."""

    name = "update"

    def prepare(self) -> None:
        trial = self.trial
        self.file = trial.want("file", 700 * KIB)
        path = f"{trial.prefix}/other"
        trial.server.add(path, self.file.data)
        self.other_url = trial.server.url(path)

    def begin(self, host: Towline) -> None:
        self.run_until(host, self.file, 400 * KIB)

    def act(self, host: Towline) -> None:
        self.file.ask(host, "update", url=self.other_url, priority=3)
        host.call("wait", id=self.file.id)


class Recovery(Scenario):
    """A process finds what a killed one left, and is killed itself; twice."""

    name = "recovery"
    from_birth = True
    rounds = 2

    def prepare(self) -> None:
        trial = self.trial
        self.file = trial.want("file", 700 * KIB)
        first = trial.launch()
        self.run_until(first, self.file, 400 * KIB)
        first.kill()
        trial.has_died(first)
        self.release(self.file)

    def act(self, host: Towline) -> None:
        self.file.ask(host, "start")
        host.call("wait", id=self.file.id)


SCENARIOS = {
    scenario.name: scenario
    for scenario in (Life, Start, Transfer, Pause, Resume, Complete, Cancel, Update, Recovery)
}
