"""What the killed processes do: one download in one process.

Each scenario is deterministic except for the timing of threads.
"""

from __future__ import annotations

import hashlib
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

from scripted_server import Behaviour, Resource
from support import poll
from towline_client import Timeout, Towline

from . import strace
from .ledger import Wanted
from .trial import Trial

KIB = 1024
#: How many bytes the service collects before it writes.
BUFFER = 128 * KIB


class Scenario:
    """One course of events. The process can be killed at any time after `begin`."""

    name: ClassVar[str]
    #: The process is under strace from its first instruction; otherwise from the end of `begin`.
    from_birth: ClassVar[bool] = False
    #: How many processes are killed at the same place, one after the other.
    rounds: ClassVar[int] = 1
    #: About how long the act takes on an idle machine.
    seconds: ClassVar[float] = 0.03
    #: Only these calls at these places are points; None: all calls.
    calls: ClassVar[frozenset[tuple[str, str]] | None] = None
    #: At a point the call is delayed, and the act itself kills the process.
    is_delayed: ClassVar[bool] = False
    #: Arguments of the process.
    arguments: ClassVar[tuple[str, ...]] = ()

    size: ClassVar[int] = 700 * KIB
    #: Where the server stops until `release`.
    stop: ClassVar[int] = 400 * KIB

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.gate = threading.Event()
        #: strace, if it was attached to a running process.
        self.tracer: subprocess.Popen[bytes] | None = None
        #: Nothing is delayed or killed.
        self.is_dry = False

    def prepare(self) -> None:
        """Prepares the files and the state, with other processes."""
        self.file = self.trial.want("file", self.size)

    def begin(self, host: Towline) -> None:
        """Brings the process to the point where kills can begin."""
        self.run_until(host, self.file, self.stop)

    def act(self, host: Towline) -> None:
        raise NotImplementedError

    def after(self) -> None:
        """Ends other processes after the kill."""

    # Helpers

    def resource(self, wanted: Wanted) -> Resource:
        return self.trial.server.resources["/" + wanted.url.split("/", 3)[3]]

    def hold(self, wanted: Wanted, after: int) -> None:
        """From now on the server stops after this many bytes of a body, until the gate opens."""
        resource = self.resource(wanted)
        resource.default = replace(resource.default, hold_after=after, gate=self.gate)

    def release(self, wanted: Wanted) -> None:
        resource = self.resource(wanted)
        resource.default = replace(resource.default, hold_after=None, gate=None)
        self.gate.set()

    def run_until(self, host: Towline, wanted: Wanted, count: int) -> None:
        """Starts the download, and returns when the process has read `count` bytes, where the server stops.

        By then it has also written every full buffer.
        """
        self.hold(wanted, count)
        wanted.ask(host, "start")
        self.read_until(wanted, count)
        deadline = time.monotonic() + 10
        while count - self.bytes_written(host, wanted) >= BUFFER and time.monotonic() < deadline:
            time.sleep(0.002)

    def bytes_read(self, wanted: Wanted) -> int:
        server = self.trial.server
        return max((r.range_start + server.body_read(r) for r in self.trial.requests(wanted)), default=0)

    def bytes_written(self, host: Towline, wanted: Wanted) -> int:
        ranges = host.call("inspect", id=wanted.id)["writtenRanges"]
        return sum(r["to"] - r["from"] for r in ranges)

    def read_until(self, wanted: Wanted, count: int) -> None:
        self.trial.server.wait(lambda: self.bytes_read(wanted) >= count)

    def warm_up(self, host: Towline) -> None:
        """Makes the service create all threads that a download needs."""
        first = self.trial.want("first", 1)
        first.ask(host, "start")
        host.call("wait", id=first.id)

    def end(self, host: Towline, wanted: Wanted) -> None:
        """Lets the download finish and waits for it."""
        self.release(wanted)
        host.call("wait", id=wanted.id)

    def dies_in(self, host: Towline, call: str, place: str) -> None:
        """Continues the held download until the process is killed before its first such call."""
        trial = self.trial
        point = strace.Point(self.name, call, place, 1)
        process_id = host.process.pid
        tracer = strace.killing(point, trial.places(), process_id, trial.log).start(process_id)
        with suppress(Timeout):
            self.end(host, self.file)
        host.process.wait(10)
        tracer.communicate()
        trial.has_died(host)


class Life(Scenario):
    """Creates a state directory, downloads a file, and exits."""

    name = "life"
    from_birth = True
    size = 300 * KIB

    def act(self, host: Towline) -> None:
        self.file.ask(host, "start")
        host.call("wait", id=self.file.id)
        host.close_stdin()
        host.wait_exit()


class Start(Scenario):
    """A start request, until the server has the request and one byte has arrived."""

    name = "start"

    def prepare(self) -> None:
        super().prepare()
        self.hold(self.file, 1)

    def begin(self, host: Towline) -> None:
        host.call("ping")

    def act(self, host: Towline) -> None:
        self.file.ask(host, "start")
        self.read_until(self.file, 1)
        host.wait_state(self.file.id, "active")


class Transfer(Scenario):
    """Bytes are received, written and marked."""

    name = "download"
    size = 3072 * KIB
    stop = 1

    def begin(self, host: Towline) -> None:
        self.warm_up(host)
        super().begin(host)

    def act(self, host: Towline) -> None:
        self.end(host, self.file)


