"""What the service is made to do while its disks are recorded: made from a number alone."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import shutil
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from scripted_server import Behaviour, ScriptedServer, content
from towline_client import JSON, RPCError, Towline, clean_environment

from power_loss import volumes
from power_loss.recording import Moment

MIB = 1 << 20
PORT = 8040
VOLUME_MIB, LARGE_VOLUME_MIB = 32, 72
#: The large download is long enough for checkpoints, and for a lost one to be noticed.
LARGE_BYTES = 22 * MIB
LARGE_RATE = 6 * MIB


#: Each is wanted by many cases.
known_content = functools.lru_cache(maxsize=64)(content)


@dataclass(frozen=True)
class Item:
    """One download of a scenario."""

    id: str
    size: int
    seed: int
    #: start, begun, pause, resume, cancel, update, move, remove, wait; part:N waits for N received bytes.
    steps: tuple[str, ...]
    params: JSON = field(default_factory=dict)
    #: Size of what is there already under the name.
    old_size: int | None = None
    #: Body bytes after which the first response stops; with `stays_held` every one does.
    held_after: int | None = None
    stays_held: bool = False
    rate: int | None = None
    is_chunked: bool = False

    @property
    def file(self) -> str:
        return f"{self.id}.bin"

    @property
    def data(self) -> bytes:
        return known_content(self.seed, self.size)

    @property
    def old_data(self) -> bytes:
        return known_content(self.seed + 1_000_000, self.old_size or 0)


@dataclass(frozen=True)
class Plan:
    """A scenario."""

    kind: str
    #: 2: state and downloads on volumes of their own.
    disks: int
    options: tuple[str, ...]
    items: tuple[Item, ...]
    #: (item, step), and steps of the whole service: ("", "crash"), ("", "suspend"), ("", "write back").
    steps: tuple[tuple[str, str], ...]

    def item(self, item_id: str) -> Item:
        return next(item for item in self.items if item.id == item_id)


def plan(number: int) -> Plan:
    """Every fifth scenario is on XFS."""
    random = Random(f"scenario/{number}")
    kind = "xfs" if number % 5 == 4 else "ext4"
    items = _small_items(random) + _commanded_items(random)
    if number % 3 == 0:
        items.append(Item("large", LARGE_BYTES, 900, ("start", "wait"), rate=LARGE_RATE))
    steps = _interleaved(items, random)
    if items[-1].id == "large":
        # Work goes on all the while that the large one runs.
        for share in (0.25, 0.5, 0.75):
            steps.insert(int(len(steps) * share), ("large", f"part:{int(LARGE_BYTES * share)}"))
        steps.remove(("large", "start"))
        steps.insert(0, ("large", "start"))
        steps.remove(("large", "wait"))
        steps.append(("large", "wait"))
    for _ in range(random.choice((0, 2, 4))):
        steps.insert(random.randrange(1, len(steps)), ("", "write back"))
    if (interruption := random.choice(("", "", "crash", "suspend"))) != "":
        steps.insert(random.randrange(len(steps) // 3, len(steps)), ("", interruption))
    # The file system's own commits, of every 5 s, more often: they make names durable before their bytes.
    options = ("commit=1",) if kind == "ext4" and random.random() < 0.4 else ()
    return Plan(kind, random.choice((1, 1, 2)), options, tuple(items), tuple(steps))


def mutant_plan(number: int) -> Plan:
    """Short, and on two volumes: on one, each flush of the state often makes the rest durable by the way."""
    random = Random(f"mutant/{number}")
    items = _small_items(random)
    return Plan("ext4", 2, (), tuple(items), tuple(_interleaved(items, random)))


def _small_items(random: Random) -> list[Item]:
    sizes = random.sample((0, 1, 4096, 5000, 70_000, 131_072, 300_001, 700_000), 4)
    items = [
        Item(f"small{i}", size, random.randrange(1000), ("start", "wait"), is_chunked=random.random() < 0.3)
        for i, size in enumerate(sizes)
    ]
    old, new, renamed = random.choice((3000, 50_000)), random.choice((2000, 60_000, 200_000)), 40_000
    items.append(Item("over", new, 300, ("start", "wait"), {"ifExists": "overwrite"}, old_size=old))
    items.append(Item("beside", renamed, 301, ("start", "wait"), {"ifExists": "rename"}, old_size=5000))
    return items


def _commanded_items(random: Random) -> list[Item]:
    size = random.choice((900_000, 1_500_000, 2_500_000))
    held = random.randrange(1, size)
    paused = ("start", f"part:{held}", "pause", "resume", "wait")
    updated = ("start", f"part:{held}", "update", "move", "wait")
    checksum = {"algorithm": "sha256", "value": hashlib.sha256(content(404, 80_000)).hexdigest()}
    return [
        Item("paused", size, 400, paused, held_after=held),
        Item("kept", size, 401, ("start", f"part:{held}", "pause"), held_after=held),
        Item("canceled", size, 402, ("start", f"part:{held}", "cancel"), held_after=held),
        Item("updated", size, 403, updated, held_after=held),
        Item("checked", 80_000, 404, ("start", "wait"), {"checksum": checksum}),
        Item("later", 50_000, 405, ("start", "update", "resume", "wait"), {"startPaused": True}),
        Item("never", 50_000, 406, ("start",), {"startPaused": True}),
        Item("removed", 30_000, 407, ("start", "wait", "remove")),
        Item("running", size, 408, ("start", "begun"), held_after=held, stays_held=True),
    ]


def _interleaved(items: list[Item], random: Random) -> list[tuple[str, str]]:
    """All steps, those of each item in order."""
    turns = [item for item in items for _ in item.steps]
    random.shuffle(turns)
    left = {item.id: list(item.steps) for item in items}
    return [(item.id, left[item.id].pop(0)) for item in turns]


class Folders:
    """Where the service finds its state and puts its files, on the volumes mounted at `points`."""

    def __init__(self, points: list[Path]) -> None:
        self.state = points[0] / "state"
        self.downloads = points[-1] / "downloads"


def serve(server: ScriptedServer, items: tuple[Item, ...], is_scripted: bool) -> dict[str, threading.Event]:
    """Offers the items; as the scenario wants it, or each at once. The events let held bodies go on."""
    gates = {}
    for item in items:
        resource = server.add(f"/{item.id}", item.data)
        server.add(f"/moved/{item.id}", item.data)
        resource.default = Behaviour(chunked=item.is_chunked)
        if not is_scripted:
            continue
        resource.default = Behaviour(chunked=item.is_chunked, rate=item.rate)
        if item.held_after is not None:
            gate = gates[item.id] = threading.Event()
            held = Behaviour(hold_after=item.held_after, gate=gate)
            resource.then(held)
            if item.stays_held:
                resource.default = held
    return gates


def start_params(item: Item, url: str, folders: Folders) -> JSON:
    return {"id": item.id, "url": url, "path": str(folders.downloads / item.file), **item.params}


class RecordedHost(Towline):
    """Notes how long the disks' log is at each message."""

    def __init__(
        self, binary: Path, disk: volumes.LogDisk, moments: list[Moment], number: int, **kept: Any
    ) -> None:
        self._disk, self._moments, self._number = disk, moments, number
        super().__init__(binary, **kept)

    def send_message(self, message: Any) -> None:
        self._note(True, message)
        super().send_message(message)

    def _take(self, line: bytes) -> None:
        # Read after the message has come: whatever is in the log by now may be what the message relies on.
        with contextlib.suppress(ValueError):
            self._note(False, json.loads(line))
        super()._take(line)

    def _note(self, is_sent: bool, message: JSON) -> None:
        position = self._disk.position()
        self._moments.append(Moment(position, time.monotonic_ns(), self._number, is_sent, message))


