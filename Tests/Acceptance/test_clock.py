"""The wall clock jumps by years while the service runs: no timer fires early or hangs, no time is wrong."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from fixtures import Launcher, WallClock
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, Held, finish
from towline_client import Towline

YEAR = 31_556_952
JUMPS = [10 * YEAR, -10 * YEAR, -60 * YEAR, 400 * YEAR]
JUMP_NAMES = ["10 years on", "10 years back", "before 1970", "400 years on"]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
#: Below the shortest wait that jitter makes of one second.
SECOND_AT_LEAST = 0.45
GENEROUS = 15.0


@pytest.fixture
def host(launch: Launcher, clock: WallClock) -> Towline:
    return launch(env=clock.environment)


def check_times(host: Towline) -> None:
    """Every time in every message is valid or null, whatever the clock shows."""
    for message in host.messages:
        for name in ("createdAt", "updatedAt", "completedAt", "retryAt"):
            for value in re.findall(rf'"{name}": ("[^"]*"|[^",}}\]]*)', json.dumps(message)):
                assert value == "null" or TIME.fullmatch(value.strip('"')), f"{name}: {value}"


def jumps() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("jump", JUMPS, ids=JUMP_NAMES)


def test_the_clock_that_is_set_is_the_one_that_is_told(
    host: Towline, clock: WallClock, server: ScriptedServer, work: Path
) -> None:
    clock.jump(10 * YEAR)
    server.add("/f", b"x")
    started = host.call("start", url=server.url("/f"), path=str(work / "f"), startPaused=True)
    year = time.gmtime(time.time() + 10 * YEAR).tm_year
    assert started["download"]["createdAt"].startswith(str(year))


@jumps()
def test_a_download_goes_on_over_a_jump(
    host: Towline, clock: WallClock, server: ScriptedServer, work: Path, jump: int
) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f", retry={"maxAttempts": 0})["id"]
    clock.jump(jump)
    assert host.call("get", id=download_id)["download"]["state"] == "active"
    held.release()
    assert finish(host, download_id)["state"] == "completed"
    assert (work / "f").read_bytes() == held.data
    assert len(server.requests()) == 1
    check_times(host)


@jumps()
def test_no_stall_is_seen_in_a_jump(
    host: Towline, clock: WallClock, server: ScriptedServer, work: Path, jump: int
) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f", stallTimeoutMs=60_000, retry={"maxAttempts": 0})["id"]
    clock.jump(jump)
    # Lets the event loop run and check its timers several times.
    for _ in range(20):
        assert host.call("get", id=download_id)["download"]["state"] == "active"
        time.sleep(0.05)
    held.release()
    assert finish(host, download_id)["state"] == "completed"


@jumps()
def test_a_retry_comes_when_it_is_due(
    host: Towline, clock: WallClock, server: ScriptedServer, work: Path, jump: int
) -> None:
    server.add("/f", b"x").then(Behaviour(status=503))
    retry = {"maxAttempts": 5, "initialDelayMs": 1_000, "maxDelayMs": 1_000}
    host.call("start", id="d", url=server.url("/f"), path=str(work / "f"), retry=retry)
    host.wait_state("d", "waiting")
    clock.jump(jump)
    assert finish(host, "d")["state"] == "completed"
    first, second = server.requests("/f")
    assert SECOND_AT_LEAST < second.arrived - first.arrived < GENEROUS
    check_times(host)


@jumps()
def test_the_patience_that_a_server_asks_for_is_kept(
    host: Towline, clock: WallClock, server: ScriptedServer, work: Path, jump: int
) -> None:
    server.add("/f", b"x").then(Behaviour(status=429, headers=[("Retry-After", "1")]))
    host.call("start", id="d", url=server.url("/f"), path=str(work / "f"))
    host.wait_state("d", "waiting")
    clock.jump(jump)
    assert finish(host, "d")["state"] == "completed"
    first, second = server.requests("/f")
    assert 0.95 < second.arrived - first.arrived < GENEROUS


@jumps()
def test_a_wait_ends_when_its_time_is_over(
    host: Towline, clock: WallClock, server: ScriptedServer, work: Path, jump: int
) -> None:
    download_id = Held(server).started(host, work / "f")["id"]
    began = time.monotonic()
    request = host.send("wait", {"id": download_id, "timeoutMs": 1_000})
    clock.jump(jump)
    assert host.answer(request, GENEROUS)["timedOut"] is True
    assert time.monotonic() - began > 0.95


@jumps()
def test_a_process_with_another_clock_takes_over(
    launch: Launcher, clock: WallClock, server: ScriptedServer, work: Path, jump: int
) -> None:
    held = Held(server)
    first = launch(env=clock.environment)
    held.started(first, work / "f", id="held")
    held.resource.default = Behaviour()
    never = {"maxAttempts": 5, "initialDelayMs": 3_600_000, "maxDelayMs": 3_600_000}
    server.add("/later", content(3, 1_000)).then(Behaviour(status=503))
    first.call("start", id="later", url=server.url("/later"), path=str(work / "later"), retry=never)
    first.wait_state("later", "waiting")
    first.kill()
    clock.jump(jump)
    second = launch(env=clock.environment)
    known = second.call("list")["downloads"]
    assert [(d["id"], d["reason"]) for d in known] == [("held", "interrupted"), ("later", "interrupted")]
    second.call("resume", all=True)
    second.call("wait", all=True, timeout=30)
    assert (work / "f").read_bytes() == held.data
    assert (work / "later").read_bytes() == content(3, 1_000)
    assert 0 < server.requests("/held")[-1].range_start <= MIB
    check_times(second)


@jumps()
def test_a_jump_between_the_commands_keeps_their_order(
    host: Towline, clock: WallClock, server: ScriptedServer, work: Path, jump: int
) -> None:
    server.add("/f", b"x")
    for number in range(4):
        url = server.url("/f")
        host.call("start", id=f"d{number}", url=url, path=str(work / str(number)), startPaused=True)
        clock.jump(jump if number % 2 else 0)
    assert [d["id"] for d in host.call("list")["downloads"]] == ["d0", "d1", "d2", "d3"]
    before = host.call("list")["revision"]
    host.call("resume", id="d2")
    finish(host, "d2")
    changed = host.call("list", changedSince=before)["downloads"]
    assert [d["id"] for d in changed] == ["d2"]
    check_times(host)
