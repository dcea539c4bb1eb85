"""States that the service itself left after kills and normal exits, with downloads in every state.

The files of a case stay where the service put them: records and marks contain devices, inodes and absolute
paths, so data files are restored by renaming and rewriting, never by copying.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripted_server import Behaviour, Resource, ScriptedServer, content
from support import QUICK_RETRY, finish, poll, sha256
from towline_client import JSON, Towline, clean_environment

#: Kills after the rename and before its record: the first fsync of a directory follows the rename.
KILL_AFTER_RENAME = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync")
KILL_AFTER_RENAME += ("-e", "inject=fsync:signal=KILL:when=1")
LAST_MODIFIED = "Wed, 01 Jan 2020 00:00:00 GMT"
HELD_AT = 100_000
NEVER_MS = 86_400_000
PUBLISHED, SUMMED = "published", "summed"


@dataclass
class Source:
    """The server's file for one download."""

    name: str
    data: bytes
    url: str


@dataclass
class KeptFile:
    """A data file at the time of the snapshot."""

    path: Path
    inode: int
    data: bytes
    mode: int


@dataclass
class Snapshot:
    """One state directory with its data files."""

    name: str
    state: Path
    #: The downloads by id, as a process reads them from the intact state.
    downloads: dict[str, JSON] = field(default_factory=dict)
    files: list[KeptFile] = field(default_factory=list)

    def state_files(self) -> list[str]:
        return sorted(str(p.relative_to(self.state)) for p in self.state.rglob("*") if p.is_file())

    def sessions(self) -> list[str]:
        """Session files in an order that does not depend on their random names."""
        names = [n for n in self.state_files() if n.startswith("sessions/")]
        return sorted(names, key=lambda n: (-len(self.owned(n)), -(self.state / n).stat().st_size))

    def owned(self, session: str) -> set[str]:
        """The downloads that have marks in a session file."""
        data = (self.state / session).read_bytes()
        return {name for name in self.downloads if name.encode() + b"\0" in data}


