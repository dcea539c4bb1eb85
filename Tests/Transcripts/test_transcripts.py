"""Replays every transcript of the specification against the binary."""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fixtures import TOP, Launcher
from scripted_server import Behaviour, ScriptedServer, content
from towline_client import Towline
from transcript import Step, Transcript, differences, parse, substitute

FOLDER = TOP / "protocol" / "transcripts"
PATHS = sorted(FOLDER.glob("*.jsonl"))
STEP_TIMEOUT = 15.0


class Replay:
    """One run of a transcript: its position, and the values of its names."""

    def __init__(self, transcript: Transcript, launch: Launcher, server: ScriptedServer) -> None:
        self.transcript = transcript
        self.launch = launch
        self.server = server
        self.gates = {served.path: threading.Event() for served in transcript.served}
        self.values = {"url": server.url(), "dir": str(launch.work)}
        self.captures: dict[str, Any] = {}
        for served in transcript.served:
            gate = self.gates[served.path]
            behaviour = Behaviour(hold_after=served.hold, gate=gate, status=served.status)
            server.add(served.path, content(served.size, served.size), default=behaviour)
        self.start()

    def start(self) -> None:
        self.process: Towline = self.launch(*self.transcript.args, framing=self.transcript.framing)
        #: how many messages of this process were compared or skipped
        self.position = 0
        self.raw_position = 0

    def run(self) -> None:
        for step in self.transcript.steps:
            where = f"{self.transcript.name}.jsonl:{step.number}"
            getattr(self, step.action)(step, where)
        self.finish()

    def finish(self) -> None:
        """Fails if there is a message that the transcript does not show."""
        if self.process.process.poll() is None:
            self.close()
            for gate in self.gates.values():
                gate.set()
            self.process.wait_exit()
        if not any(step.action == "expectraw" for step in self.transcript.steps):
            rest = [m for m in self.process.messages[self.position :] if not self.is_skipped(m)]
            assert rest == [], "messages that the transcript does not show"

    def is_skipped(self, message: Any) -> bool:
        return isinstance(message, dict) and message.get("method") in self.transcript.skip

    def next_message(self, where: str) -> Any:
        """The next message that is not skipped."""
        deadline = time.monotonic() + STEP_TIMEOUT
        while time.monotonic() < deadline:
            while self.position < len(self.process.messages):
                message = self.process.messages[self.position]
                self.position += 1
                if not self.is_skipped(message):
                    return message
            if self.process.process.poll() is not None:
                self.process.wait_exit()
                if self.position == len(self.process.messages):
                    break
            time.sleep(0.002)
        raise AssertionError(f"{where}: no message came; stderr: {self.process.stderr[-1000:]}")

    def send(self, step: Step, where: str) -> None:
        text = substitute(step.text, {**self.values, **self.captures})
        if self.transcript.framing == "header":
            body = text.encode()
            self.process.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        else:
            self.process.raw_line(text)

    def sendraw(self, step: Step, where: str) -> None:
        self.process.raw(substitute(step.text, {**self.values, **self.captures}))

    def expect(self, step: Step, where: str) -> None:
        wanted = list(step.messages)
        while wanted:
            message = self.next_message(where)
            tried = []
            for expected in wanted:
                captures = dict(self.captures)
                found = differences(expected, message, captures, self.values)
                if not found:
                    self.captures = captures
                    wanted.remove(expected)
                    break
                tried.append(found)
            else:
                nearest = "\n  ".join(min(tried, key=len))
                raise AssertionError(f"{where}: got {json.dumps(message)[:1500]}\n  {nearest}")

    def allow(self, step: Step, where: str) -> None:
        """Takes the next message if it is the optional one."""
        before = self.position
        captures = dict(self.captures)
        if differences(step.messages[0], self.next_message(where), captures, self.values):
            self.position = before
        else:
            self.captures = captures

    def expectraw(self, step: Step, where: str) -> None:
        wanted = step.text.encode()
        end = self.raw_position + len(wanted)
        deadline = time.monotonic() + STEP_TIMEOUT
        while len(self.process.stdout_bytes) < end and time.monotonic() < deadline:
            time.sleep(0.002)
        assert self.process.stdout_bytes[self.raw_position : end] == wanted, where
        self.raw_position = end

    def close(self, step: Step | None = None, where: str = "") -> None:
        if self.process.process.stdin is not None and not self.process.process.stdin.closed:
            self.process.close_stdin()

    def ended(self, step: Step, where: str) -> None:
        self.process.wait_exit(STEP_TIMEOUT)
        rest = [m for m in self.process.messages[self.position :] if not self.is_skipped(m)]
        assert rest == [], f"{where}: output should have ended"

    def exit(self, step: Step, where: str) -> None:
        assert self.process.wait_exit(STEP_TIMEOUT) == int(step.text), f"{where}: {self.process.stderr}"

    def open(self, step: Step, where: str) -> None:
        self.gates[step.text].set()

    def signal(self, step: Step, where: str) -> None:
        if step.text == "KILL":
            self.process.kill()
        else:
            self.process.signal(signal.Signals[f"SIG{step.text}"])

    def restart(self, step: Step, where: str) -> None:
        self.start()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_transcript(path: Path, launch: Launcher, server: ScriptedServer) -> None:
    Replay(parse(path), launch, server).run()


def test_there_are_transcripts() -> None:
    assert len(PATHS) >= 8
