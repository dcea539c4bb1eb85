"""Hosts that send requests but do not read: memory use stays limited, and downloads continue."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer, content
from support import MIB, Held, poll, sha256
from towline_client import Towline

LIMIT = 64 * MIB


def peak(host: Towline) -> int:
    """The peak memory of the process so far, in bytes."""
    status = Path(f"/proc/{host.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def ticks(host: Towline) -> int:
    fields = Path(f"/proc/{host.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def come_to_rest(host: Towline, patience: float = 30) -> None:
    """Waits until a process whose host does not read has nothing left to do."""
    last, since = -1, time.monotonic()
    deadline = since + patience
    while time.monotonic() < deadline and time.monotonic() - since < 0.4:
        now = ticks(host)
        if now > last + 1:
            last, since = now, time.monotonic()
        time.sleep(0.05)


def flood(host: Towline, text: str) -> threading.Thread:
    """Writes from another thread, because the service stops reading at some point."""

    def write() -> None:
        # The process may exit meanwhile.
        with contextlib.suppress(OSError, ValueError):
            host.raw(text)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def state(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    """A hundred downloads with large metadata."""
    host = launch()
    for n in range(100):
        url = server.url("/" + "u" * 2_000)
        metadata = {"note": "m" * 3_000}
        host.send(
            "start",
            {
                "url": url,
                "path": str(work / f"f{n}"),
                "id": f"d{n}",
                "metadata": metadata,
                "startPaused": True,
            },
        )
    host.call("pause", id="d99")
    host.kill()


def request(method: str, n: int, **params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params})


def lists(count: int) -> str:
    return "".join(request("list", n, limit=100) + "\n" for n in range(count))


def gets(count: int) -> str:
    return "".join(request("get", n, id="d1") + "\n" for n in range(count))


def batches_of_lists(count: int) -> str:
    entries = [request("list", 2_000_000 + n, limit=100) for n in range(64 * count)]
    return "".join(f"[{','.join(entries[n : n + 64])}]\n" for n in range(0, len(entries), 64))


def starts(count: int) -> str:
    params = {"url": "http://h/x", "path": "/nowhere/x", "metadata": {"note": "m" * 4_000}}
    return "".join(request("start", n, **params) + "\n" for n in range(count))


def pings(count: int) -> str:
    return "".join(request("ping", 1_000_000 + n) + "\n" for n in range(count))


def bad_lines(count: int) -> str:
    return "{}\n" * count


def heavy_lines(count: int) -> str:
    return ("[" + ",".join(["[]"] * 9_990) + "]\n") * 10 + ('{"x":"' + "x" * 1_000_000 + '"}\n') * (
        count // 10
    )


def waits(count: int) -> str:
    return "".join(request("wait", n, id="d1") + "\n" for n in range(count))


def waits_for_many(count: int) -> str:
    ids = [f"d{n}" for n in range(100)]
    return "".join(request("wait", n, ids=ids) + "\n" for n in range(count))


def waits_that_end(count: int) -> str:
    ids = [f"d{n}" for n in range(100)]
    ended = request("cancel", 1_000_000, ids=ids) + "\n"
    return waits(count) + ended


FLOODS: list[tuple[Callable[[int], str], int]] = [
    (lists, 800),
    (batches_of_lists, 12),
    (gets, 8_000),
    (starts, 3_000),
    (pings, 50_000),
    (bad_lines, 50_000),
    (heavy_lines, 400),
    (waits, 2_000),
    (waits_for_many, 500),
    (waits_that_end, 900),
]


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(("make", "count"), FLOODS, ids=[f[0].__name__ for f in FLOODS])
def test_a_host_that_reads_nothing_costs_little_memory(
    launch: Launcher, make: Callable[[int], str], count: int
) -> None:
    host = launch(read_at_once=False)
    flood(host, make(count))
    come_to_rest(host)
    assert peak(host) < LIMIT
    host.kill()


@pytest.mark.usefixtures("state")
def test_downloads_do_not_mind_a_host_that_reads_nothing(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    data = content(3, 32 * MIB)
    server.add("/big", data)
    host = launch(read_at_once=False)
    host.send("start", {"url": server.url("/big"), "path": str(work / "big"), "id": "big"})
    flood(host, lists(800))
    poll(lambda: (work / "big").exists() or None, timeout=20, what="the download")
    assert sha256(work / "big") == sha256(data)
    come_to_rest(host)
    assert peak(host) < LIMIT
    host.kill()


@pytest.mark.usefixtures("state")
def test_every_answer_comes_once_the_host_reads(launch: Launcher) -> None:
    host = launch(read_at_once=False)
    writer = flood(host, batches_of_lists(2) + lists(150) + pings(1_000))
    come_to_rest(host)
    host.start_reading()
    writer.join(30)
    assert not writer.is_alive()
    batch = host.wait_message(lambda m: isinstance(m, list), timeout=30)
    assert [m["id"] for m in batch] == [2_000_000 + n for n in range(64)]
    assert all(m["result"]["downloads"] for m in batch)
    assert host.response(1_000_999)["result"] == {}
    assert all(host.response(n)["result"]["downloads"] for n in range(150))
    assert peak(host) < LIMIT


def test_of_a_waits_progress_only_the_newest_waits(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    host = launch(read_at_once=False)
    held = Held(server, after=0, size=MIB)
    held.resource.default.rate = 200_000
    held.resource.default.hold_after = None
    host.send("configure", {"progressIntervalMs": 50})
    params = {"url": held.url, "path": str(work / "f"), "id": "d", "events": "none"}
    host.send("start", params)
    # More than the pipe can hold.
    host.raw(pings(3_000))
    host.send("wait", {"id": "d", "workDoneToken": "t"})
    poll(lambda: (work / "f.towline").exists() or None, what="the file")
    poll(lambda: (work / "f.towline").stat().st_size > 400_000 or None, what="some seconds of progress")
    host.start_reading()
    host.call("ping")
    reports = [e["params"]["value"] for e in host.events if e["method"] == "$/progress"]
    assert reports[0]["kind"] == "begin"
    # Later reports have replaced those of the first bytes.
    assert [r for r in reports[1:] if int(r["message"].split()[0]) < 300_000] == []


@pytest.mark.usefixtures("state")
def test_waits_for_many_are_answered_all_the_same(launch: Launcher) -> None:
    host = launch()
    ids = [f"d{n}" for n in range(100)]
    waits = [host.send("wait", {"ids": ids}) for _ in range(50)]
    single = [host.send("wait", {"id": name}) for name in ids]
    assert host.call("cancel", ids=ids)["changed"] == 100
    for request_id in waits:
        assert host.answer(request_id)["counts"]["canceled"] == 100
    for name, request_id in zip(ids, single, strict=True):
        assert host.answer(request_id)["download"]["id"] == name


@pytest.mark.usefixtures("state")
def test_waits_that_end_unread_are_answered_once_the_host_reads(launch: Launcher) -> None:
    host = launch(read_at_once=False)
    writer = flood(host, waits_that_end(900))
    come_to_rest(host)
    host.start_reading()
    writer.join(30)
    assert all(host.response(n)["result"]["download"]["state"] == "canceled" for n in range(900))
    assert peak(host) < LIMIT
    host.close_stdin()
    assert host.wait_exit() in (0, 1)


@pytest.mark.slow
@pytest.mark.usefixtures("state")
def test_too_many_waited_for_are_refused(launch: Launcher) -> None:
    host = launch()
    ids = [f"d{n}" for n in range(100)] + [f"x{n}" for n in range(400)]
    for _ in range(2):
        assert host.error("wait", ids=ids).kind == "downloadNotFound"
    known = ids[:100]
    for _ in range(1_000):
        host.send("wait", {"ids": known})
    error = host.error("wait", id="d1", timeout=120)
    assert (error.kind, error.data["limit"]) in {("limitExceeded", "waits"), ("limitExceeded", "waitedIds")}
