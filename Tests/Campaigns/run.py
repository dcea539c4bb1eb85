"""Runs campaigns: the first cases of each (as the tests do by default), or more of one, from where it ended.

run.py                                        the first cases of every campaign
run.py --campaign lies --minutes 30 --seed 7  continues with the next case of that seed, adds to totals/
run.py --campaign lies --seed 7 --case 1234   one case again
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Acceptance")]

from campaign import TOP, Campaign, Clock, Result, Totals, TotalsFile, commit_name  # noqa: E402

#: Campaign → its module in this folder, which defines `campaign_class`.
MODULES = {
    "lies": "lies.campaign_lies",
    "kills": "kills.campaign_kills",
    "power-loss": "power_loss.campaign_power_loss",
    "mutations": "mutations.campaign_mutations",
    "faults": "faults.campaign_faults",
    "heads": "heads.campaign_heads",
}
SAVE_EVERY_SECONDS = 10
SLICE_SEED = 1

_worker: Campaign | None = None
#: Why this process could not make its campaign.
_worker_failure = ""


def load(name: str) -> type[Campaign]:
    campaign: type[Campaign] = import_module(MODULES[name]).campaign_class
    return campaign


def available() -> list[str]:
    return [name for name, module in MODULES.items() if (HERE / (module.replace(".", "/") + ".py")).exists()]


def begin_worker(name: str, binary: Path, work: Path) -> None:
    """Runs once in each worker process."""
    global _worker, _worker_failure
    try:
        folder = work / f"worker-{os.getpid()}"
        folder.mkdir()
        worker = load(name)(binary, folder)
        worker.open()
    except Exception:
        # The pool would replace a worker that exits again and again, so each case reports the failure
        # instead.
        _worker_failure = traceback.format_exc(limit=8)
    else:
        _worker = worker
        multiprocessing.util.Finalize(worker, worker.close, exitpriority=10)


def run_case(task: tuple[str, int, Path]) -> tuple[int, Result]:
    seed, index, kept = task
    if _worker is None:
        return index, Result(failures=[f"the worker could not start: {_worker_failure}"])
    folder = _worker.work / f"case-{index}"
    folder.mkdir()
    try:
        result = _worker.run(index, Random(f"{seed}/{_worker.name}/{index}"), folder)
    except Exception:
        result = Result(failures=[traceback.format_exc(limit=8)])
    if result.failures:
        target = kept / f"{_worker.name}-{seed}-{index}"
        shutil.rmtree(target, ignore_errors=True)
        with contextlib.suppress(OSError):
            shutil.move(folder, target)
    shutil.rmtree(folder, ignore_errors=True)
    return index, result


def tasks(
    seed: str, first: int, count: int | None, clock: Clock, kept: Path
) -> Iterator[tuple[str, int, Path]]:
    index = first
    while (count is None or index < first + count) and not clock.is_over():
        yield seed, index, kept
        index += 1


class Run:
    """One run of one campaign."""

    def __init__(self, options: argparse.Namespace, name: str, kept: Path) -> None:
        self.options, self.name, self.kept = options, name, kept
        self.here = Totals()
        #: Size, case and text of the failures that have a size.
        self.sized: list[tuple[int, int, str]] = []
        self.file = TotalsFile(options.totals, name) if options.campaign and options.case is None else None

    def first_and_count(self) -> tuple[int, int | None]:
        if self.options.case is not None:
            return self.options.case, 1
        if self.file is None:
            return 0, load(self.name).slice_cases
        count = self.options.cases
        if count is None and self.options.minutes is None:
            count = load(self.name).slice_cases
        return self.file.load().next_case.get(self.options.seed, 0), count

    def go(self, work: Path) -> bool:
        """Runs the cases; true if nothing failed."""
        campaign = load(self.name)
        print(f"{self.name}: {campaign.about}", flush=True)
        if (lacking := campaign.lacks()) is not None:
            print(f"{self.name}: SKIPPED, this machine has no {lacking}", flush=True)
            return True
        first, count = self.first_and_count()
        print(
            f"{self.name}: seed {self.options.seed}, from case {first}, {self.options.jobs} at once",
            flush=True,
        )
        began = saved = time.monotonic()
        pending = Totals()
        jobs = 1 if count == 1 else self.options.jobs
        arguments = (self.name, self.options.binary, work)
        with multiprocessing.get_context("fork").Pool(jobs, begin_worker, arguments) as pool:
            clock = Clock(self.options.minutes)
            # Results arrive in order, and only a few cases run ahead, so that all cases before `next_case`
            # are done.
            limit = threading.Semaphore(jobs * 4)
            is_ending = threading.Event()

            def paced() -> Iterator[tuple[str, int, Path]]:
                for task in tasks(self.options.seed, first, count, clock, self.kept):
                    limit.acquire()
                    if is_ending.is_set():
                        return
                    yield task

            def let_go() -> None:
                # The pool's thread must not block in `paced` when the pool ends.
                is_ending.set()
                limit.release()

            last = first - 1
            try:
                for index, result in pool.imap(run_case, paced()):
                    limit.release()
                    last = index
                    self.here.add(result)
                    pending.add(result)
                    self.tell(index, result)
                    if time.monotonic() - saved > SAVE_EVERY_SECONDS:
                        self.save(pending, last)
                        pending, saved = Totals(), time.monotonic()
            finally:
                let_go()
            self.save(pending, last)
            pool.close()
            pool.join()
        self.tell_smallest_first()
        print(f"{self.name}: {self.here.text()} (seed {self.options.seed}, cases {first} to {last}, ", end="")
        print(f"{time.monotonic() - began:.0f} s)", flush=True)
        if self.file is not None:
            total = self.file.load()
            print(
                f"{self.name}: in all runs: {total.text()}; complete after {campaign.whole_cases}", flush=True
            )
        return self.here.failed == 0

    def tell(self, index: int, result: Result) -> None:
        for failure in result.failures:
            print(f"{self.name}: FAILED case {index}: {failure}", flush=True)
        if result.failures:
            again = f"Tests/run --campaign {self.name} --seed {self.options.seed} --case {index}"
            print(
                f"  again: {again}\n  files: {self.kept}/{self.name}-{self.options.seed}-{index}", flush=True
            )

        if result.failures and result.size is not None:
            self.sized.append((result.size, index, result.failures[0]))

    def tell_smallest_first(self) -> None:
        if len(self.sized) > 1:
            print(f"{self.name}: failures, smallest first:")
        for _, index, text in sorted(self.sized) if len(self.sized) > 1 else ():
            print(f"  case {index}: {text}", flush=True)

    def save(self, pending: Totals, last: int) -> None:
        if self.file is None or pending.cases == 0:
            return
        total = self.file.load()
        total.cases += pending.cases
        total.failed += pending.failed
        for mine, theirs in ((total.skipped, pending.skipped), (total.counts, pending.counts)):
            for key, value in theirs.items():
                mine[key] = mine.get(key, 0) + value
        total.worst_refetched_bytes = max(total.worst_refetched_bytes, pending.worst_refetched_bytes)
        total.next_case[self.options.seed] = last + 1
        commit = commit_name()
        total.commits[commit] = total.commits.get(commit, 0) + pending.cases
        self.file.save(total)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--campaign", choices=sorted(MODULES), help="only this campaign")
    parser.add_argument("--minutes", type=float, help="how long to run")
    parser.add_argument("--cases", type=int, help="how many cases to run")
    parser.add_argument(
        "--seed", default=str(SLICE_SEED), help="what the cases are made from (default %(default)s)"
    )
    parser.add_argument("--case", type=int, help="run only this case, again")
    parser.add_argument("--jobs", type=int, default=max(1, os.cpu_count() or 1), help="cases at once")
    parser.add_argument("--totals", type=Path, default=HERE / "totals", help="folder of the totals")
    parser.add_argument("--binary", type=Path, default=os.environ.get("TOWLINE"), help="default: $TOWLINE")
    options = parser.parse_args()
    if options.case is not None and options.campaign is None:
        parser.error("--case needs --campaign")
    if options.binary is None:
        parser.error("name the binary: --binary FILE or TOWLINE=FILE")
    options.binary = Path(options.binary).resolve()
    return options


def end(number: int, frame: object) -> None:
    """Exits as after an exception, to clean up outside our folders too; workers inherit this."""
    # A second signal would stop the cleanup.
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def main() -> int:
    options = parse()
    signal.signal(signal.SIGTERM, end)
    kept = TOP / ".build" / "campaigns"
    kept.mkdir(parents=True, exist_ok=True)
    names = [options.campaign] if options.campaign else available()
    failed = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix=f"towline-{name}-") as work:
            if not Run(options, name, kept).go(Path(work)):
                failed.append(name)
    if failed:
        print(f"campaigns that failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