class Performance:
    """One run of a scenario on a log disk."""

    def __init__(
        self, plan: Plan, binary: Path, disk: volumes.LogDisk, server: ScriptedServer, home: Path
    ) -> None:
        self.plan, self.binary, self.disk, self.server, self.home = plan, binary, disk, server, home
        self.environment: dict[str, str] = {}
        self.moments: list[Moment] = []
        self.folders = Folders(disk.points)
        self.gates = serve(server, plan.items, is_scripted=True)
        self.number = 0
        #: The items that a new process has to be told to go on with.
        self.running: list[Item] = []
        #: Those with another URL than they were started with.
        self.moved: list[Item] = []

    def perform(self) -> None:
        self.host = self.launch()
        try:
            for item_id, step in self.plan.steps:
                if item_id:
                    self.step(self.plan.item(item_id), step)
                else:
                    self.interrupt(step)
        finally:
            self.host.finish()
        if self.host.violations:
            raise AssertionError(f"while recording: {self.host.violations}")

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
        """Begins to write what is dirty, as the kernel does when it likes; flushes nothing."""
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
        # After a crash the download may have got to its end already.
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

    def record(self, plan: Plan, target: Path, dropping: str | None = None) -> None:
        """Fills the new folder `target`; with `dropping` the service's flushes of that kind do nothing."""
        target.mkdir(parents=True)
        stage = self.work / "stage"
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir()
        server = ScriptedServer(PORT)
        try:
            images = self._base(plan, target, stage)
            disk = volumes.LogDisk(self.log_disk, target / "log", images, stage, plan.kind, plan.options)
            try:
                performance = Performance(plan, self.binary, disk, server, self.work)
                if dropping is not None:
                    performance.environment = {"LD_PRELOAD": str(self.shim), "TOWLINE_DROP_SYNC": dropping}
                performance.perform()
                devices = [point.stat().st_dev for point in disk.points]
                end = disk.position()
            finally:
                disk.close()
        finally:
            server.close()
        moments = [asdict(moment) for moment in performance.moments if moment.position <= end]
        about = {"kind": plan.kind, "disks": plan.disks, "devices": devices, "end": end, "moments": moments}
        (target / "recording.json").write_text(json.dumps(about))
        shutil.rmtree(stage)

    def _base(self, plan: Plan, target: Path, stage: Path) -> list[Path]:
        """The disks at the beginning: two folders, and the files that are there already."""
        last = LARGE_VOLUME_MIB if plan.items[-1].id == "large" else VOLUME_MIB
        sizes = [VOLUME_MIB, last][-plan.disks :]
        bases = [target / f"base{number}" for number in range(plan.disks)]
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
        images = [stage / f"disk{number}" for number in range(plan.disks)]
        for base, image in zip(bases, images):
            volumes.copy_sparse(base, image)
        return images
