"""Scenarios: what the service does while its disks are recorded. Each depends only on a number."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field
from random import Random

from scripted_server import content
from towline_client import JSON

MIB = 1 << 20
VOLUME_MIB, LARGE_VOLUME_MIB = 32, 72
#: The large download is long enough to have checkpoints, and to show a missing one.
LARGE_BYTES = 22 * MIB
LARGE_RATE = 6 * MIB


#: Many cases need the same content.
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
    #: Size of an existing file with this name.
    old_size: int | None = None
    #: Body bytes after which the first response stops; with `stays_held` every response stops there.
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
    #: 2: state and downloads on separate volumes.
    disks: int
    options: tuple[str, ...]
    items: tuple[Item, ...]
    #: The power fails twice: the recording shows how a new process continues after the first time.
    is_second: bool
    #: (item, step); steps of the whole service: ("", "crash"), ("", "suspend"), ("", "write back").
    steps: tuple[tuple[str, str], ...]

    @property
    def has_large(self) -> bool:
        return self.items[-1].id == "large"

    def item(self, item_id: str) -> Item:
        return next(item for item in self.items if item.id == item_id)


def plan(number: int) -> Plan:
    """Every fifth scenario is on XFS, every third has the large download, every seventh two power losses."""
    random = Random(f"scenario/{number}")
    kind = "xfs" if number % 5 == 4 else "ext4"
    items = _small_items(random) + _commanded_items(random)
    if number % 3 == 0:
        items.append(_large_item())
    steps = _interleaved(items, random)
    if number % 3 == 0:
        # Other steps run during the whole large download.
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
    # Commits of the file system every second instead of every 5 s make names durable before their bytes.
    options = ("commit=1",) if kind == "ext4" and random.random() < 0.4 else ()
    return Plan(kind, random.choice((1, 1, 2)), options, tuple(items), number % 7 == 6, tuple(steps))


def mutant_plan(number: int, is_large: bool) -> Plan:
    """Short, and on two volumes: on one, each flush of the state often makes everything else durable too."""
    random = Random(f"mutant/{number}")
    items = [_large_item()] if is_large else _small_items(random)
    return Plan("ext4", 2, (), tuple(items), False, tuple(_interleaved(items, random)))


def _large_item() -> Item:
    return Item("large", LARGE_BYTES, 900, ("start", "wait"), rate=LARGE_RATE)


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
    """All steps in random order, those of each item in their own order."""
    turns = [item for item in items for _ in item.steps]
    random.shuffle(turns)
    left = {item.id: list(item.steps) for item in items}
    return [(item.id, left[item.id].pop(0)) for item in turns]
