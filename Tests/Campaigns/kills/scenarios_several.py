"""What the killed processes do: several processes on one state directory, or several downloads."""

from __future__ import annotations

from scripted_server import content
from support import poll
from towline_client import Towline

from .scenarios import KIB, SINGLE, Scenario


class Recovery(Scenario):
    """A process recovers from a kill, and is killed itself; twice."""

    name = "recovery"
    from_birth = True
    rounds = 2

    def prepare(self) -> None:
        super().prepare()
        self.die_first()
        self.release(self.file)

    def die_first(self) -> None:
        """A process leaves the state from which the next ones recover."""
        first = self.trial.launch()
        self.begin(first)
        first.kill()
        self.trial.has_died(first)

    def act(self, host: Towline) -> None:
        self.file.ask(host, "start")
        host.call("wait", id=self.file.id)


class Changed(Recovery):
    """Like `recovery`, but the server now has another file: everything restarts at 0."""

    name = "changed"

    def die_first(self) -> None:
        super().die_first()
        self.file.data = content(99, self.size - 100)
        self.file.is_changed = True
        path = "/" + self.file.url.split("/", 3)[3]
        self.trial.server.add(path, self.file.data, etag='"v2"')


class Finalizing(Recovery):
    """Like `recovery`, after a kill before the rename."""

    name = "finalizing"

    def die_first(self) -> None:
        first = self.trial.launch()
        self.begin(first)
        self.dies_in(first, "renameat2", "partial")


class Renamed(Recovery):
    """Like `recovery`, after a kill after the rename, before it was durable and recorded."""

    name = "renamed"

    def die_first(self) -> None:
        first = self.trial.launch()
        self.begin(first)
        self.dies_in(first, "fsync", "files")


class ResumeAll(Scenario):
    """A process continues several downloads of a killed one, but not the paused one."""

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
    """A second process requests a download of a running one, and gets it when that one is killed."""

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
            self.trial.fault(f"a second start of a running process's download answers {result}")
        self.after()
        self.file.ask(host, "start")
        host.call("wait", id=self.file.id)

    def after(self) -> None:
        if self.owner.process.poll() is None:
            self.owner.kill()
            self.trial.has_died(self.owner)
            self.release(self.file)


class HandOver(Scenario):
    """A process whose host has exited hands its download to the next process that asks for it."""

    name = "hand-over"
    seconds = 1.0
    arguments = ("--on-host-exit", "finish")

    def begin(self, host: Towline) -> None:
        # After `initialize`, the end of input means that the host has exited.
        host.call("initialize", processId=None)
        super().begin(host)
        host.close_stdin()

    def act(self, host: Towline) -> None:
        other = self.trial.launch()
        # Held once more in the remaining part, so that there is something to pause.
        self.hold(self.file, 100 * KIB)

        def is_ours() -> bool:
            # The other process gives the download up only after it has noticed that its host has exited.
            result = self.file.ask(other, "start")
            return result is not None and result["download"]["owner"] == "self"

        poll(is_ours, what="the hand-over")
        self.file.ask(other, "pause")
        self.release(self.file)
        self.file.ask(other, "resume")
        if other.call("wait", id=self.file.id)["download"]["state"] != "completed":
            self.trial.fault("the process that asked did not complete the download")
        other.close_stdin()
        if (status := other.wait_exit()) != 0:
            errors = [m["error"]["message"] for m in other.messages if "error" in m]
            self.trial.fault(f"the process that asked exited with {status}: {errors} {other.stderr[-300:]}")
        self.trial.has_died(other)


class Burst(Scenario):
    """Many requests at once, for small files and some that need several writes."""

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
