"""Every example in protocol/README.md is what the service really does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from examples import JSON, Block, conversations, differences, is_sent
from fixtures import Launcher
from schemas import answer_problems, problems
from scripted_server import Behaviour, ScriptedServer, content
from towline_client import Timeout, Towline

ORIGIN = "http://127.0.0.1:8000"


class Conversation:
    """One process of an example session: sends what the examples send, and checks for what they show."""

    def __init__(self, process: Towline) -> None:
        self.process = process
        self.requests: dict[str, JSON] = {}
        self.is_matched: set[int] = set()

    def play(self, block: Block, origin: str) -> None:
        shown = json.loads(json.dumps(block.messages).replace(ORIGIN, origin))
        for message in shown:
            if is_sent(message):
                self.send(message)
            elif "method" in message:
                self.expect_event(message)
            else:
                self.expect_answer(message)
        if "exit" in block.marks:
            assert self.process.wait_exit() == int(block.marks["exit"])

    def send(self, message: JSON) -> None:
        if "id" in message:
            key = json.dumps(message["id"])
            assert key not in self.requests, f"the id {key} was used before"
            self.requests[key] = message
        self.settle()
        self.process.send_message(message)

    def settle(self) -> None:
        """Waits until a started download is active, which examples rely on although no answer shows it."""
        for request in reversed(self.process.events):
            if request["method"] == "changed":
                if request["params"]["download"]["state"] == "queued":
                    self.process.wait_state(request["params"]["download"]["id"], "active")
                return

    def expect_answer(self, shown: JSON) -> None:
        real = self.process.response(shown["id"])
        assert differences(shown, real) == []
        request = self.requests[json.dumps(shown["id"])]
        method = request["method"]
        is_refused = real.get("error", {}).get("code") in (-32600, -32601, -32602)
        assert bool(problems(request, "requests.json")) == is_refused
        assert answer_problems(real, method) == []
        # The shown message must be valid too, unless it leaves members out.
        if "…" not in json.dumps(shown, ensure_ascii=False):
            assert answer_problems(shown, method) == []

    def expect_event(self, shown: JSON) -> None:
        nearest: list[Any] = []

        def fits(real: JSON) -> bool:
            if id(real) in self.is_matched or real["method"] != shown["method"]:
                return False
            nearest[:] = differences(shown, real)
            return not nearest

        try:
            real = self.process.wait_event(fits)
        except Timeout as error:
            raise AssertionError(f"no event is like {json.dumps(shown)}: {nearest}") from error
        self.is_matched.add(id(real))
        assert problems(real, "events.json") == []


class Stage:
    """The processes of all sessions, and the server that the examples download from."""

    def __init__(self, launch: Launcher, server: ScriptedServer) -> None:
        self.launch = launch
        self.server = server
        self.gate = threading.Event()
        self.conversations: dict[str, Conversation] = {}
        held = Behaviour(hold_after=1 << 20, gate=self.gate)
        server.add("/disk.img", content(1, 4 << 20), default=held)
        server.add("/notes.txt", b"twenty bytes of text", default=Behaviour())

    def conversation(self, name: str) -> Conversation:
        if name not in self.conversations:
            folder = self.launch.work / name
            folder.mkdir()
            process = self.launch(state=self.launch.home / name, cwd=folder)
            self.conversations[name] = Conversation(process)
        return self.conversations[name]

    def play(self, block: Block) -> None:
        if block.marks.get("check") == "schema":
            for message in block.messages:
                assert problems(message, "events.json") == []
            return
        self.conversation(block.marks.get("session", "main")).play(block, self.server.url())


@pytest.fixture
def stage(launch: Launcher, server: ScriptedServer) -> Iterator[Stage]:
    made = Stage(launch, server)
    yield made
    made.gate.set()


def test_every_example_is_what_the_service_does(stage: Stage) -> None:
    for block in conversations():
        try:
            stage.play(block)
        except AssertionError as error:
            raise AssertionError(f"example {block.name}: {error}") from error
    # Messages that no example shows must match the schemas too.
    for conversation in stage.conversations.values():
        for event in conversation.process.events:
            assert problems(event, "events.json") == [], event["method"]


def test_every_method_and_event_has_an_example(document: JSON) -> None:
    messages = [message for block in conversations() for message in block.messages]
    requested = {message.get("method") for message in messages}
    for method in document["methods"]:
        assert method["name"] in requested
    for notification in document["x-notifications"]:
        assert notification["name"] in requested


def test_every_request_that_is_shown_has_its_answer() -> None:
    for block in conversations():
        requests = [m["id"] for m in block.messages if is_sent(m) and "id" in m]
        answers = [m["id"] for m in block.messages if "method" not in m]
        assert sorted(map(str, requests)) == sorted(map(str, answers)), block.name


def test_an_example_that_is_wrong_would_be_found() -> None:
    real = {"id": 1, "result": {"a": 1, "state": "active", "n": None}}
    assert differences({"id": 1, "result": {"a": 7, "state": "active", "n": None}}, real) == []
    assert differences({"id": 1, "result": {"state": "active", "…": "…"}}, real) == []
    for wrong in (
        {"a": 1, "state": "active"},
        {"a": 1, "state": "active", "n": None, "b": 1},
        {"a": "1", "state": "active", "n": None},
        {"a": 1, "state": "paused", "n": None},
        {"a": True, "state": "active", "n": None},
        {"a": 1, "state": "active", "n": 0},
    ):
        assert differences({"id": 1, "result": wrong}, real) != [], wrong
