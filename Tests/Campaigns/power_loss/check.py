"""Checks what a power loss has left, as a host does that starts again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from scripted_server import ScriptedServer
from towline_client import JSON, Towline, clean_environment

from power_loss.plans import Plan
from power_loss.promises import Promise, go_on, promises
from power_loss.recording import Before
from power_loss.server import PORT, Folders, serve

PARTIAL = ".towline"

#: The service writes files up to this size at once.
SMALL_BYTES = 128 << 10


class Check:
    """The check of one state, whose volumes are mounted."""

    def __init__(self, plan: Plan, before: Before, points: list[Path], binary: Path, home: Path) -> None:
        self.plan, self.binary, self.home = plan, binary, home
        self.flush_ns = before.flush_ns
        self.folders = Folders(points)
        self.promises = promises(plan.items, before.moments)
        #: The new process runs in the same boot as the old one.
        self.is_same_boot = False
        self.failures: list[str] = []
        self.counts: Counter[str] = Counter()
        self.worst_refetched_bytes = 0
        self.records: dict[str, JSON] = {}

    def run(self) -> None:
        self.check_files()
        server = ScriptedServer(PORT)
        serve(server, self.plan.items, is_scripted=False)
        host = Towline(
            self.binary,
            ["--state-dir", str(self.folders.state)],
            env=clean_environment(self.home),
            cwd=self.home,
        )
        try:
            self.check_records(host)
            self.check_ranges(host)
            self.finish(host, server)
            host.close_stdin()
            if (status := host.wait_exit()) != 0:
                self.failures.append(f"the new process exited with {status}")
        finally:
            host.finish()
            server.close()
        self.failures += host.violations
        if host.stderr:
            self.failures.append(f"the new process logged: {host.stderr.strip()[:500]}")
        if damaged := [path.name for path in self.folders.state.iterdir() if "damaged" in path.name]:
            self.failures.append(f"set aside: {damaged}")

    # Files

    def check_files(self) -> None:
        """Final names have only complete files."""
        seen = {path.name: path for path in self.folders.downloads.iterdir()}
        for promise in self.promises.values():
            item = promise.item
            path = seen.pop(item.file, None)
            found = None if path is None else path.read_bytes()
            beside = seen.pop(f"{item.id} (1).bin", None)
            if beside is not None and beside.read_bytes() != item.data:
                self.failures.append(f"{beside.name}: not the file")
            old = None if item.old_size is None else item.old_data
            if item.params.get("ifExists") == "rename":
                allowed, is_new = [old], beside is not None
            else:
                allowed, is_new = [old, item.data], found == item.data
            if found not in allowed:
                self.failures.append(f"{item.file}: {self.describe(found, item.data)}")
            if promise.is_whole and not is_new:
                self.failures.append(f"{item.file}: completed, but {self.describe(found, item.data)}")
            may_be_new = {"running", "completed"} | ({"absent"} if promise.is_started else set())
            if is_new and not promise.states & may_be_new:
                self.failures.append(f"{item.file}: exists, though {promise.states}")
        for name in seen:
            if not name.endswith(PARTIAL):
                self.failures.append(f"{name}: a file that was never requested")

    @staticmethod
    def describe(found: bytes | None, data: bytes) -> str:
        if found is None:
            return "missing"
        if found == data:
            return "the new version"
        wrong = next((i for i, (a, b) in enumerate(zip(found, data)) if a != b), min(len(found), len(data)))
        zeros = found.count(0)
        return f"{len(found)} of {len(data)} bytes, wrong from {wrong}, {zeros} of them zero"

    # Records

    def check_records(self, host: Towline) -> None:
        """Every answered request is in the state."""
        self.records = {d["id"]: d for d in host.call("list", limit=100)["downloads"]}
        for strange in self.records.keys() - self.promises.keys():
            self.failures.append(f"{strange}: a record that was never requested")
        for item_id, promise in self.promises.items():
            record = self.records.get(item_id)
            state = self.state_of(record)
            self.counts[f"found {state}"] += 1
            allowed = promise.states | ({"completed"} if "running" in promise.states else set())
            if state not in allowed:
                self.failures.append(f"{item_id}: {state}, expected {sorted(allowed)}")
            if record is None:
                continue
            if record["priority"] not in promise.priorities:
                self.failures.append(f"{item_id}: priority {record['priority']} not {promise.priorities}")
            if not any(record["url"].endswith(f":{PORT}{source}") for source in promise.sources):
                self.failures.append(f"{item_id}: url {record['url']} not {promise.sources}")
            if state == "completed" and self.content(record) != promise.item.data:
                self.failures.append(f"{item_id}: completed, but not the file at {record['path']}")

    @staticmethod
    def content(download: JSON) -> bytes | None:
        path = Path(download["path"])
        return path.read_bytes() if path.exists() else None

    @staticmethod
    def state_of(record: JSON | None) -> str:
        if record is None:
            return "absent"
        if record["state"] != "paused":
            return str(record["state"])
        return "paused" if record["reason"] == "user" else "running"

    def check_ranges(self, host: Towline) -> None:
        """The ranges that the new process takes as received have the right bytes."""
        for item_id, record in self.records.items():
            if record["state"] != "paused":
                continue
            data = self.promises[item_id].item.data
            report = host.call("inspect", id=item_id)
            # In the same boot, written ranges are trusted only after the partial file was opened.
            believed = [] if self.is_same_boot else report["writtenRanges"]
            ranges = [(r["from"], r["to"]) for r in report["durableRanges"] + believed]
            if not ranges:
                continue
            # It may have been renamed before that was recorded.
            places = (record["partialPath"], self.folders.downloads / f"{item_id} (1).bin", record["path"])
            place = next((Path(path) for path in places if Path(path).exists()), None)
            found = b"" if place is None else place.read_bytes()
            is_old = place is not None and str(place) == record["path"] and found != data
            if (place is None or is_old) and len(data) <= SMALL_BYTES:
                # A file that fits into one buffer gets its name last, and that had not reached the disk: it
                # is fetched again.
                self.counts["small files whose name was lost"] += 1
                continue
            self.counts["durable ranges compared"] += len(ranges)
            for begin, end in ranges:
                if found[begin:end] != data[begin:end]:
                    self.failures.append(f"{item_id}: bytes {begin} to {end} of {place} are not true")

    # Continuing

    def finish(self, host: Towline, server: ScriptedServer) -> None:
        """Lets every download finish, and compares."""
        going = go_on(host, self.promises, self.records, server, self.folders)
        for item_id in going:
            download = host.call("wait", id=item_id, timeout=40)["download"]
            if download["state"] != "completed":
                self.failures.append(f"{item_id}: {download['state']}, not finished: {download['error']}")
            elif self.content(download) != self.promises[item_id].item.data:
                self.failures.append(f"{item_id}: finished with wrong bytes")
            self.counts["finished"] += 1
            self.check_refetched(self.promises[item_id], server)
        for path in self.folders.downloads.iterdir():
            if path.name.endswith(PARTIAL):
                is_whole = path.with_name(f"{path.name.split('.')[0]}.bin").exists()
                self.counts["partials left beside whole files" if is_whole else "partials left"] += 1

    def check_refetched(self, promise: Promise, server: ScriptedServer) -> None:
        item_id = promise.item.id
        requests = server.requests(f"/{item_id}") + server.requests(f"/moved/{item_id}")
        if not requests:
            return
        again = max(0, promise.told_bytes - min(r.range_start for r in requests))
        self.worst_refetched_bytes = max(self.worst_refetched_bytes, again)
        if again > (losable := promise.losable_bytes(self.flush_ns)):
            self.failures.append(f"{item_id}: {again} bytes fetched again, at most {losable} allowed")
