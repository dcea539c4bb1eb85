"""What a campaign is: many cases, each made only from a seed and a number, so that each can run again."""

from __future__ import annotations

import abc
import json
import os
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

TOP = Path(__file__).resolve().parents[2]


@dataclass
class Result:
    """The result of one case."""

    #: What was wrong, one sentence each; empty if every promise held.
    failures: list[str] = field(default_factory=list)
    #: Bytes that the server had to send again after the fault of this case.
    refetched_bytes: int = 0
    #: How often what happened: outcomes, faults that took effect, states checked. Added up over the cases.
    counts: Counter[str] = field(default_factory=Counter)
    #: What the machine lacks for this case; such a case counts as skipped.
    lacks: str | None = None
    #: The size of a failure's input, if it has one; at the end such failures are listed by size.
    size: int | None = None


class Campaign(abc.ABC):
    """One kind of cases. Each worker process makes one object and calls `run` for case after case."""

    #: The NAME of ``--campaign NAME``.
    name: str
    #: What it proves, in one sentence.
    about: str
    #: Cases in the default run of the tests.
    slice_cases: int
    #: Cases after which the campaign counts as complete.
    whole_cases: int

    def __init__(self, binary: Path, work: Path) -> None:
        self.binary = binary
        #: A folder of this worker alone; `run` need not clean it up.
        self.work = work

    @classmethod
    def lacks(cls) -> str | None:
        """What the machine lacks for the whole campaign (FUSE, root, strace …), or None."""
        return None

    def open(self) -> None:  # noqa: B027
        """Creates what all cases of this worker share: servers, images."""

    def close(self) -> None:  # noqa: B027
        """Ends what `open` made."""

    @abc.abstractmethod
    def run(self, index: int, random: Random, folder: Path) -> Result:
        """Runs case `index`. `random` depends only on seed, name and index; `folder` is new and empty.

        An exception counts as a failure. The folder of a failed case is kept.
        """


@dataclass
class Totals:
    """The totals of all runs of one campaign; stored in a file so that later runs can continue."""

    cases: int = 0
    failed: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    worst_refetched_bytes: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    #: The next case of each seed.
    next_case: dict[str, int] = field(default_factory=dict)
    #: How many cases ran on which commit.
    commits: dict[str, int] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        self.cases += 1
        if result.lacks is not None:
            self.skipped[result.lacks] = self.skipped.get(result.lacks, 0) + 1
        if result.failures:
            self.failed += 1
        self.worst_refetched_bytes = max(self.worst_refetched_bytes, result.refetched_bytes)
        for name, count in result.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count

    def text(self) -> str:
        """One line for human readers."""
        parts = [f"{self.cases} cases", f"{self.failed} failed"]
        parts += [f"{count} skipped without {name}" for name, count in sorted(self.skipped.items())]
        parts.append(f"at most {self.worst_refetched_bytes:,} bytes fetched again")
        parts += [f"{name} {count:,}" for name, count in sorted(self.counts.items())]
        return ", ".join(parts)


class TotalsFile:
    """The totals of one campaign as JSON; replaced atomically, so that a kill loses only the last seconds."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.json"

    def load(self) -> Totals:
        return Totals(**json.loads(self.path.read_text())) if self.path.exists() else Totals()

    def save(self, totals: Totals) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        temporary.write_text(json.dumps(vars(totals), indent=1, sort_keys=True) + "\n")
        temporary.replace(self.path)


def commit_name() -> str:
    """The commit that is checked out, with a `+` if source files have changed since."""
    git = ["git", "-C", str(TOP)]
    head = subprocess.run([*git, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True)
    if head.returncode != 0:
        return "unknown"
    changed = subprocess.run([*git, "status", "--porcelain", "Sources"], capture_output=True, text=True)
    return head.stdout.strip() + ("+" if changed.stdout else "")


class Clock:
    """The time limit of a run."""

    def __init__(self, minutes: float | None) -> None:
        self._deadline = None if minutes is None else time.monotonic() + minutes * 60

    def is_over(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline
