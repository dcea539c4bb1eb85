"""One case: the processes that are killed, and what a new one must find and do."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

from campaign import Result
from scripted_server import Behaviour, Request, content
from towline_client import RPCError, Towline, clean_environment

from .ledger import Wanted, standing
from .stepping_server import SteppingServer
from .strace import ANYWHERE, UNNAMED

MIB = 1 << 20
#: The most bytes read from a connection that kill -9 may lose.
REFETCH_LIMIT = MIB
RETRY = {"maxAttempts": 20, "initialDelayMs": 20, "maxDelayMs": 100}


class Trial:
    """The folder, the downloads and the processes of one case."""

    def __init__(
        self, binary: Path, server: SteppingServer, folder: Path, prefix: str, random: Random
    ) -> None:
        self.binary, self.server, self.random = binary, server, random
        #: Prefix of this case's paths on the server.
        self.prefix = prefix
        self.folder = folder
        self.state = folder / "state"
        self.files = folder / "files"
        self.log = folder / "strace.log"
        self.wanted: list[Wanted] = []
        #: Other files, which the service must not touch, with their content.
        self.kept: dict[Path, bytes] = {}
        self.hosts: list[Towline] = []
        self.result = Result()
        (folder / "home").mkdir()
        self.files.mkdir()

    # Set-up

    def launch(self, *args: str, prefix: Sequence[str] = ()) -> Towline:
        host = Towline(
            self.binary,
            ["--state-dir", str(self.state), *args],
            env=clean_environment(self.folder / "home"),
            cwd=self.files,
            prefix=prefix,
        )
        self.hosts.append(host)
        return host

    def want(self, name: str, size: int, **options: Any) -> Wanted:
        """A file on the server, and its download."""
        data = content(len(self.wanted) + 1, size)
        path = f"{self.prefix}/{len(self.wanted)}"
        self.server.add(path, data)
        wanted = Wanted(
            options.pop("id", name),
            self.server.url(path),
            self.files / name,
            data,
            {"retry": RETRY, **options},
        )
        self.wanted.append(wanted)
        return wanted

    def requests(self, wanted: Wanted) -> list[Request]:
        paths = {url.split("/", 3)[3] for url in wanted.urls | {wanted.url}}
        return [r for r in self.server.requests() if r.path[1:] in paths]

    def places(self) -> dict[str, list[Path]]:
        """The paths of each place, as far as they are known now."""
        database = self.state / "towline.db"
        places = {
            "state": [self.state, self.state / "sessions"],
            "lock": [self.state / "state.lock"],
            "db": [database],
            "files": [self.files],
            "partial": [path for w in self.wanted for path in w.partials],
            "final": [w.path for w in self.wanted],
        }
        for suffix in ("wal", "shm", "journal"):
            places[suffix] = [database.with_name(f"{database.name}-{suffix}")]
        with suppress(FileNotFoundError):
            places["session"] = [p for p in (self.state / "sessions").iterdir() if p.name.isdigit()]
        return places

    def place_of(self) -> Callable[[Path], str | None]:
        """A function that names the place of a path, from what is known now."""
        known = {path: place for place, paths in self.places().items() for path in paths}

        def look(path: Path) -> str | None:
            if path.parent == self.files and path.name.startswith("#"):
                return UNNAMED
            return known.get(path, ANYWHERE if path.is_relative_to(self.folder) else None)

        return look

    def fault(self, text: str) -> None:
        self.result.failures.append(text)

    # After a kill

    def has_died(self, host: Towline) -> None:
        """Notes what the process has reported, and checks what it left."""
        host.finish()
        for wanted in self.wanted:
            wanted.heard(host)
            wanted.requests_before = len(self.requests(wanted))
            self.look_at_final(wanted)
        if (self.state / "towline.db").exists():
            self.check_copy()

    def look_at_final(self, wanted: Wanted) -> None:
        """The final name must have no file, the earlier file, or the whole new one."""
        found = wanted.path.read_bytes() if wanted.path.exists() else None
        if found not in (wanted.former, wanted.data):
            size = "nothing" if found is None else f"{len(found)} bytes"
            self.fault(f"{wanted.path.name} has {size}, which is not the file ({len(wanted.data)} bytes)")
        if wanted.stands == {"completed"} and found != wanted.data:
            self.fault(f"{wanted.id} was reported as completed, but its file is not there")

    def check_copy(self) -> None:
        """Runs SQLite's own check on a copy, because opening the original would repair it."""
        copy = self.folder / "copy"
        copy.mkdir(exist_ok=True)
        for suffix in ("", "-wal", "-journal"):
            with suppress(FileNotFoundError):
                shutil.copy(self.state / f"towline.db{suffix}", copy)
        self.check_database(copy / "towline.db")
        shutil.rmtree(copy)

    def check_database(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as database:
            verdict = database.execute("PRAGMA integrity_check").fetchall()
        if verdict != [("ok",)]:
            self.fault(f"the database fails its check: {verdict}")

    # The new process

    def settle(self) -> None:
        """A new process on the same state finds everything that was promised, and finishes it."""
        for resource in self.server.resources_below(self.prefix):
            resource.default = Behaviour()
        host = self.launch()
        for wanted in self.wanted:
            self.find(host, wanted)
        for wanted in self.wanted:
            self.bring_to_end(host, wanted)
        host.close_stdin()
        status = host.wait_exit()
        host.finish()
        if status not in (0, 1):
            self.fault(f"the last process exited with {status}: {host.stderr[-500:]}")
        self.check_leftovers()
        for number, process in enumerate(self.hosts, 1):
            for violation in process.violations:
                self.fault(f"process {number}: {violation}")
            if "damaged" in process.stderr:
                self.fault(f"process {number}: {process.stderr[-500:]}")

    def find(self, host: Towline, wanted: Wanted) -> None:
        try:
            download = host.call("get", id=wanted.id)["download"]
        except RPCError as error:
            if error.code != 1001:
                raise
            download = None
        found = standing(download)
        self.result.counts[f"found {found}"] += 1
        if found not in wanted.stands:
            self.fault(f"{wanted.id} is {found}, may be {' or '.join(sorted(wanted.stands))}: {download}")
        wanted.stands = {found}
        if download is None:
            return
        if download["url"] not in wanted.urls:
            self.fault(f"{wanted.id} has the url {download['url']}, may be {sorted(wanted.urls)}")
        wanted.url = download["url"]
        if found == "paused" and download["receivedBytes"] < wanted.promised:
            self.fault(f"{wanted.id} has {download['receivedBytes']} bytes, {wanted.promised} when paused")

    def bring_to_end(self, host: Towline, wanted: Wanted) -> None:
        (stands,) = wanted.stands
        if wanted.is_unwanted and stands in ("none", "canceled"):
            if stands == "canceled":
                host.call("remove", id=wanted.id)
            wanted.is_unwanted = True
            return
        if wanted.is_unwanted and stands == "completed":
            host.call("remove", id=wanted.id, deleteFile=True)
            return
        wanted.is_unwanted = False
        result = host.call("start", **wanted.start_params())
        download = result["download"]
        if result["created"] != (stands == "none"):
            self.fault(f"start says created {result['created']}, {wanted.id} was {stands}")
        if stands == "paused":
            if standing(download) != "paused":
                self.fault(f"start made {wanted.id}, paused by the user, {standing(download)}")
            host.call("resume", id=wanted.id)
        elif result["resumed"] != (stands == "live"):
            self.fault(f"start says resumed {result['resumed']}, {wanted.id} was {stands}")
        download = host.call("wait", id=wanted.id)["download"]
        if download["state"] != "completed":
            self.fault(f"{wanted.id} ends {download['state']}: {download['error']}")
        found = wanted.path.read_bytes() if wanted.path.exists() else b""
        if found != wanted.data:
            self.fault(f"the file of {wanted.id} is wrong: {len(found)} bytes of {len(wanted.data)}")
        self.look_at_refetch(wanted)

    def look_at_refetch(self, wanted: Wanted) -> None:
        """Compares what is requested again with what the killed processes had read."""
        requests = self.requests(wanted)
        before, after = requests[: wanted.requests_before], requests[wanted.requests_before :]
        if wanted.is_changed or not after:
            return
        read = max((r.range_start + self.server.body_read(r) for r in before), default=0)
        again = max(0, read - after[0].range_start)
        self.result.refetched_bytes = max(self.result.refetched_bytes, again)
        if again > REFETCH_LIMIT:
            self.fault(f"{wanted.id} asks from {after[0].range_start}, {read} had been read: {again} again")

    def check_leftovers(self) -> None:
        expected = {w.path.name for w in self.wanted if not w.is_unwanted}
        for path, data in self.kept.items():
            expected.add(path.name)
            if not path.exists() or path.read_bytes() != data:
                self.fault(f"{path.name} has changed")
        found = {path.name for path in self.files.iterdir()}
        for name in sorted(found - expected):
            self.fault(f"left behind: {name} of {(self.files / name).stat().st_size} bytes")
        aside = [path.name for path in self.state.iterdir() if "damaged" in path.name]
        if aside:
            self.fault(f"set aside: {aside}")
        if len(self.sessions()) > 1:
            # A starting process deletes the session files of dead processes that no record names.
            another = self.launch()
            another.close_stdin()
            another.wait_exit()
        if (count := len(self.sessions())) > 1:
            self.fault(f"{count} session files are left")
        self.check_database(self.state / "towline.db")

    def sessions(self) -> list[Path]:
        return list((self.state / "sessions").iterdir())

    def close(self) -> None:
        for host in self.hosts:
            host.finish()
        self.server.forget(self.prefix)
