"""Reads transcripts (``protocol/transcripts/*.jsonl``), and compares messages with their expectations.

Tests/README.md describes the format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
MATCHER = re.compile(r"^\$([a-z]+(?:\|[a-z]+)*)(?::([a-zA-Z0-9]+))?$")
VARIABLE = re.compile(r"\$\{([a-zA-Z0-9]+)\}")
#: in an object: other members are allowed; as the last element of an array: more may follow
OPEN = "..."


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


KINDS = {
    "any": lambda value: True,
    "string": lambda value: isinstance(value, str),
    "integer": is_integer,
    "number": lambda value: is_integer(value) or isinstance(value, float),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "time": lambda value: isinstance(value, str) and TIME.match(value) is not None,
    "id": lambda value: isinstance(value, str) and ID.match(value) is not None,
}


class TranscriptError(Exception):
    """A transcript that cannot be read."""


@dataclass
class Step:
    """One line that does or expects something; `messages` has several for an unordered group."""

    number: int
    action: str
    text: str = ""
    messages: list[Any] = field(default_factory=list)


@dataclass
class Served:
    """A file on the loopback server."""

    path: str
    size: int
    #: body bytes after which the response is held until `open PATH`
    hold: int | None = None
    status: int | None = None


@dataclass
class Transcript:
    name: str
    steps: list[Step]
    args: list[str] = field(default_factory=list)
    framing: str = "line"
    #: notifications that are ignored
    skip: list[str] = field(default_factory=list)
    served: list[Served] = field(default_factory=list)


def parse(path: Path) -> Transcript:
    """Reads a transcript; raises TranscriptError naming the line."""
    transcript = Transcript(path.stem, [])
    group: Step | None = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        try:
            if word == "unordered":
                group = Step(number, "expect")
            elif word == "end" and group is not None:
                transcript.steps.append(group)
                group = None
            elif group is not None:
                if word != "<":
                    raise TranscriptError("only `<` lines are allowed in an unordered group")
                group.messages.append(json.loads(rest))
            else:
                add(transcript, number, word, rest)
        except (ValueError, KeyError, TranscriptError) as error:
            raise TranscriptError(f"{path.name}:{number}: {error}") from None
    if group is not None:
        raise TranscriptError(f"{path.name}:{group.number}: the group has no end")
    return transcript


def add(transcript: Transcript, number: int, word: str, rest: str) -> None:
    steps = transcript.steps
    if word == "args":
        transcript.args = rest.split()
    elif word == "framing":
        transcript.framing = rest
    elif word == "skip":
        transcript.skip = rest.split()
    elif word == "url":
        path, size, *options = rest.split()
        numbers = {key: int(value) for key, value in (option.split("=") for option in options)}
        if set(numbers) - {"hold", "status"}:
            raise TranscriptError(f"unknown option in `{rest}`")
        transcript.served.append(Served(path, int(size), **numbers))
    elif (word, rest) in ((">", "eof"), ("<", "eof")):
        steps.append(Step(number, "close" if word == ">" else "ended"))
    elif word == ">":
        steps.append(Step(number, "send", rest))
    elif word == ">raw":
        steps.append(Step(number, "sendraw", json.loads(rest)))
    elif word == "<":
        steps.append(Step(number, "expect", rest, [json.loads(rest)]))
    elif word == "<?":
        steps.append(Step(number, "allow", rest, [json.loads(rest)]))
    elif word == "<raw":
        steps.append(Step(number, "expectraw", json.loads(rest)))
    elif word in ("open", "signal", "exit", "restart"):
        steps.append(Step(number, word, rest))
    else:
        raise TranscriptError(f"unknown word `{word}`")


def substitute(text: str, values: Mapping[str, Any]) -> str:
    """Replaces `${name}` by its value."""

    def value(match: re.Match[str]) -> str:
        if match.group(1) not in values:
            raise TranscriptError(f"there is no value named {match.group(1)}")
        return str(values[match.group(1)])

    return VARIABLE.sub(value, text)


def differences(
    expected: Any, actual: Any, captures: dict[str, Any], values: Mapping[str, Any], at: str = "message"
) -> list[str]:
    """What differs, each with its path; captured values are added to `captures`."""
    if isinstance(expected, str):
        return text_differences(expected, actual, captures, values, at)
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return [f"{at}: an object was expected, but it is {actual!r}"]
        named = {key: value for key, value in expected.items() if key != OPEN}
        found = [f"{at}.{key} is missing" for key in named if key not in actual]
        if OPEN not in expected:
            found += [f"{at}.{key} was not expected: {actual[key]!r}" for key in actual if key not in named]
        for key, value in named.items():
            if key in actual:
                found += differences(value, actual[key], captures, values, f"{at}.{key}")
        return found
    if isinstance(expected, list):
        if not isinstance(actual, list):
            return [f"{at}: an array was expected, but it is {actual!r}"]
        is_open = bool(expected) and expected[-1] == OPEN
        wanted = expected[:-1] if is_open else expected
        if len(actual) < len(wanted) or (len(actual) > len(wanted) and not is_open):
            return [f"{at}: {len(wanted)} elements were expected, but there are {len(actual)}: {actual!r}"]
        found = []
        for index, (one, other) in enumerate(zip(wanted, actual)):
            found += differences(one, other, captures, values, f"{at}[{index}]")
        return found
    if type(expected) is not type(actual) or expected != actual:
        return [f"{at}: {expected!r} was expected, but it is {actual!r}"]
    return []


def text_differences(
    expected: str, actual: Any, captures: dict[str, Any], values: Mapping[str, Any], at: str
) -> list[str]:
    match = MATCHER.match(expected)
    if match is None:
        wanted = substitute(expected, {**values, **captures})
        return [] if wanted == actual else [f"{at}: {wanted!r} was expected, but it is {actual!r}"]
    kinds, name = match.group(1).split("|"), match.group(2)
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise TranscriptError(f"there is no matcher ${unknown[0]}")
    if not any(KINDS[kind](actual) for kind in kinds):
        return [f"{at}: {expected} was expected, but it is {actual!r}"]
    if name is not None:
        if name not in captures:
            captures[name] = actual
        elif captures[name] != actual:
            return [f"{at}: {captures[name]!r} ({name}) was expected, but it is {actual!r}"]
    return []
