"""Every example in protocol/README.md is what the service really does."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from conversation import Conversation
from examples import JSON, Block, conversations, differences, is_sent
from fixtures import Launcher
from schemas import problems
from scripted_server import Behaviour, ScriptedServer, content


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
