"""Runs scenarios on log disks."""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from scripted_server import ScriptedServer
from towline_client import JSON, RPCError, Towline, clean_environment

from power_loss import volumes
from power_loss.plans import LARGE_VOLUME_MIB, VOLUME_MIB, Item, Plan
from power_loss.promises import go_on, promises
from power_loss.recording import Cut, Moment, Recording
from power_loss.server import PORT, Folders, serve, start_params


class RecordedHost(Towline):
    """A host that notes the length of the disks' log at each message."""

    def __init__(
        self, binary: Path, disk: volumes.LogDisk, moments: list[Moment], number: int, **kept: Any
    ) -> None:
        self._disk, self._moments, self._number = disk, moments, number
        super().__init__(binary, **kept)

    def send_message(self, message: Any) -> None:
        self._note(True, message)
        super().send_message(message)

    def _take(self, line: bytes) -> None:
        # Read after the message has arrived: the message may rely on everything in the log by now.
        with contextlib.suppress(ValueError):
            self._note(False, json.loads(line))
        super()._take(line)

    def _note(self, is_sent: bool, message: JSON) -> None:
        position = self._disk.position()
        self._moments.append(Moment(position, time.monotonic_ns(), self._number, is_sent, message))


class Performance:
    """One run of a scenario on a log disk."""

    def __init__(
        self,
        plan: Plan,
        binary: Path,
        disk: volumes.LogDisk,
        server: ScriptedServer,
        home: Path,
        moments: Sequence[Moment],
    ) -> None:
        self.plan, self.binary, self.disk, self.server, self.home = plan, binary, disk, server, home
        self.environment: dict[str, str] = {}
        #: Those before an earlier power loss, then the new ones.
        self.moments = list(moments)
        self.folders = Folders(disk.points)
        self.gates = serve(server, plan.items, is_scripted=not moments)
        #: The number of the next process.
        self.number = max((moment.process for moment in moments), default=-1) + 1
        #: The items that a new process must be asked to continue.
        self.running: list[Item] = []
        #: Items whose URL was changed after the start.
        self.moved: list[Item] = []

    def perform(self) -> None:
        self.host = self.launch()
        try:
            if self.plan.is_second and self.moments:
                self.go_on()
            else:
                self.go_through()
        finally:
            self.host.finish()
        if self.host.violations:
            raise AssertionError(f"while recording: {self.host.violations}")

    def go_through(self) -> None:
        for item_id, step in self.plan.steps:
            if item_id:
                self.step(self.plan.item(item_id), step)
            else:
                self.interrupt(step)

    def go_on(self) -> None:
        """After a power loss: every download finishes."""
        found = promises(self.plan.items, self.moments)
        records = {d["id"]: d for d in self.host.call("list", limit=100)["downloads"]}
        for item_id in go_on(self.host, found, records, self.server, self.folders):
            self.host.call("wait", id=item_id, timeoutMs=30_000)

    def launch(self) -> RecordedHost:
        host = RecordedHost(
            self.binary,
            self.disk,
            self.moments,
            self.number,
            args=["--state-dir", str(self.folders.state)],
            env=clean_environment(self.home, **self.environment),
            cwd=self.home,
        )
        self.number += 1
        host.call("configure", progressIntervalMs=50, maxActive=50, maxActivePerHost=50)
        return host

    def interrupt(self, step: str) -> None:
        if step == "write back":
            return self.write_back()
        if step == "crash":
            self.host.kill()
        else:
            self.host.call("shutdown")
        self.host.finish()
        self.host = self.launch()
        for item in self.running:
            if item in self.moved:
                self.host.call("resume", id=item.id)
            else:
                self.host.call("start", **start_params(item, self.server.url(f"/{item.id}"), self.folders))
        return None

    def write_back(self) -> None:
        """Starts to write dirty pages, as the kernel may at any time; flushes nothing."""
        for path in [*self.folders.downloads.iterdir(), *self.folders.state.iterdir()]:
            with contextlib.suppress(OSError), path.open("rb") as file:
                volumes.start_writeback(file.fileno())

    def step(self, item: Item, step: str) -> None:
        if step == "start":
            self.host.call("start", **start_params(item, self.server.url(f"/{item.id}"), self.folders))
            if not item.params.get("startPaused"):
                self.running.append(item)
        elif step == "begun":
            self.server.wait_requests(f"/{item.id}", 1)
        elif step.startswith("part:"):
            self.wait_part(item, int(step[5:]))
        elif step == "wait":
            if item.id in self.gates:
                self.gates[item.id].set()
            download = self.host.call("wait", id=item.id, timeoutMs=30_000)["download"]
            assert download["state"] == "completed", download
            self.end(item)
        else:
            self.command(item, step)

    def command(self, item: Item, step: str) -> None:
        extra: JSON = {}
        if step == "update":
            extra = {"priority": 7, "metadata": {"item": item.id}}
        elif step == "move":
            extra = {"url": self.server.url(f"/moved/{item.id}")}
            self.moved.append(item)
        method = "update" if step == "move" else step
        # After a crash the download may already have finished.
        with contextlib.suppress(RPCError):
            self.host.call(method, id=item.id, **extra)
        if step in ("pause", "cancel"):
            self.end(item)
        elif step == "resume":
            self.running.append(item)

    def end(self, item: Item) -> None:
        if item in self.running:
            self.running.remove(item)

    def wait_part(self, item: Item, count: int) -> None:
        def is_there(event: JSON) -> bool:
            params = event["params"]
            if event["method"] == "progress":
                return params["id"] == item.id and params["receivedBytes"] >= count
            download = params.get("download", {})
            return download.get("id") == item.id and download["state"] == "completed"

        self.host.wait_event(is_there)


