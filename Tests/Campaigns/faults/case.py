"""One case: a service under the library, its requests and answers, and the checks."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from scripted_server import Behaviour, ScriptedServer, content
from support import sha256
from towline_client import JSON, RPCError, Timeout, Towline, clean_environment

from .shim import DATA, Shim

RETRY = {"maxAttempts": 2, "initialDelayMs": 5, "maxDelayMs": 10}
#: Error kinds that a service may answer with while its disks fail.
ALLOWED_ERRORS = {
    "storageFailure",
    "permissionDenied",
    "downloadNotFound",
    "invalidState",
    "lockedElsewhere",
    "destinationConflict",
}
#: Exit statuses of a service that cannot start: see protocol/README.md.
REFUSALS = (70, 73, 74)
ANSWER_SECONDS = 15.0
SETTLE_MS = 3_000
FINISH_SECONDS = 25.0
EXIT_SECONDS = 6.0


@dataclass
class File:
    """One download of a case."""

    id: str
    data: bytes
    params: JSON
    #: Where the whole file must be in the end; updated if the service chooses the name.
    path: Path
    #: The earlier content at this path, which may stay there.
    old: bytes | None = None
    gate: threading.Event | None = None
    held_after: int = 0
    #: What answers have promised: exists, paused, canceled, removed, completed; and the metadata.
    promises: dict[str, Any] = field(default_factory=dict)
    #: `remove` deletes the file before the record, so a refused `remove` may have deleted it.
    is_removal_asked: bool = False
    #: The largest number of received bytes that the service has reported.
    told_bytes: int = 0
    #: Received bytes, and requests to the server, when the fault ended.
    held_bytes: int = 0
    seen_requests: int = 0


class Case:
    """The environment of one case: folders, server resources, the service, and the failures found."""

    def __init__(
        self, binary: Path, library: Path, server: ScriptedServer, folder: Path, random: Random, prefix: str
    ) -> None:
        self.binary, self.server, self.folder, self.random = binary, server, folder, random
        self.prefix = prefix
        self.home, self.data, self.state = folder / "home", folder / "data", folder / "state"
        for directory in (self.home, self.data):
            directory.mkdir()
        self.shim = Shim(library, folder, self.data, self.state)
        self.files: dict[str, File] = {}
        self.host: Towline | None = None
        self.hosts: list[Towline] = []
        self.failures: list[str] = []
        self.counts: Counter[str] = Counter()
        self.refetched_bytes = 0
        #: Starts the fault; set by the campaign, called by the scenario.
        self.arm = lambda: None

    # Environment

    def add(
        self,
        name: str,
        size: int,
        *,
        held_after: int = 0,
        old: bytes | None = None,
        chunked: bool = False,
        checksum: bool = False,
        directory: bool = False,
        path: Path | None = None,
        **params: Any,
    ) -> File:
        """Adds a resource to the server, with the parameters of its download."""
        data = content(self.random.randrange(2**32), size)
        url = f"/{self.prefix}/{name}"
        gate = threading.Event() if held_after else None
        default = Behaviour(chunked=chunked, hold_after=held_after or None, gate=gate)
        self.server.add(url, data, default=default)
        path = path or self.data / name
        params = {"id": name, "url": self.server.url(url), "retry": RETRY, **params}
        params |= {"directory": str(self.data)} if directory else {"path": str(path)}
        if checksum:
            params["checksum"] = {"algorithm": "sha256", "value": sha256(data)}
        if old is not None:
            path.write_bytes(old)
        file = File(name, data, params, path, old, gate, held_after)
        self.files[name] = file
        return file

    def open_gates(self) -> None:
        for file in self.files.values():
            if file.gate is not None:
                self.server.resources[f"/{self.prefix}/{file.id}"].default = Behaviour()
                file.gate.set()

    def launch(self, *args: str) -> bool:
        """Starts a service; false if it refuses, which is allowed while the disk of the state fails."""
        self.host = Towline(
            self.binary,
            ["--state-dir", str(self.state), *args],
            env=clean_environment(self.home, **self.shim.environment),
            cwd=self.home,
        )
        self.hosts.append(self.host)
        try:
            self.host.call("ping", timeout=ANSWER_SECONDS)
        except (Timeout, BrokenPipeError):
            return self._refused()
        return True

    def _refused(self) -> bool:
        host = self._host()
        try:
            status = host.wait_exit(EXIT_SECONDS)
        except Timeout:
            self.fail("the service neither answers nor exits")
            host.kill()
        else:
            self.counts[f"refused to start with {status}"] += 1
            if status not in REFUSALS:
                self.fail(f"the service exited with {status}; stderr: {host.stderr[-800:]}")
            elif not host.stderr.strip():
                self.fail(f"the service exited with {status} without a message")
            if self.shim.fired == 0:
                self.fail(f"the service did not start, although nothing had failed: {host.stderr[-800:]}")
        self.host = None
        return False

    def _host(self) -> Towline:
        assert self.host is not None
        return self.host

    def fail(self, text: str) -> None:
        self.failures.append(text)

    # Requests

    def ask(self, method: str, file: File, /, **params: Any) -> JSON | None:
        """Sends a request that a failing disk may refuse; notes what a successful answer promises."""
        host = self._host()
        file.is_removal_asked |= method == "remove"
        try:
            result: JSON = host.call(method, timeout=ANSWER_SECONDS, **params)
        except RPCError as error:
            self.counts[f"{method} refused by {error.kind}"] += 1
            if error.kind not in ALLOWED_ERRORS:
                self.fail(f"{method} was answered with {error.error}")
            if not error.message:
                self.fail(f"{method} was refused without a message")
            self._note_doubt(method, file)
            return None
        except (Timeout, BrokenPipeError) as error:
            self._explain_silence(f"{method} {file.id}", error)
            return None
        self._note_promise(method, file, params)
        if isinstance(result, dict) and isinstance(result.get("download"), dict):
            self._note_download(result["download"])
        return result

    @staticmethod
    def _note_doubt(method: str, file: File) -> None:
        """A refused change may still have been recorded, so the promises that it affects no longer hold."""
        doubted = {"resume": ["paused"], "update": ["metadata"], "remove": list(file.promises)}
        for name in doubted.get(method, []):
            file.promises.pop(name, None)

    def _note_promise(self, method: str, file: File, params: JSON) -> None:
        promises = file.promises
        if method == "start":
            promises["exists"] = True
        elif method == "pause":
            promises["paused"] = True
        elif method == "resume":
            promises.pop("paused", None)
        elif method == "cancel":
            promises["canceled"] = True
        elif method == "remove":
            promises.clear()
            promises["removed"] = True
        elif method == "update":
            promises["metadata"] = params["metadata"]

    def _note_download(self, download: JSON) -> None:
        file = self.files.get(download["id"])
        if file is None or file.promises.get("removed"):
            return
        if download["state"] == "completed":
            file.promises["completed"] = True
            file.promises.pop("paused", None)
        if download["path"]:
            file.path = Path(download["path"])

    def start(self, file: File) -> bool:
        return self.ask("start", file, **file.params) is not None

    def _explain_silence(self, what: str, error: Exception) -> None:
        """A missing answer means that the service has exited or hangs; both are failures."""
        host = self._host()
        status = host.process.poll()
        if status is None:
            self.fail(f"no answer to {what}: {str(error)[:600]}")
        else:
            self.fail(f"the service exited with {status} at {what}; stderr: {host.stderr[-800:]}")
        raise Over

    def settle(self, files: Sequence[File] | None = None) -> None:
        """Waits until downloads have settled; under a fault some do not."""
        host = self._host()
        for file in files if files is not None else list(self.files.values()):
            if not file.promises.get("exists") or file.promises.get("removed"):
                continue
            try:
                answer = host.call(
                    "wait", id=file.id, until="settled", timeoutMs=SETTLE_MS, timeout=ANSWER_SECONDS
                )
            except RPCError as error:
                self.counts[f"wait refused by {error.kind}"] += 1
                continue
            except (Timeout, BrokenPipeError) as error:
                self._explain_silence(f"wait {file.id}", error)
                return
            if answer["timedOut"]:
                self.counts["unsettled under the fault"] += 1
            self._note_download(answer["download"])

    def wait_held(self, file: File) -> None:
        """Waits until a held download has received what it can, or has met the fault."""
        host = self._host()
        with contextlib.suppress(Timeout):
            host.wait_event(
                lambda e: (
                    (
                        e["method"] == "progress"
                        and e["params"]["id"] == file.id
                        and e["params"]["receivedBytes"] >= file.held_after
                    )
                    or (
                        e["method"] == "changed"
                        and e["params"]["download"]["id"] == file.id
                        and e["params"]["download"]["state"] in ("waiting", "failed", "completed")
                    )
                ),
                timeout=4.0,
            )

    def get(self, file: File) -> JSON | None:
        """The download as the service reports it now, or None."""
        try:
            download: JSON = self._host().call("get", id=file.id, timeout=ANSWER_SECONDS)["download"]
        except RPCError as error:
            if error.kind not in ALLOWED_ERRORS:
                self.fail(f"get was answered with {error.error}")
            return None
        except (Timeout, BrokenPipeError) as error:
            self._explain_silence(f"get {file.id}", error)
            return None
        self._note_download(download)
        return download

    # What must hold

    def hear(self) -> None:
        """Reads what events have reported."""
        for host in self.hosts:
            for event in host.events:
                params = event["params"]
                if event["method"] == "changed":
                    self._note_told(params["download"])
                elif event["method"] == "progress" and params["id"] in self.files:
                    file = self.files[params["id"]]
                    file.told_bytes = max(file.told_bytes, params["receivedBytes"])

    def _note_told(self, download: JSON) -> None:
        file = self.files.get(download["id"])
        if file is None or file.promises.get("removed"):
            return
        file.told_bytes = max(file.told_bytes, download["receivedBytes"])
        if download["state"] == "completed":
            self._note_download(download)

    def check_names(self) -> None:
        """A final name may hold only the whole file or the earlier content."""
        for file in self.files.values():
            if not file.path.exists():
                if file.promises.get("completed") and not file.is_removal_asked:
                    self.fail(f"{file.id} was reported as completed, but there is no {file.path.name}")
                continue
            held = file.path.read_bytes()
            if held == file.data or (held == file.old and not file.promises.get("completed")):
                continue
            self.fail(f"{file.path.name} holds {len(held)} bytes that are neither the old nor the new file")

    def check_flushed(self) -> None:
        """Each file was flushed after its last write, and its directory after the rename."""
        if not self.shim.is_log_whole:
            self.fail("the log of the library was too short")
            return
        dirty: dict[int, bool] = {}
        renamed: set[int] = set()
        for entry in self.shim.log():
            if entry.side != DATA:
                continue
            if entry.call == "write" and entry.length > 0 and (not entry.error):
                dirty[entry.inode] = True
            elif entry.call in ("fdatasync", "fsync") and not entry.error:
                dirty[entry.inode] = False
                if entry.inode == self.data_inode:
                    renamed.clear()
            elif entry.call == "syncfs" and not entry.error:
                dirty = dict.fromkeys(dirty, False)
                renamed.clear()
            elif entry.call == "rename" and not entry.error:
                renamed.add(entry.inode)
                if dirty.get(entry.inode):
                    self.fail("a file was renamed before it was flushed")
        for file in self.files.values():
            if not file.promises.get("completed") or file.promises.get("removed"):
                continue
            if file.path.exists() and file.path.stat().st_ino in renamed:
                self.fail(f"{file.id} was reported as completed, but its directory was not flushed")

    @property
    def data_inode(self) -> int:
        return self.data.stat().st_ino

    def check_promises(self) -> None:
        """After a restart, everything that was answered still holds."""
        for file in self.files.values():
            promises = file.promises
            try:
                download = self._host().call("get", id=file.id, timeout=ANSWER_SECONDS)["download"]
            except RPCError as error:
                if error.kind != "downloadNotFound":
                    self.fail(f"get after the repair was answered with {error.error}")
                elif set(promises) - {"removed"}:
                    self.fail(f"{file.id} was promised {promises}, but is unknown now")
                continue
            if promises.get("removed"):
                self.fail(f"{file.id} was removed, but exists again as {download['state']}")
                continue
            state, reason = download["state"], download["reason"]
            if promises.get("completed") and state != "completed":
                self.fail(f"{file.id} was reported as completed, but is {state}/{reason}")
            if promises.get("canceled") and state != "canceled":
                self.fail(f"{file.id} was reported as canceled, but is {state}/{reason}")
            if promises.get("paused") and (state, reason) not in (("paused", "user"), ("failed", None)):
                self.fail(f"{file.id} was reported as paused, but is {state}/{reason}")
            if "metadata" in promises and download["metadata"] != promises["metadata"]:
                self.fail(f"{file.id} was given {promises['metadata']}, but has {download['metadata']}")

    def finish_all(self) -> None:
        """After the repair, finishes every download that was not canceled or removed."""
        self.open_gates()
        host = self._host()
        for file in self.files.values():
            if file.promises.get("removed") or file.promises.get("canceled"):
                continue
            try:
                # The same start finds the existing download, or creates it if an earlier start was refused.
                host.call("start", timeout=ANSWER_SECONDS, **file.params)
            except RPCError as error:
                if error.kind == "destinationConflict" and file.path.exists():
                    # The damaged database no longer has the download that made this file.
                    self.counts["finished by a forgotten record"] += 1
                    continue
                self.fail(f"start of {file.id} after the repair was answered with {error.error}")
                continue
            except (Timeout, BrokenPipeError) as error:
                self._explain_silence(f"start {file.id} after the repair", error)
            self._finish(host, file)
        self.check_names()

    def _finish(self, host: Towline, file: File) -> None:
        download = host.call("get", id=file.id)["download"]
        if download["state"] in ("canceled",):
            return
        if download["state"] in ("waiting", "failed", "paused"):
            with contextlib.suppress(RPCError):
                host.call("resume", id=file.id)
        try:
            answer = host.call(
                "wait", id=file.id, timeoutMs=int(FINISH_SECONDS * 1000), timeout=FINISH_SECONDS + 5
            )
        except RPCError as error:
            self.fail(f"wait for {file.id} after the repair was answered with {error.error}")
            return
        download = answer["download"]
        if download["state"] != "completed":
            error = download["error"] or {}
            self.fail(
                f"{file.id} does not finish after the repair: {download['state']}/{download['reason']} "
                f"{error.get('kind')}: {error.get('message')}"
            )
            return
        self._note_download(download)
        self.counts["finished after the repair"] += 1

    def check_database(self) -> None:
        """SQLite must find no error in the database."""
        path = self.state / "towline.db"
        if not path.exists():
            return
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            verdict = database.execute("PRAGMA quick_check").fetchone()[0]
        if verdict != "ok":
            self.fail(f"the database is damaged: {verdict}")

    # The end

    def close(self) -> None:
        self.shim.repair()
        self.open_gates()
        for host in self.hosts:
            host.finish()
            self.failures += host.violations
        for name in [path for path in self.server.resources if path.startswith(f"/{self.prefix}/")]:
            del self.server.resources[name]
        self.shim.close()


class Over(Exception):
    """The service has exited or does not answer: nothing more can be checked."""
