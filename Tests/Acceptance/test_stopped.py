"""The process is stopped for a while (SIGSTOP): it then continues, and the stop has caused no failure."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer, content
from support import NO_RETRY, Held, finish
from towline_client import Towline

#: Longer than every timeout that the tests set.
STOP_SECONDS = 4.0
MANY_SECONDS = 130.0
STALL_MS = 2_000
GENEROUS = 30.0

seconds = pytest.mark.parametrize(
    "stopped_for",
    [STOP_SECONDS, pytest.param(MANY_SECONDS, marks=[pytest.mark.slow, pytest.mark.timeout(400)])],
    ids=["seconds", "minutes"],
)


@contextmanager
def stopped(host: Towline, duration: float) -> Iterator[None]:
    """Stops the process during the block and for this long afterwards."""
    host.signal(signal.SIGSTOP)
    try:
        yield
        time.sleep(duration)
    finally:
        host.signal(signal.SIGCONT)


@seconds
def test_a_download_goes_on_after_a_stop(
    host: Towline, server: ScriptedServer, work: Path, stopped_for: float
) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f", stallTimeoutMs=STALL_MS, retry=NO_RETRY)["id"]
    with stopped(host, stopped_for):
        held.release()
    assert finish(host, download_id)["state"] == "completed"
    assert (work / "f").read_bytes() == held.data
    assert len(server.requests()) == 1, "it restarted from zero"


@seconds
def test_many_downloads_do_not_all_stall_after_a_stop(
    host: Towline, server: ScriptedServer, work: Path, stopped_for: float
) -> None:
    host.call("configure", maxActive=16, maxActivePerHost=16)
    datas = [content(n, 500_000) for n in range(16)]
    for number, data in enumerate(datas):
        server.add(f"/{number}", data, default=Behaviour(rate=100_000))
        params = {"id": f"d{number}", "stallTimeoutMs": STALL_MS, "retry": NO_RETRY}
        host.call("start", url=server.url(f"/{number}"), path=str(work / str(number)), **params)
    host.wait_received("d15", 1)
    with stopped(host, stopped_for):
        pass
    answer = host.call("wait", all=True, timeout=GENEROUS)
    assert answer["counts"]["completed"] == 16, answer
    assert all((work / str(n)).read_bytes() == data for n, data in enumerate(datas))
    assert len(server.requests()) == 16


@seconds
def test_a_server_that_says_nothing_after_a_stop_gets_its_whole_time(
    host: Towline, server: ScriptedServer, work: Path, stopped_for: float
) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f", stallTimeoutMs=STALL_MS, retry=NO_RETRY)["id"]
    with stopped(host, stopped_for):
        pass
    time.sleep(0.5)
    held.release()
    assert finish(host, download_id)["state"] == "completed"
    assert len(server.requests()) == 1


def test_a_server_that_says_nothing_at_all_stalls_after_a_stop_too(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f", stallTimeoutMs=STALL_MS, retry=NO_RETRY)["id"]
    with stopped(host, STOP_SECONDS):
        pass
    ended = finish(host, download_id, GENEROUS)
    assert (ended["state"], ended["error"]["kind"]) == ("failed", "stalled")


@seconds
def test_a_retry_that_fell_due_in_a_stop_comes_once(
    host: Towline, server: ScriptedServer, work: Path, stopped_for: float
) -> None:
    server.add("/f", b"x").then(Behaviour(status=503))
    retry = {"maxAttempts": 2, "initialDelayMs": 1_000, "maxDelayMs": 1_000}
    host.call("start", id="d", url=server.url("/f"), path=str(work / "f"), retry=retry)
    host.wait_state("d", "waiting")
    with stopped(host, stopped_for):
        pass
    assert finish(host, "d")["state"] == "completed"
    assert len(server.requests("/f")) == 2


def test_a_retry_that_is_not_due_yet_is_still_waited_for(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x").then(Behaviour(status=429, headers=[("Retry-After", "4")]))
    host.call("start", id="d", url=server.url("/f"), path=str(work / "f"))
    host.wait_state("d", "waiting")
    with stopped(host, 1):
        pass
    assert finish(host, "d")["state"] == "completed"
    first, second = server.requests("/f")
    assert second.arrived - first.arrived > 3.9


def test_a_wait_that_ran_out_in_a_stop_is_answered(host: Towline, server: ScriptedServer, work: Path) -> None:
    download_id = Held(server).started(host, work / "f")["id"]
    request = host.send("wait", {"id": download_id, "timeoutMs": 500})
    host.call("ping")
    with stopped(host, 1):
        pass
    assert host.answer(request)["timedOut"] is True


def test_requests_sent_to_a_stopped_process_are_answered_in_order(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", content(1, 10_000))
    host.call("ping")
    with stopped(host, 0.2):
        requests = [
            host.send("start", {"id": f"d{n}", "url": server.url("/f"), "path": str(work / str(n))})
            for n in range(50)
        ]
    assert [host.answer(r)["download"]["id"] for r in requests] == [f"d{n}" for n in range(50)]
    assert host.call("wait", all=True, timeout=GENEROUS)["counts"]["completed"] == 50


def test_a_stopped_process_keeps_its_downloads(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    first, second = launch(), launch()
    held = Held(server)
    download_id = held.started(first, work / "f")["id"]
    with stopped(first, 0.5):
        assert second.call("get", id=download_id)["download"]["owner"] == "other"
        assert second.error("pause", id=download_id).code == 1010
        assert second.call("resume", all=True)["changed"] == 0
    held.release()
    assert finish(first, download_id)["state"] == "completed"
    assert len(server.requests()) == 1