class Studio:
    """Makes recordings in the folder of one worker."""

    def __init__(self, binary: Path, tools: tuple[Path, Path], work: Path) -> None:
        self.binary, self.work = binary, work
        self.log_disk, self.shim = tools

    @functools.cache  # noqa: B019
    def supports(self, kind: str) -> bool:
        """True if this machine can make and mount such a file system."""
        image, point = self.work / "probe", self.work / "probe-volume"
        try:
            volumes.make(image, kind, VOLUME_MIB)
            with volumes.mounted([image], [point], kind):
                return True
        except OSError:
            return False
        finally:
            image.unlink(missing_ok=True)

    def record(
        self,
        plan: Plan,
        target: Path,
        dropping: str | None = None,
        after: tuple[Recording, Cut] | None = None,
    ) -> None:
        """Fills the new folder `target`.

        With `dropping`, the service's flushes of this kind do nothing. With `after`, the recording shows how
        the service continues after this power loss.
        """
        target.mkdir(parents=True)
        earlier = None if after is None else after[0].before(after[1])
        moments = [] if earlier is None else [replace(moment, position=0) for moment in earlier.moments]
        stage = self.work / "stage"
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir()
        server = ScriptedServer(PORT)
        try:
            bases = [target / f"base{number}" for number in range(plan.disks)]
            if after is None:
                self._make_bases(plan, bases, stage)
            else:
                after[0].build(after[1], bases)
            images = [stage / f"disk{number}" for number in range(plan.disks)]
            for base, image in zip(bases, images):
                volumes.copy_sparse(base, image)
            disk = volumes.LogDisk(self.log_disk, target / "log", images, stage, plan.kind, plan.options)
            try:
                performance = Performance(plan, self.binary, disk, server, self.work, moments)
                if dropping is not None:
                    performance.environment = {"LD_PRELOAD": str(self.shim), "TOWLINE_DROP_SYNC": dropping}
                performance.perform()
                devices = [point.stat().st_dev for point in disk.points]
                end = disk.position()
            finally:
                disk.close()
        finally:
            server.close()
        about = {
            "kind": plan.kind,
            "disks": plan.disks,
            "devices": devices,
            "end": end,
            "flushNs": 0 if earlier is None else earlier.flush_ns,
            "moments": [asdict(moment) for moment in performance.moments if moment.position <= end],
        }
        (target / "recording.json").write_text(json.dumps(about))
        shutil.rmtree(stage)

    def _make_bases(self, plan: Plan, bases: Sequence[Path], stage: Path) -> None:
        """The initial disks: two folders, and the existing files."""
        sizes = [VOLUME_MIB, LARGE_VOLUME_MIB if plan.has_large else VOLUME_MIB][-plan.disks :]
        for base, size in zip(bases, sizes):
            volumes.make(base, plan.kind, size)
        points = [stage / f"base-volume{number}" for number in range(plan.disks)]
        with volumes.mounted(bases, points, plan.kind):
            folders = Folders(points)
            folders.state.mkdir(mode=0o700)
            folders.downloads.mkdir()
            for item in plan.items:
                if item.old_size is not None:
                    (folders.downloads / item.file).write_bytes(item.old_data)
