"""What the processes do that are killed: several processes on one state directory, or several downloads."""

from __future__ import annotations

from scripted_server import content
from support import poll
from towline_client import Towline

from .scenarios import KIB, SINGLE, Scenario


class Recovery(Scenario):
    """A process finds what a killed one left, and is killed itself; twice."""

    name = "recovery"
    from_birth = True
    rounds = 2

    def prepare(self) -> None:
        super().prepare()
        self.die_first()
        self.release(self.file)

    def die_first(self) -> None:
        """A process leaves what the next ones have to do with."""
        first = self.trial.launch()
        self.begin(first)
        first.kill()
        self.trial.has_died(first)

    def act(self, host: Towline) -> None:
        self.file.ask(host, "start")
        host.call("wait", id=self.file.id)


class Changed(Recovery):
    """As recovery, but the server has another file by then: all anew."""

    name = "changed"

    def die_first(self) -> None:
        super().die_first()
        self.file.data = content(99, self.size - 100)
        self.file.is_changed = True
        path = "/" + self.file.url.split("/", 3)[3]
        self.trial.server.add(path, self.file.data, etag='"v2"')


class Finalizing(Recovery):
    """As recovery, from a process that died before its rename."""

    name = "finalizing"

    def die_first(self) -> None:
        first = self.trial.launch()
        self.begin(first)
        self.dies_in(first, "renameat2", "partial")


class Renamed(Recovery):
    """As recovery, from a process that died after its rename, before that was durable and recorded."""

    name = "renamed"

    def die_first(self) -> None:
        first = self.trial.launch()
        self.begin(first)
        self.dies_in(first, "fsync", "files")


class ResumeAll(Scenario):
    """A process goes on with several downloads that a killed one left, and leaves the paused one alone."""

    name = "resume-on-start"
    from_birth = True
    rounds = 2
    seconds = 0.05
    arguments = ("--resume-on-start",)

    def prepare(self) -> None:
        trial = self.trial
        self.files = [trial.want(f"file{n}", size * KIB) for n, size in enumerate((700, 200, 30, 500))]
        first = trial.launch()
        for file in self.files[:3]:
            self.run_until(first, file, 20 * KIB)
        self.run_until(first, self.files[3], 300 * KIB)
        self.files[3].ask(first, "pause")
        first.kill()
        trial.has_died(first)
        for file in self.files:
            self.release(file)

    def act(self, host: Towline) -> None:
        for file in self.files[:3]:
            host.call("wait", id=file.id)


class TakeOver(Scenario):
    """A second process asks for a download of a living one, and has it when that is killed."""

    name = "take-over"
    from_birth = True
    seconds = 0.06

    def prepare(self) -> None:
        super().prepare()
        self.owner = self.trial.launch()
        self.begin(self.owner)

    def act(self, host: Towline) -> None:
        result = self.file.ask(host, "start")
        if result is None or result["download"]["owner"] != "other":
            self.trial.fault(f"a second start of a living process's download answers {result}")
        self.after()
        self.file.ask(host, "start")
        host.call("wait", id=self.file.id)

    def after(self) -> None:
        if self.owner.process.poll() is None:
            self.owner.kill()
            self.trial.has_died(self.owner)
            self.release(self.file)


class HandOver(Scenario):
    """A process without its host hands its download over to another that asks, which brings it to its end."""

    name = "hand-over"
    seconds = 1.0
    arguments = ("--on-host-exit", "finish")

    def begin(self, host: Towline) -> None:
        # With `initialize` the end of input means that the host has gone.
        host.call("initialize", processId=None)
        super().begin(host)
        host.close_stdin()

    def act(self, host: Towline) -> None:
        other = self.trial.launch()
        # Held again in the rest that it will ask for, so that there is something to pause.
        self.hold(self.file, 100 * KIB)

        def is_ours() -> bool:
            # Until the other has noticed that its host is gone it does not give the download up.
            result = self.file.ask(other, "start")
            return result is not None and result["download"]["owner"] == "self"

        poll(is_ours, what="the hand-over")
        self.file.ask(other, "pause")
        self.release(self.file)
        self.file.ask(other, "resume")
        if other.call("wait", id=self.file.id)["download"]["state"] != "completed":
            self.trial.fault("the one that asked did not complete the download")
        other.close_stdin()
        if (status := other.wait_exit()) != 0:
            errors = [m["error"]["message"] for m in other.messages if "error" in m]
            self.trial.fault(f"the one that asked ended with status {status}: {errors} {other.stderr[-300:]}")
        self.trial.has_died(other)


class Burst(Scenario):
    """Many requests at once, for small files and some that take more than one write."""

    name = "burst"
    seconds = 0.06

    def prepare(self) -> None:
        sizes = [1, 20, 20, 0, 20, 100, 200, 20, 20, 300]
        self.files = [self.trial.want(f"file{n}", size * KIB) for n, size in enumerate(sizes)]

    def begin(self, host: Towline) -> None:
        self.warm_up(host)

    def act(self, host: Towline) -> None:
        for file in self.files:
            file.send(host, "start")
        for file in self.files:
            file.receive()
        for file in self.files:
            host.call("wait", id=file.id)


SEVERAL: tuple[type[Scenario], ...] = (
    Recovery, Changed, Finalizing, Renamed, ResumeAll, TakeOver, HandOver, Burst,
)  # fmt: skip
SCENARIOS = {scenario.name: scenario for scenario in SINGLE + SEVERAL}
