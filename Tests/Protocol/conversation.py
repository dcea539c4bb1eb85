"""Plays the examples of a page to a process of the service."""

from __future__ import annotations

import json
from typing import Any

from examples import JSON, Block, differences, is_sent
from schemas import answer_problems, problems
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

    def differences(self, shown: JSON, real: JSON) -> list[str]:
        return differences(shown, real)

    def expect_answer(self, shown: JSON) -> None:
        real = self.process.response(shown["id"])
        found = self.differences(shown, real)
        assert not found, found
        request = self.requests[json.dumps(shown["id"])]
        method = request["method"]
        is_refused = real.get("error", {}).get("code") in (-32600, -32601, -32602)
        assert bool(problems(request, "requests.json")) == is_refused, request
        assert answer_problems(real, method) == [], real
        # The shown message must be valid too, unless it leaves members out.
        if "…" not in json.dumps(shown, ensure_ascii=False):
            assert answer_problems(shown, method) == []

    def expect_event(self, shown: JSON) -> None:
        nearest: list[Any] = []

        def fits(real: JSON) -> bool:
            if id(real) in self.is_matched or real["method"] != shown["method"]:
                return False
            nearest[:] = self.differences(shown, real)
            return not nearest

        try:
            real = self.process.wait_event(fits)
        except Timeout as error:
            raise AssertionError(f"no event is like {json.dumps(shown)}: {nearest}") from error
        self.is_matched.add(id(real))
        assert problems(real, "events.json") == []
