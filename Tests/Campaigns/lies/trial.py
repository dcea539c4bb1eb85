"""Runs one case: the service, its interruptions, and its requests."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from random import Random

from campaign import Result
from support import sha256
from towline_client import JSON, RPCError, Timeout, Towline, clean_environment

from .case import HOLDING, Case
from .honest import VALIDATORS, Version, contents
from .site import CaseSite
from .verdict import MIB, TRIES, Verdict
from .wire import Server, Stop

SETTLE_SECONDS = 30.0
#: The service waits at least this long for the disk before it pauses or exits without the unwritten bytes.
DISK_PATIENCE_SECONDS = 0.2
RETRY = {"maxAttempts": TRIES, "initialDelayMs": 5, "maxDelayMs": 10}


class Trial:
    """One running case."""

    def __init__(
        self, binary: Path, server: Server, case: Case, index: int, random: Random, folder: Path
    ) -> None:
        self.binary, self.server, self.case, self.random, self.folder = binary, server, case, random, folder
        self.result = Result()
        self.target = folder / "out" / "file"
        self.target.parent.mkdir()
        (folder / "home").mkdir()
        about = max(case.position, 0)
        old, now = contents(case.change, case.size, about, random)
        first, second = VALIDATORS[case.validators]
        self.old = Version(old, *first)
        self.now = self.old if case.change == "same" or case.size == 0 else Version(now, *second)
        begins = case.interruption == "none"
        self.site = CaseSite(
            key=f"c{index}",
            old=self.old,
            now=self.now,
            manner=case.manner,
            lie=case.lie,
            always=case.always,
            mirror=f"http://127.251.{index >> 8 & 255}.{index & 255}:{server.port}",
            first_stop=None if begins else Stop(case.position, self.how),
            first_framing=case.first_framing,
            next_stop={"cut": Stop(0, "fin"), "kill": Stop(0, "hold")}.get(case.again),
        )
        self.first_stop, self.next_stop = self.site.first_stop, self.site.next_stop
        server.sites[self.site.key] = self.site
        # A new address, so that no case knows what another one learnt about an origin.
        self.origin = (
            f"http://127.{index >> 16 & 127 | 1}.{index >> 8 & 255}.{index & 255 or 1}:{server.port}"
        )
        self.hosts: list[Towline] = []
        self.verdict = Verdict(case, self.site, self.target, self.result)

    @property
    def how(self) -> str:
        return {"cut": "fin", "reset": "reset"}.get(self.case.interruption, "hold")

    def fail(self, text: str) -> None:
        self.result.failures.append(text)

    def launch(self) -> Towline:
        state = str(self.folder / "state")
        host = Towline(
            self.binary, ["--state-dir", state], env=clean_environment(self.folder / "home"), cwd=self.folder
        )
        self.hosts.append(host)
        return host

    def start(self, host: Towline) -> JSON:
        case = self.case
        params: JSON = {
            "id": "d",
            "url": self.origin + self.site.path,
            "path": str(self.target),
            "retry": RETRY,
            "onChange": case.on_change,
            "resumePolicy": case.policy,
        }
        if case.lie:
            params.update(case.lie.options)
        if case.checksum:
            version = self.now if case.checksum == "now" else self.old
            params["checksum"] = {"algorithm": "sha256", "value": sha256(version.data)}
        answer: JSON = host.call("start", **params)
        return answer

    # The course of events

    def run(self) -> Result:
        host = self.launch()
        try:
            self.start(host)
        except RPCError as error:
            if error.kind != "invalidParams":
                raise
            named = error.data.get("path", "")
            option = self.case.on_change if named.endswith("onChange") else self.case.policy
            self.result.lacks = f"{named.rpartition('.')[2]} {option}"
            return self.result
        if self.case.interruption in HOLDING:
            host = self.interrupt(host)
        done = self.wait(host)
        if self.next_stop is not None and self.next_stop.reached.is_set() and self.case.again == "kill":
            host, done = self.kill_again(host)
        if self.case.interruption in ("cut", "reset"):
            self.note_cut()
        self.verdict.judge(done)
        if done["state"] != "completed":
            self.remedy(host, done)
        return self.result

    def interrupt(self, host: Towline) -> Towline:
        assert self.first_stop is not None
        if not self.first_stop.reached.wait(10):
            raise AssertionError("the first request did not reach the point of interruption")
        received = self.wait_received(host)
        how = self.case.interruption
        if how.startswith("pause"):
            began = time.monotonic()
            paused = host.call("pause", id="d")["download"]
            seconds = time.monotonic() - began
            self.verdict.held = paused["receivedBytes"]
            self.expect_held(received, "a pause", seconds)
            received = self.verdict.held
        if how == "pause":
            self.turn()
            host.call("resume", id="d")
            return host
        seconds = 0.0
        if how == "term":
            began = time.monotonic()
            host.signal(signal.SIGTERM)
            status = host.wait_exit()
            seconds = time.monotonic() - began
            if status != 128 + signal.SIGTERM:
                self.fail(f"after SIGTERM the exit status is {status}")
        else:
            host.kill()
        self.turn()
        host = self.launch()
        found = host.call("get", id="d")["download"]
        self.verdict.held = found["receivedBytes"]
        reason = "user" if how.startswith("pause") else "interrupted"
        if (found["state"], found["reason"]) != ("paused", reason):
            self.fail(f"after {how} it is {found['state']} {found['reason']}")
        if how == "kill":
            self.result.refetched_bytes = received - self.verdict.held
            if not received - MIB < self.verdict.held <= received:
                self.fail(f"after kill -9 it has {self.verdict.held} of {received} bytes")
        else:
            self.expect_held(received, how, seconds)
        if how.startswith("pause"):
            host.call("resume", id="d")
        elif not (again := self.start(host))["resumed"] or again["created"]:
            self.fail(f"start after {how} does not resume: {json.dumps(again)[:300]}")
        return host

    def turn(self) -> None:
        self.verdict.requests_before = len(self.site.requests)
        self.site.turn()

    def wait_received(self, host: Towline) -> int:
        """Waits until everything sent has arrived, so that it is known what must be kept."""
        deadline = time.monotonic() + 10
        position = self.case.position
        while position >= 0:
            download = host.call("get", id="d")["download"]
            if download["receivedBytes"] >= position and download["phase"] == "downloading":
                break
            if time.monotonic() > deadline:
                raise AssertionError(f"{position} bytes were sent, but it is {json.dumps(download)}")
            time.sleep(0.002)
        return max(position, 0)

    def expect_held(self, received: int, after: str, seconds: float = 0.0) -> None:
        """All received bytes are kept, unless the disk was too slow, as on a busy machine."""
        if self.verdict.held == received:
            return
        if self.verdict.held < received and seconds >= DISK_PATIENCE_SECONDS:
            self.result.counts["bytes given up for a slow disk"] += 1
        else:
            self.fail(f"after {after} it has {self.verdict.held} of {received} bytes")

    def wait(self, host: Towline) -> JSON:
        """The settled Download, or {} when the stop is reached at which a kill must happen."""
        request = host.send("wait", {"id": "d", "until": "settled"})
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            try:
                download: JSON = host.answer(request, timeout=0.05)["download"]
                return download
            except Timeout:
                stop = self.next_stop
                if stop is not None and stop.how == "hold" and stop.reached.is_set() and not self.was_killed:
                    return {}
                if time.monotonic() > deadline or host.process.poll() is not None:
                    raise

    was_killed = False

    def kill_again(self, host: Towline) -> tuple[Towline, JSON]:
        self.was_killed = True
        time.sleep(self.random.random() * 0.02)
        host.kill()
        host = self.launch()
        found = host.call("get", id="d")["download"]
        if found["state"] == "paused":
            self.start(host)
        elif found["state"] not in ("completed", "failed") and found["reason"] != "needsUrl":
            self.fail(f"after the second kill it is {found['state']} {found['reason']}")
        self.result.counts["killed twice" if "kill" in self.case.interruption else "killed on going on"] += 1
        return host, self.wait(host)

    def note_cut(self) -> None:
        """Finds out how many bytes were kept after a cut; only the next request shows it."""
        self.verdict.requests_before = 1 + (self.case.manner.redirects != "no")
        self.verdict.held = max(self.case.position, 0)
        if self.case.interruption == "reset":
            # A reset may discard bytes that the client has not read.
            later = self.verdict.file_requests()
            ranged = later[0].asked if later else None
            if ranged is None:
                self.verdict.held_otherwise, self.verdict.held = self.verdict.held, 0
            elif ranged[0] > 0:
                self.verdict.held = ranged[0] + self.verdict.story(self.old, 1).overlap_bytes

    def remedy(self, host: Towline, done: JSON) -> None:
        """The server is honest now, and the download continues."""
        self.site.become_honest()
        if self.case.lie is not None and self.case.lie.options:
            return
        if self.case.remedy == "update" and done["state"] == "waiting":
            host.call("update", id="d", url=f"{self.origin}{self.site.path}?again")
        else:
            host.call("resume", id="d")
        self.verdict.judge_remedy(self.wait(host))

    def close(self) -> None:
        for host in self.hosts:
            host.finish()
            self.result.failures += host.violations
        self.server.sites.pop(self.site.key, None)