class Bases:
    """The snapshots of one folder, in which their cases run."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.binary, self.folder, self.server = binary, folder, ScriptedServer()
        self.live = folder / "live"
        self.state, self.files, self.home = self.live / "state", self.live / "files", self.live / "home"
        #: Files that a case moves away; they are restored from there.
        self.aside = self.live / "aside"
        self.sources: dict[str, Source] = {}
        self.snapshots: list[Snapshot] = []
        self.processes: list[Towline] = []

    def process(self, *, prefix: tuple[str, ...] = ()) -> Towline:
        arguments = ["--state-dir", str(self.state)]
        environment = clean_environment(self.home)
        host = Towline(self.binary, arguments, env=environment, cwd=self.files, prefix=prefix)
        self.processes.append(host)
        return host

    def end_processes(self) -> list[str]:
        """Ends all processes started since the last call; returns what they did wrong on the wire."""
        for process in self.processes:
            process.finish()
        violations = [text for process in self.processes for text in process.violations]
        self.processes.clear()
        return violations

    # Making snapshots

    def make(self) -> None:
        """Makes all snapshots."""
        for directory in (self.files, self.home):
            directory.mkdir(parents=True)
        self._make_published()
        first, second = self.process(), self.process()
        self._fill(first)
        for name in ("other-a", "other-b"):
            self._start_held(second, name)
        self._wait_for_marks(first)
        first.kill()
        second.kill()
        for resource in self.server.resources.values():
            resource.default = Behaviour()
            resource.script.clear()
        killed = self._copy_state("killed")
        reader = self.process()
        downloads = self._listed(reader)
        reader.close_stdin()
        reader.wait_exit()
        ended = self._copy_state("ended")
        for snapshot in (killed, ended):
            self._finish(snapshot, downloads)
        self._make_taken_over()
        self.end_processes()

    def _make_published(self) -> None:
        source = self._source(PUBLISHED)
        host = self.process(prefix=KILL_AFTER_RENAME)
        host.send("start", {"id": PUBLISHED, "url": source.url, "path": str(self.files / PUBLISHED)})
        host.process.wait(60)
        host.killed = True
        host.finish()
        if not (self.files / PUBLISHED).exists():
            raise AssertionError("the kill came before the rename")

    def _fill(self, host: Towline) -> None:
        host.call("configure", maxActive=16, maxActivePerHost=16)
        self._start(host, "completed")
        finish(host, "completed")
        self._start(host, "failed", default=Behaviour(status=404))
        finish(host, "failed")
        held = ("canceled", "paused", SUMMED, "modified", "running", "durable", "running-summed", "named")
        self._start_held(host, *held)
        host.call("cancel", id="canceled")
        for name in ("paused", SUMMED, "named"):
            host.call("pause", id=name)
        expired = [Behaviour(drop_after=60_000), Behaviour(status=403)]
        self._start(host, "expired", script=expired, retry=QUICK_RETRY)
        host.wait_state("expired", "waiting")
        poll(lambda: host.call("get", id="expired")["download"]["reason"] == "needsUrl")
        never = {"initialDelayMs": NEVER_MS, "maxDelayMs": NEVER_MS}
        self._start(host, "waiting", default=Behaviour(status=503), retry=never)
        host.wait_state("waiting", "waiting")
        self._start(host, "never-run", startPaused=True)

    def _wait_for_marks(self, host: Towline) -> None:
        host.call("configure", maxActive=1)
        self._start(host, "queued")
        assert host.call("get", id="queued")["download"]["state"] == "queued"
        names = (b"running\0", b"durable\0", b"modified\0", b"other-a\0", b"other-b\0")
        poll(lambda: all(self._marked(name) for name in names), what="marks in the sessions' slots")

    def _marked(self, name: bytes) -> int:
        """How many sessions have marks of the download."""
        return sum(name in path.read_bytes() for path in (self.state / "sessions").iterdir())

    def _make_taken_over(self) -> None:
        """One more process takes over all downloads, and is killed while it connects.

        One download has received more: besides its durable bytes, there are marks of later ones.
        """
        gate = threading.Event()
        for resource in self.server.resources.values():
            resource.default = Behaviour(hold_head=gate)
        self.server.resources["/durable"].default = Behaviour(hold_after=60_000)
        host = self.process()
        host.call("configure", maxActive=16, maxActivePerHost=16)
        host.call("resume", all=True)
        self.server.wait(lambda: len(self.server.in_progress()) >= 10)
        poll(lambda: host.call("get", id=PUBLISHED)["download"]["state"] == "completed")
        poll(lambda: self._marked(b"durable\0") == 2, what="marks of what came after the durable bytes")
        host.kill()
        gate.set()
        for resource in self.server.resources.values():
            resource.default = Behaviour()
        snapshot = self._copy_state("taken over")
        reader = self.process()
        downloads = self._listed(reader)
        reader.kill()
        self._finish(snapshot, downloads)

    def _source(self, name: str, **resource: Any) -> Source:
        number = len(self.sources) if name not in self.sources else list(self.sources).index(name)
        data = content(1_000 + number, 180_000 + 7_919 * (number % 7))
        self.server.add(f"/{name}", data, **resource)
        self.sources[name] = Source(name, data, self.server.url(f"/{name}"))
        return self.sources[name]

    def _start(
        self,
        host: Towline,
        name: str,
        default: Behaviour | None = None,
        script: list[Behaviour] | None = None,
        **params: Any,
    ) -> None:
        validators = {"etag": None, "last_modified": LAST_MODIFIED} if name == "modified" else {}
        source = self._source(name, **validators)
        resource: Resource = self.server.resources[f"/{name}"]
        resource.default = default or Behaviour()
        if name == "modified":
            dated = (("Date", "Thu, 02 Jan 2020 00:00:00 GMT"),)
            resource.default.headers = dated
        resource.then(*(script or []))
        place = {"directory": str(self.files)} if name == "named" else {"path": str(self.files / name)}
        if name.endswith(SUMMED):
            params["checksum"] = {"algorithm": "sha256", "value": sha256(source.data)}
        host.call("start", id=name, url=source.url, **place, **params)

    def _start_held(self, host: Towline, *names: str) -> None:
        """Starts all first, because received bytes may be reported up to a second later."""
        for name in names:
            self._start(host, name, default=Behaviour(hold_after=HELD_AT))
        for name in names:
            host.wait_received(name, HELD_AT)

    @staticmethod
    def _listed(host: Towline) -> dict[str, JSON]:
        return {d["id"]: d for d in host.call("list", limit=100)["downloads"]}

    def _copy_state(self, name: str) -> Snapshot:
        target = self.folder / "snapshots" / name.replace(" ", "-")
        target.parent.mkdir(exist_ok=True)
        copy_tree(self.state, target)
        return Snapshot(name, target)

    def _finish(self, snapshot: Snapshot, downloads: dict[str, JSON]) -> None:
        snapshot.downloads = downloads
        for path in sorted(self.files.iterdir()):
            status = path.stat()
            mode = stat.S_IMODE(status.st_mode)
            snapshot.files.append(KeptFile(path, status.st_ino, path.read_bytes(), mode))
        self.snapshots.append(snapshot)

    # Restoring

    def restore(self, number: int) -> Snapshot | None:
        """Restores the files of a snapshot; None if one of their inodes no longer exists."""
        snapshot = self.snapshots[number % len(self.snapshots)]
        found: dict[int, Path] = {}
        for path in self.live.rglob("*"):
            if path.is_file() and not path.is_symlink():
                found[path.stat().st_ino] = path
        kept = self.live / "kept"
        kept.mkdir(exist_ok=True)
        for file in snapshot.files:
            if file.inode not in found:
                return None
            found[file.inode].rename(kept / str(file.inode))
        shutil.rmtree(self.files)
        for folder in (self.state, self.aside):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (self.files, self.aside):
            folder.mkdir()
        for file in snapshot.files:
            (kept / str(file.inode)).rename(file.path)
            with file.path.open("r+b") as stream:
                stream.write(file.data)
                stream.truncate(len(file.data))
            file.path.chmod(file.mode)
        for resource in self.server.resources.values():
            resource.default = Behaviour()
            resource.script.clear()
        self.server.resources["/modified"].default = Behaviour(
            headers=(("Date", "Thu, 02 Jan 2020 00:00:00 GMT"),)
        )
        return snapshot

    def close(self) -> None:
        self.end_processes()
        self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Stock:
    """Makes the next states while cases run, because making them is mostly waiting."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.binary, self.folder = binary, folder
        self.made_count = 0
        self.maker = ThreadPoolExecutor(1)
        self.next = self.maker.submit(self._make)

    def _make(self) -> Bases:
        self.made_count += 1
        bases = Bases(self.binary, self.folder / f"place-{self.made_count}")
        try:
            bases.make()
        except BaseException:
            bases.close()
            raise
        return bases

    def take(self) -> Bases:
        try:
            return self.next.result()
        finally:
            self.next = self.maker.submit(self._make)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.next.result().close()
        self.maker.shutdown()


def copy_tree(source: Path, target: Path) -> None:
    """A copy that keeps links, FIFOs and modes."""
    target.mkdir()
    for entry in os.scandir(source):
        mode = entry.stat(follow_symlinks=False).st_mode
        copy = target / entry.name
        if stat.S_ISLNK(mode):
            copy.symlink_to(os.readlink(entry.path))
        elif stat.S_ISDIR(mode):
            copy_tree(Path(entry.path), copy)
        elif stat.S_ISFIFO(mode):
            os.mkfifo(copy)
        else:
            shutil.copyfile(entry.path, copy)
            copy.chmod(stat.S_IMODE(mode))
    target.chmod(stat.S_IMODE(source.stat().st_mode))


def lacking() -> str | None:
    return None if shutil.which("strace") else "strace"