class SlowDisk(Transfer):
    """One write is slow; the process fills its buffers and is killed: the largest possible loss."""

    name = "slow-disk"
    seconds = 0.2
    is_delayed = True
    calls = frozenset(
        {
            ("openat", "files"),
            ("fallocate", "@files-write"),
            ("linkat", "partial"),
            ("pwrite64", "@files-write"),
            ("pwrite64", "session"),
            ("fdatasync", "wal"),
        }
    )
    still_seconds: ClassVar[float] = 0.12

    def prepare(self) -> None:
        super().prepare()
        self.trial.server.is_stepping = False

    def act(self, host: Towline) -> None:
        if self.is_dry:
            return self.end(host, self.file)
        self.release(self.file)
        read, since = -1, time.monotonic()
        while time.monotonic() - since < self.still_seconds:
            time.sleep(0.01)
            if any(d["state"] == "completed" for d in host.changed(self.file.id)):
                return None
            if self.bytes_read(self.file) != read:
                read, since = self.bytes_read(self.file), time.monotonic()
        host.process.kill()
        if self.tracer is not None:
            # Otherwise a thread that strace delays would keep the process from exiting.
            self.tracer.kill()
        return host.kill()


class Pause(Scenario):
    name = "pause"
    seconds = 0.01

    def act(self, host: Towline) -> None:
        self.file.ask(host, "pause")


class Resume(Scenario):
    name = "resume"

    def begin(self, host: Towline) -> None:
        super().begin(host)
        self.file.ask(host, "pause")
        self.release(self.file)

    def act(self, host: Towline) -> None:
        self.file.ask(host, "resume")
        host.call("wait", id=self.file.id)


class Complete(Scenario):
    """From the last byte on: flush, digest, rename, record."""

    name = "complete"
    stop = 700 * KIB - 1

    def prepare(self) -> None:
        super().prepare()
        value = hashlib.sha256(self.file.data).hexdigest()
        self.file.options["checksum"] = {"algorithm": "sha256", "value": value}

    def act(self, host: Towline) -> None:
        self.end(host, self.file)


class Overwrite(Scenario):
    """Another file stays at the destination until the new one is complete."""

    name = "overwrite"

    def prepare(self) -> None:
        super().prepare()
        self.file.options["ifExists"] = "overwrite"
        self.file.former = b"what stood there before"
        self.file.path.write_bytes(self.file.former)

    def act(self, host: Towline) -> None:
        self.end(host, self.file)


class Rename(Scenario):
    """The destination is taken, so the file gets the next free name; and only one."""

    name = "rename"

    def prepare(self) -> None:
        taken = self.trial.files / "file"
        taken.write_bytes(b"another file")
        self.trial.kept[taken] = taken.read_bytes()
        self.file = self.trial.want("file (1)", self.size, id="file", path=str(taken), ifExists="rename")

    def act(self, host: Towline) -> None:
        self.end(host, self.file)


class UnknownLength(Scenario):
    """The server does not give the length of the file."""

    name = "unknown-length"

    def prepare(self) -> None:
        super().prepare()
        self.resource(self.file).default = Behaviour(chunked=True)

    def act(self, host: Towline) -> None:
        self.end(host, self.file)


class Retry(Scenario):
    """The connection breaks; the download waits and tries again."""

    name = "retry"
    stop = 200 * KIB

    def prepare(self) -> None:
        super().prepare()
        self.resource(self.file).then(
            Behaviour(hold_after=self.stop, gate=self.gate, drop_after=500 * KIB), Behaviour(status=503)
        )

    def act(self, host: Towline) -> None:
        self.end(host, self.file)


class Cancel(Scenario):
    name = "cancel"
    seconds = 0.01

    def act(self, host: Towline) -> None:
        self.file.ask(host, "cancel")


class CancelPaused(Scenario):
    name = "cancel-paused"
    seconds = 0.01

    def begin(self, host: Towline) -> None:
        super().begin(host)
        self.file.ask(host, "pause")

    def act(self, host: Towline) -> None:
        self.file.ask(host, "cancel")


class Remove(Scenario):
    """A completed download is removed and its file deleted."""

    name = "remove"
    seconds = 0.01

    def begin(self, host: Towline) -> None:
        self.file.ask(host, "start")
        host.call("wait", id=self.file.id)

    def act(self, host: Towline) -> None:
        self.file.ask(host, "remove", deleteFile=True)


class Update(Scenario):
    """The download continues at another URL with the same file."""

    name = "update"

    def prepare(self) -> None:
        super().prepare()
        trial = self.trial
        path = f"{trial.prefix}/other"
        trial.server.add(path, self.file.data)
        self.other_url = trial.server.url(path)

    def act(self, host: Towline) -> None:
        self.file.ask(host, "update", url=self.other_url, priority=3)
        host.call("wait", id=self.file.id)


class Checkpoint(Scenario):
    """The bytes of 2 s, more than 8 MiB, are made durable during the download."""

    name = "checkpoint"
    size = 9 * 1024 * KIB
    stop = size - 300 * KIB
    seconds = 2.2

    def act(self, host: Towline) -> None:
        def is_durable() -> bool:
            return bool(host.call("inspect", id=self.file.id)["durableRanges"])

        poll(is_durable, what="a checkpoint")
        # Its record is saved after that, and before this is answered.
        self.file.ask(host, "update", priority=1)


class Suspend(Scenario):
    """The host shuts the process down."""

    name = "suspend"
    seconds = 0.02

    def act(self, host: Towline) -> None:
        host.call("shutdown")
        host.notify("exit")
        host.wait_exit()


SINGLE: tuple[type[Scenario], ...] = (
    Life, Start, Transfer, SlowDisk, Pause, Resume, Complete, Overwrite, Rename, UnknownLength, Retry, Cancel,
    CancelPaused, Remove, Update, Checkpoint, Suspend,
)  # fmt: skip
