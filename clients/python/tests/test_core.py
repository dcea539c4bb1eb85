"""The protocol core without a process."""

from __future__ import annotations

import json
from concurrent.futures import Future
from dataclasses import fields
from typing import Any

import pytest

from towline import calls
from towline.core import CRASH_LIMIT, CRASH_WINDOW, Core, EndOfEvents, EventBuffer, LineSplitter
from towline.errors import ServiceDied
from towline.events import Changed, EventsLost, Progress
from towline.models import Download


def download(state: str = "active", revision: int = 1) -> Download:
    members: dict[str, Any] = dict.fromkeys(f.name for f in fields(Download))
    return Download(**{**members, "id": "a", "state": state, "revision": revision})


def changed(seq: int, state: str = "active") -> Changed:
    return Changed("s", seq, download(state))


def progress(received: int, id: str = "a") -> Progress:
    return Progress("s", 0, id, None, "downloading", 1, received, received, None, None, None, 1)


def taken(buffer: EventBuffer) -> list[Any]:
    found = []
    while (event := buffer.take()) is not None:
        found.append(event)
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_lines_are_split_however_they_are_cut(size: int) -> None:
    data = b'{"a":1}\n\n' + b"x" * 200_000 + b"\nrest\n"
    splitter = LineSplitter()
    pieces = (data[i : i + size] for i in range(0, len(data), size))
    assert [line for piece in pieces for line in splitter.feed(piece)] == data.split(b"\n")[:-1]


def test_a_line_over_the_limit_is_skipped_and_the_next_is_read() -> None:
    splitter = LineSplitter(limit=10)
    assert list(splitter.feed(b"12345678")) == []
    assert list(splitter.feed(b"901234")) == []
    assert list(splitter.feed(b"5\nnext\n")) == [b"next"]


def test_only_the_newest_progress_waits_and_it_follows_the_changes_before_it() -> None:
    buffer = EventBuffer(lambda: None)
    for event in (progress(1), changed(1), progress(2), progress(5, "b"), progress(3)):
        buffer.put(event)
    assert taken(buffer) == [changed(1), progress(5, "b"), progress(3)]


def test_unread_changes_over_the_limit_become_one_loss_that_names_them() -> None:
    buffer = EventBuffer(lambda: None, limit=3)
    for seq in range(1, 10):
        buffer.put(changed(seq))
    assert taken(buffer) == [EventsLost("s", 1, 8), changed(9)]


def test_reading_makes_room_again() -> None:
    buffer = EventBuffer(lambda: None, limit=2)
    for seq in range(1, 20):
        buffer.put(changed(seq))
        assert taken(buffer) == [changed(seq)]


def test_a_stream_of_one_download_ends_after_its_final_event() -> None:
    buffer = EventBuffer(lambda: None, "a")
    for event in (progress(1, "b"), progress(1), changed(1, "completed"), changed(2)):
        buffer.put(event)
    assert buffer.take() == progress(1)
    assert buffer.take() == changed(1, "completed")
    with pytest.raises(EndOfEvents):
        buffer.take()


def test_waiting_events_can_be_read_after_the_end_and_then_the_error_is_raised() -> None:
    buffer = EventBuffer(lambda: None)
    buffer.put(changed(1))
    buffer.end(ServiceDied("ended"))
    assert buffer.take() == changed(1)
    with pytest.raises(ServiceDied):
        buffer.take()


def test_a_repeatable_request_is_asked_again_and_any_other_fails() -> None:
    core = Core("all", None, False)
    again: Future[Any] = Future()
    failed: Future[Any] = Future()
    nobody: Future[Any] = Future()
    core.begin(calls.get("a"), again)
    core.begin(calls.change("pause", "a"), failed)
    core.begin(calls.ping(), nobody)
    nobody.cancel()
    core.died(lambda: ServiceDied("ended"), respawn=True)
    assert not again.done()
    assert isinstance(failed.exception(), ServiceDied)
    (line,) = core.take_repeats()
    assert json.loads(line) == {"jsonrpc": "2.0", "id": 4, "method": "get", "params": {"id": "a"}}
    assert core.take_repeats() == []


def test_without_a_respawn_everything_fails() -> None:
    core = Core("all", None, False)
    future: Future[Any] = Future()
    core.begin(calls.get("a"), future)
    core.died(lambda: ServiceDied("ended"), respawn=True)
    core.died(lambda: ServiceDied("ended for good"), respawn=False)
    assert "good" in str(future.exception())


@pytest.mark.parametrize("status", [0, 1, 64, 65, 73, 74, 78, 143])
def test_a_status_that_a_new_process_would_not_change_ends_the_client(status: int) -> None:
    assert not Core("all", None, False).may_respawn(status, 0.0)


@pytest.mark.parametrize("status", [-9, -11, 70])
def test_the_service_is_started_again_until_crashes_are_too_many(status: int) -> None:
    core = Core("all", None, False)
    answers = [core.may_respawn(status, float(second)) for second in range(CRASH_LIMIT)]
    assert answers == [True] * (CRASH_LIMIT - 1) + [False]
    rare = Core("all", None, False)
    assert all(rare.may_respawn(status, second * CRASH_WINDOW) for second in range(20))


def test_only_a_long_request_is_cancelled_at_the_service() -> None:
    core = Core("all", None, False)
    short: Future[Any] = Future()
    long: Future[Any] = Future()
    core.begin(calls.get("a"), short)
    core.begin(calls.wait("a", "final", None), long)
    assert core.abandon(short) is None
    note = core.abandon(long)
    assert note is not None
    assert json.loads(note) == {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 2}}
