"""Reads the examples in a page of protocol/, and compares messages with them.

A fenced block marked ``jsonl example=NAME`` is part of a conversation, one message per line. Requests, and
notifications that clients send, are written to the service; the rest are its answers and events. Further
marks: ``session=NAME`` uses another process, ``exit=N`` expects it to exit, ``check=schema`` only validates.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

JSON = dict[str, Any]

TOP = Path(__file__).resolve().parents[2]
PROTOCOL = TOP / "protocol"
README = PROTOCOL / "README.md"

#: stands for members that an example leaves out
ELLIPSIS = "…"
#: the notifications that clients send
CLIENT_NOTIFICATIONS = {"initialized", "exit", "$/cancelRequest", "window/workDoneProgress/cancel"}
#: members whose values must be equal; for others only the type is compared
EXACT = {
    *("jsonrpc", "id", "method", "code", "kind", "retryable", "state", "reason", "phase", "owner", "created"),
    *("resumed", "changed", "timedOut", "matched", "counts", "differs", "removed"),
    *(
        "name",
        "protocol",
        "capabilities",
        "openrpc",
        "maxActive",
        "defaults",
        "token",
        "command",
        "subscription",
    ),
}


@dataclass
class Block:
    """One fenced block with its marks."""

    language: str
    marks: dict[str, str]
    text: str

    @property
    def name(self) -> str:
        return self.marks["example"]

    @property
    def messages(self) -> list[JSON]:
        return [json.loads(line) for line in self.text.splitlines()]


def blocks(page: Path = README) -> list[Block]:
    """All blocks of the page that are marked as examples, in order."""
    found = []
    for language, info, text in re.findall(
        r"^```(\w+)([^\n]*)\n(.*?)^```$", page.read_text(), re.M | re.DOTALL
    ):
        marks = dict(mark.split("=", 1) for mark in info.split())
        if "example" in marks:
            found.append(Block(language, marks, text))
    return found


def conversations() -> list[Block]:
    return [block for block in blocks() if block.language == "jsonl"]


def is_sent(message: JSON) -> bool:
    """True for a message that a client sends."""
    return "method" in message and ("id" in message or message["method"] in CLIENT_NOTIFICATIONS)


def kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "string", dict: "object", list: "array"}[type(value)]


def differences(shown: Any, real: Any, at: str = "message", exact: bool = False) -> list[str]:
    """How a message differs from the example."""
    if kind(shown) != kind(real):
        return [f"{at}: the example has {shown!r}, the service {real!r}"]
    if isinstance(shown, dict):
        named = {key for key in shown if key != ELLIPSIS}
        found = [f"{at}.{key} is missing" for key in sorted(named - set(real))]
        if ELLIPSIS not in shown:
            found += [f"{at}.{key} is not shown" for key in sorted(set(real) - named)]
        for key in sorted(named & set(real)):
            found += differences(shown[key], real[key], f"{at}.{key}", exact or key in EXACT)
        return found
    if isinstance(shown, list):
        if shown == [ELLIPSIS]:
            return []
        if len(shown) != len(real):
            return [f"{at}: the example has {len(shown)} elements, the service {len(real)}"]
        return [
            d for i, (s, r) in enumerate(zip(shown, real)) for d in differences(s, r, f"{at}[{i}]", exact)
        ]
    if exact and shown != real:
        return [f"{at}: the example has {shown!r}, the service {real!r}"]
    return []
