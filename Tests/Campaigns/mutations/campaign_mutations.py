"""Damaged state: files of the state directory and partial files are damaged, then the service starts.

A case takes one of the states that the service left (killed, with a write-ahead log and marks in several
session files; later read and closed, with the log merged; taken over by one more process and killed again;
each with downloads that were paused, active, queued, waiting, completed, failed, canceled, and killed between
the rename and its record). It damages one to three of the files, starts the service, resumes everything from
an honest server, starts lost downloads again, and checks every file. Damage is: flipped bits, bytes, blocks
and lengths, cuts at any byte, zeros, random bytes, growth, files deleted, swapped, or replaced by links,
FIFOs and directories, modes, one flipped bit in one value of one record, a later schema; for partial files
also another inode, a second name, and a file at the final name.

What must hold: the process starts, or exits with 73 and changes nothing if the database is of a later version
or of another program; it never crashes and answers everything; lost downloads are reported on standard error
(unless the lock file, which notes how many there were, was damaged too); damage to a session file or a
partial file loses no download; every file with a final name is complete and equals the server's; nothing
outside the state and the downloads is changed; undamaged downloads resume exactly where they were: "bytes
fetched again" are only those that every resume compares.

Not covered: bytes of a partial file that were changed in place under a download without a checksum (nobody
can detect this); damage while a process runs; modes that deny access, if the service runs as root.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from campaign import Campaign, Result
from support import FINAL, resume_start
from towline_client import JSON, RPCError, Timeout, Towline

from mutations.base_states import SUMMED, Bases, Snapshot, Stock, copy_tree, lacking
from mutations.file_mutations import (
    DATABASE,
    FUTURE,
    PARTIAL,
    Mutation,
    Outside,
    mutate_partial,
    mutate_state,
)

ANSWER_SECONDS = 15.0
SETTLE_MS = 15_000
CANNOT_START = 73


class MutationCampaign(Campaign):
    name = "mutations"
    about = "damaged state and partial files: the service starts, reports losses, and completes no wrong byte"
    slice_cases = 120
    whole_cases = 20_000

    @classmethod
    def lacks(cls) -> str | None:
        return lacking()

    def open(self) -> None:
        # Durability does not matter here, and memory needs no flushes.
        memory = Path("/dev/shm")
        self.memory = (
            tempfile.TemporaryDirectory(prefix="towline-mutations-", dir=memory)
            if os.access(memory, os.W_OK)
            else None
        )
        self.place = Path(self.memory.name) if self.memory else self.work
        self.outside = Outside(self.place / "outside")
        self.bases: Bases | None = None
        self.stock = Stock(self.binary, self.place)

    def close(self) -> None:
        self.stock.close()
        if self.bases:
            self.bases.close()
        if self.memory:
            self.memory.cleanup()

    def run(self, index: int, random: Random, folder: Path) -> Result:
        result = Result()
        if self.bases is None or (snapshot := self.bases.restore(index)) is None:
            if self.bases:
                self.bases.close()
            self.bases = self.stock.take()
            result.counts["states made"] += 1
            snapshot = self.bases.restore(index)
            assert snapshot is not None
        Case(self.bases, snapshot, random, folder, self.outside, result).run()
        if result.failures:
            shutil.rmtree(self.outside.folder)
            self.outside = Outside(self.place / "outside")
        return result


class Case:
    """One case: its mutations, the run of the service on them, and the result."""

    def __init__(
        self,
        bases: Bases,
        snapshot: Snapshot,
        random: Random,
        folder: Path,
        outside: Outside,
        result: Result,
    ) -> None:
        self.bases, self.snapshot, self.random, self.folder = bases, snapshot, random, folder
        self.outside, self.result = outside, result
        self.mutations: list[Mutation] = []
        self.stderr = ""

    def run(self) -> None:
        self.mutate()
        self.bases.server.log.clear()
        try:
            self.serve()
        except (Timeout, RPCError, OSError) as error:
            self.fail(f"{type(error).__name__}: {error}"[:1_000])
        self.result.failures += [f"rule of the wire: {text}" for text in self.bases.end_processes()]
        self.check_files()
        if self.result.failures:
            told = "; ".join(map(str, self.mutations))
            self.result.failures = [f"{text} [{self.snapshot.name}: {told}]" for text in self.result.failures]
            (self.folder / "stderr").write_text(self.stderr)
            shutil.copytree(self.bases.state, self.folder / "after", symlinks=True, ignore=only_files)

    def fail(self, text: str) -> None:
        self.result.failures.append(text)

    def count(self, name: str) -> None:
        self.result.counts[name] += 1

    # Damage

    def mutate(self) -> None:
        harmed_state = self.folder / "before"
        copy_tree(self.snapshot.state, harmed_state)
        partials = [f for f in self.snapshot.files if f.path.name.endswith(".towline") and f.data]
        for _ in range(self.random.choice((1, 1, 1, 1, 1, 2, 2, 3))):
            if self.random.random() < 0.2 and partials:
                file = partials.pop(self.random.randrange(len(partials)))
                self.mutations.append(mutate_partial(file, self.outside, self.bases.aside, self.random))
            else:
                self.mutations.append(mutate_state(harmed_state, self.snapshot, self.outside, self.random))
        for mutation in self.mutations:
            self.count(f"{mutation.family}: {mutation.kind}")
        # The damaging itself may have changed files outside (made links, read files).
        self.outside.before = self.outside.look()
        copy_tree(harmed_state, self.bases.state)

    def harms(self, name: str) -> bool:
        return any(m.harmed is None or name in m.harmed for m in self.mutations)

    def has(self, test: Callable[[Mutation], bool]) -> bool:
        return any(test(m) for m in self.mutations)

    @property
    def is_database_harmed(self) -> bool:
        return self.has(lambda m: m.family == DATABASE)

    @property
    def says_damage(self) -> bool:
        """Loss was reported. The count that shows it is in the lock file, which may be damaged too."""
        words = ("the database", "file of this program")
        is_lock_harmed = self.has(lambda m: "state.lock" in (m.target, m.detail))
        return is_lock_harmed or any(word in self.stderr for word in words)

    # The service

    def serve(self) -> None:
        before = state_bytes(self.bases.state)
        host, listed = self.begin()
        if host is None:
            self.check_refusal(before)
            return
        if self.has(lambda m: m.kind == FUTURE) and len(self.mutations) == 1:
            self.fail("a database of a later version was opened")
        if listed:
            host.call("resume", all=True, timeout=ANSWER_SECONDS)
            failed = [d["id"] for d in listed.values() if d["state"] == "failed"]
            if failed:
                host.call("resume", ids=failed, timeout=ANSWER_SECONDS)
            self.check_settled(host.call("wait", all=True, until="settled", timeoutMs=SETTLE_MS, timeout=20))
        self.check_offsets(listed)
        self.start_lost(host, listed)
        ended = self.listed(host)
        host.close_stdin()
        status = host.wait_exit(ANSWER_SECONDS)
        # Now stderr is complete.
        self.stderr += host.stderr
        if status not in (0, 1):
            self.fail(f"exit status {status}")
        self.check_known(listed)
        self.check_downloads(ended)

    def begin(self) -> tuple[Towline | None, dict[str, JSON]]:
        """A process that has answered `list`; None if the state cannot be used."""
        for attempt in range(2):
            host = self.bases.process()
            try:
                return host, self.listed(host)
            except RPCError as error:
                # Damage that only a read found: the next process that is alone checks everything.
                if error.kind != "storageFailure" or attempt == 1:
                    raise
                self.count("damage met late")
                host.close_stdin()
                host.wait_exit(ANSWER_SECONDS)
                self.stderr += host.stderr
            except (Timeout, BrokenPipeError) as error:
                if host.process.poll() is None and "output ended" not in str(error):
                    raise
                host.wait_exit(ANSWER_SECONDS)
                self.stderr += host.stderr
                if host.process.returncode != CANNOT_START:
                    raise
                return None, {}
        raise AssertionError("not reached")

    @staticmethod
    def listed(host: Towline) -> dict[str, JSON]:
        answer = host.call("list", limit=100, timeout=ANSWER_SECONDS)
        return {d["id"]: d for d in answer["downloads"]}

    def check_refusal(self, before: dict[str, bytes]) -> None:
        self.count("refused with 73")
        if not self.has(lambda m: m.kind == FUTURE or m.is_identity_hit):
            self.fail(f"does not start: {self.stderr.strip()}")
        if state_bytes(self.bases.state) != before:
            self.fail("the refused database was changed")
        if "towline.db" not in self.stderr:
            self.fail(f"the refusal does not name the file: {self.stderr.strip()}")

    def start_lost(self, host: Towline, listed: dict[str, JSON]) -> None:
        """Starts lost downloads again, at the same paths."""
        lost = sorted(set(self.snapshot.downloads) - set(listed))
        for name in lost:
            path = self.bases.files / name
            if path.is_file():
                path.rename(self.bases.aside / name)
            url = self.bases.sources[name].url
            host.call("start", id=name, url=url, path=str(path), timeout=ANSWER_SECONDS)
        if lost:
            self.count("downloads lost and said")
            self.check_settled(host.call("wait", ids=lost, timeoutMs=SETTLE_MS, timeout=20))

    # What must hold

    def check_known(self, listed: dict[str, JSON]) -> None:
        lost = sorted(set(self.snapshot.downloads) - set(listed))
        if lost and not self.is_database_harmed:
            self.fail(f"lost {', '.join(lost)}")
        elif lost and not self.says_damage:
            self.fail(f"lost without a message: {', '.join(lost)}")
        for name, download in listed.items():
            was = self.snapshot.downloads.get(name)
            if was is None:
                self.fail(f"an unknown download: {name!r}")
                continue
            for member in ("url", "path", "checksum"):
                if was[member] != download[member] and not self.says_damage:
                    self.fail(f"{name}: {member} is now {download[member]!r}")
            if was["state"] != download["state"] and not self.harms(name):
                self.fail(f"{name}: was {was['state']}, is {download['state']}")
        if not lost:
            self.count("nothing lost")

    def check_settled(self, answer: JSON) -> None:
        if answer["timedOut"]:
            self.fail(f"did not settle: {answer}")

    def check_offsets(self, listed: dict[str, JSON]) -> None:
        """Undamaged downloads request exactly the missing bytes and the overlap."""
        for name, was in self.snapshot.downloads.items():
            if self.harms(name) or was["state"] in FINAL or name not in listed or was["totalBytes"] is None:
                continue
            starts = [r.range_start for r in self.bases.server.requests(f"/{name}")]
            if not starts:
                continue
            self.result.refetched_bytes = max(self.result.refetched_bytes, was["receivedBytes"] - starts[0])
            if starts[0] != resume_start(was["receivedBytes"]):
                self.fail(f"{name}: {was['receivedBytes']} received, and it asked from {starts[0]}")
            elif starts[0] > 0:
                self.count("went on where it was")

    def check_downloads(self, listed: dict[str, JSON]) -> None:
        for name, download in listed.items():
            was = self.snapshot.downloads.get(name)
            if was is None:
                continue
            if download["state"] != "completed":
                self.check_not_completed(name, was, download)
            elif not self.is_right(name, Path(download["path"] or "/nowhere")):
                self.fail(f"{name} is completed, but the file is wrong")

    def check_not_completed(self, name: str, was: JSON, download: JSON) -> None:
        if was["state"] == "canceled" and download["state"] == "canceled":
            return
        told = (download["state"], (download["error"] or {}).get("kind"))
        path = self.bases.files / name
        kinds = {m.kind for m in self.mutations if m.family == PARTIAL and name in (m.harmed or ())}
        if told == ("failed", "checksumMismatch") and name.endswith(SUMMED) and self.harms(name):
            self.count("flip met by the checksum")
        elif told == ("failed", "destinationConflict") and "file at the final name" in kinds:
            self.count("destination taken meanwhile")
        elif (
            told == ("failed", "destinationConflict")
            and self.is_database_harmed
            and self.is_right(name, path)
        ):
            self.count("completed before the record that was lost said so")
        elif self.is_database_harmed and self.says_damage and download["state"] == "failed":
            self.count("record damaged and said")
        else:
            self.fail(f"{name} ends {download['state']}, {download['reason']}, {download['error']}")

    def is_right(self, name: str, path: Path) -> bool:
        try:
            if path.is_symlink():
                return False
            if path.read_bytes() == self.bases.sources[name].data:
                return True
        except OSError:
            return False
        if not name.endswith(SUMMED) and self.has(
            lambda m: m.kind == "bit flip" and m.family == PARTIAL and name in (m.harmed or ())
        ):
            self.count("flip in a partial without checksum, not detectable")
            return True
        return False

    def check_files(self) -> None:
        """Every file with a final name is complete and right, whether its download is known or not."""
        if self.outside.look() != self.outside.before:
            self.fail("something outside was changed")
        for name in self.bases.sources:
            path = self.bases.files / name
            if not path.exists() or self.is_right(name, path):
                continue
            if path.is_file() and path.read_bytes() == b"somebody else's":
                continue
            self.fail(f"the file {name} is wrong")


def only_files(folder: str, names: list[str]) -> set[str]:
    return {n for n in names if not (Path(folder) / n).is_file() and not (Path(folder) / n).is_dir()}


def state_bytes(state: Path) -> dict[str, bytes]:
    """The database and its log on disk; an empty log does not count."""
    names = ("towline.db", "towline.db-wal")
    files = {name: state / name for name in names}
    return {n: p.read_bytes() for n, p in files.items() if p.is_file() and p.stat().st_size}


campaign_class = MutationCampaign
