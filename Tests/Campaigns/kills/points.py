"""The points at which processes are killed: `points.tsv`, made by dry runs.

python points.py BINARY    runs every scenario several times, counts its calls, and writes the list again
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "Acceptance")]

from kills.strace import ANYWHERE, Point  # noqa: E402

LIST = HERE / "points.tsv"
DRY_RUNS = 3
#: On a busy machine threads take turns differently: this many more calls of a kind are normal.
MORE = 10
FLUSHES = ("fdatasync", "fsync", "syncfs", "sync_file_range")


def load() -> list[Point]:
    """All points in the list."""
    points = []
    for line in LIST.read_text().splitlines()[1:]:
        scenario, call, place, numbers = line.split("\t")
        for part in numbers.split(","):
            first, _, last = part.partition("-")
            points += [Point(scenario, call, place, n) for n in range(int(first), int(last or first) + 1)]
    return points


def missing(found: Iterable[Point], listed: Iterable[Point]) -> list[Point]:
    """The reached points that are not in the list; slightly higher numbers of a listed kind are allowed."""
    most: dict[tuple[str, str, str], int] = {}
    for point in listed:
        most[point.kind] = max(point.n, most.get(point.kind, 0))
    # Not compared: how many calls precede one that is counted anywhere depends on linking, and which files
    # are flushed together depends on time.
    sure = (point for point in found if point.place != ANYWHERE and point.call not in FLUSHES)
    return [p for p in sure if p.kind not in most or p.n > most[p.kind] * 1.5 + MORE]


def ranges(numbers: set[int]) -> str:
    """Makes `1-4,7` of 1, 2, 3, 4 and 7."""
    parts: list[list[int]] = []
    for n in sorted(numbers):
        if parts and parts[-1][1] == n - 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def write(binary: Path) -> None:
    from kills.campaign_kills import Kills
    from kills.scenarios_several import SCENARIOS

    rows: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    with tempfile.TemporaryDirectory(prefix="towline-points-") as work:
        campaign = Kills(binary, Path(work))
        campaign.open()
        for name in SCENARIOS:
            for run in range(DRY_RUNS):
                folder = Path(work) / f"{name}-{run}"
                folder.mkdir()
                points, result = campaign.count(name, Random(run), folder)
                assert not result.failures, (name, result.failures)
                for point in points:
                    rows[point.kind].add(point.n)
        campaign.close()
    lines = ["scenario\tcall\tplace\tn"]
    order = list(SCENARIOS)
    for kind in sorted(rows, key=lambda kind: (order.index(kind[0]), *kind)):
        lines.append("\t".join([*kind, ranges(rows[kind])]))
    LIST.write_text("\n".join(lines) + "\n")
    print(f"{sum(len(n) for n in rows.values())} points of {len(SCENARIOS)} scenarios")


if __name__ == "__main__":
    write(Path(sys.argv[1]).resolve())
