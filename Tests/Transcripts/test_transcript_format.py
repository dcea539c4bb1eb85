"""The reader and the matchers themselves; a runner that accepts everything would prove nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transcript import TranscriptError, differences, parse, substitute


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": 1}, {"a": 1}),
        ({"a": 1, "...": True}, {"a": 1, "b": 2}),
        ({"...": True}, {}),
        ("$any", None),
        ("$integer", 0),
        ("$integer|null", None),
        ("$time", "2026-01-02T03:04:05.678Z"),
        ("$id", "a.b-C_1"),
        ([1, "..."], [1, 2, 3]),
        (["..."], []),
        ("${url}/f", "http://h/f"),
        (["$id:x", "$id:x"], ["a", "a"]),
        (["$id:x", "is ${x}"], ["a", "is a"]),
        (1, 1),
    ],
)
def test_what_matches(expected: Any, actual: Any) -> None:
    assert differences(expected, actual, {}, {"url": "http://h"}) == []


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "...": True}, {"b": 2}),
        ({"a": None}, {}),
        ("$integer", True),
        ("$integer", 1.0),
        ("$integer", "1"),
        ("$string", None),
        ("$time", "2026-01-02T03:04:05Z"),
        ("$id", ""),
        ([1], [1, 2]),
        ([1, 2, "..."], [1]),
        ("${url}/f", "http://other/f"),
        (["$id:x", "$id:x"], ["a", "b"]),
        (1, True),
        (1, 1.0),
        (None, False),
        ({}, []),
    ],
)
def test_what_differs(expected: Any, actual: Any) -> None:
    assert differences(expected, actual, {}, {"url": "http://h"}) != []


def test_a_difference_names_its_place() -> None:
    found = differences({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, {}, {})
    assert found == ["message.a[0].b: 1 was expected, but it is 2"]


@pytest.mark.parametrize(
    "text",
    ["? what", "< {nope", "unordered\n< {}", "unordered\n> {}\nend", "url /f", "url /f 1 colour=2", "end"],
)
def test_a_transcript_that_cannot_be_read_is_refused_by_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(TranscriptError, match=r"bad\.jsonl:\d"):
        parse(path)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(TranscriptError):
        substitute("${nobody}", {})
    with pytest.raises(TranscriptError):
        differences("$colour", 1, {}, {})
