"""Another program truncates, punches holes in or writes to a partial file, while it is open or not."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Behaviour, ScriptedServer
from support import MIB, QUICK_RETRY, Held, finish, poll, sha256
from towline_client import JSON, Towline

KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16


def fallocate(path: Path, mode: int, offset: int, length: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    with path.open("r+b") as file:
        code = libc.fallocate(file.fileno(), mode, ctypes.c_long(offset), ctypes.c_long(length))
    if code != 0:
        pytest.skip(f"the file system cannot: {os.strerror(ctypes.get_errno())}")


def cut(path: Path) -> None:
    os.truncate(path, 1000)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def cut_and_stretch(path: Path) -> None:
    size = path.stat().st_size
    os.truncate(path, size - 5000)
    os.truncate(path, size)


def punch(path: Path) -> None:
    fallocate(path, PUNCH_HOLE | KEEP_SIZE, 64 * 1024, 64 * 1024)


def zero(path: Path) -> None:
    fallocate(path, ZERO_RANGE | KEEP_SIZE, 64 * 1024, 64 * 1024)


def write_over(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(70_000)
        file.write(bytes(5000))


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def with_its_old_times(change: Callable[[Path], None]) -> Callable[[Path], None]:
    """Restores the times afterwards, to hide the change."""

    def changed(path: Path) -> None:
        before = path.stat()
        change(path)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    changed.__name__ = change.__name__ + "_with_its_old_times"
    return changed


CHANGES = [
    *(cut, empty, cut_and_stretch, punch, zero, write_over, append),
    *(with_its_old_times(change) for change in (cut, punch, write_over)),
]
any_change = pytest.mark.parametrize("change", CHANGES, ids=[change.__name__ for change in CHANGES])


def at_rest(partial: Path, size: int) -> None:
    """Waits until the file has this length, and until the clock for file times has moved on."""
    poll(lambda: partial.exists() and partial.stat().st_size == size, what="the bytes in the partial file")
    poll(lambda: time.time() - partial.stat().st_ctime > 0.05)


def is_right(done: JSON, path: Path, data: bytes) -> None:
    assert done["state"] == "completed", done["error"]
    assert path.read_bytes() == data
    assert (done["transfer"]["mode"], done["transfer"]["why"]) == ("restarted", "partialDamaged")
    assert done["attempt"] > 1
    assert done["receivedBytes"] == len(data)
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]


@any_change
@pytest.mark.parametrize("checked", [False, True], ids=["no checksum", "a checksum"])
def test_a_partial_that_is_changed_while_it_is_written_is_fetched_anew(
    host: Towline, server: ScriptedServer, work: Path, change: Callable[[Path], None], checked: bool
) -> None:
    held = Held(server, size=2 * MIB)
    proof = {"checksum": {"algorithm": "sha256", "value": sha256(held.data)}} if checked else {}
    download_id = held.started(host, work / "f", retry=QUICK_RETRY, **proof)["id"]
    at_rest(work / "f.towline", held.after)
    change(work / "f.towline")
    held.release()
    is_right(finish(host, download_id), work / "f", held.data)


@any_change
def test_a_partial_that_is_changed_between_its_last_byte_and_its_end_is_fetched_anew(
    host: Towline, server: ScriptedServer, work: Path, change: Callable[[Path], None]
) -> None:
    """All bytes have arrived; only the end of the body, which determines the length, is missing."""
    held = Held(server, size=MIB, after=MIB)
    held.resource.default = Behaviour(chunked=True, hold_after=MIB, gate=held.gate)
    download_id = held.started(host, work / "f", retry=QUICK_RETRY)["id"]
    at_rest(work / "f.towline", MIB)
    change(work / "f.towline")
    held.release()
    is_right(finish(host, download_id), work / "f", held.data)


def test_a_resumed_partial_that_is_changed_is_fetched_anew(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f", retry=QUICK_RETRY)["id"]
    at_rest(work / "f.towline", held.after)
    host.call("pause", id=download_id)
    server.resources["/held"].default = Behaviour(hold_after=0, gate=held.gate)
    host.call("resume", id=download_id)
    server.wait_requests("/held", 2)
    host.wait_event(lambda e: e["method"] == "changed" and e["params"]["download"]["phase"] == "downloading")
    write_over(work / "f.towline")
    held.release()
    is_right(finish(host, download_id), work / "f", held.data)


def test_a_changed_partial_is_not_taken_for_a_changed_file(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    """The bytes already received are compared with the server's; a difference is not the server's fault."""
    held = Held(server)
    download_id = held.started(host, work / "f", retry=QUICK_RETRY, onChange="fail")["id"]
    at_rest(work / "f.towline", held.after)
    host.call("pause", id=download_id)
    gate = type(held.gate)()
    held.resource.default = Behaviour(hold_head=gate)
    host.call("resume", id=download_id)
    server.wait_requests("/held", 2)
    at_rest(work / "f.towline", held.after)
    with (work / "f.towline").open("r+b") as file:
        file.seek(held.after - 100)
        file.write(bytes(50))
    gate.set()
    is_right(finish(host, download_id), work / "f", held.data)


@pytest.mark.parametrize("change", [punch, cut_and_stretch, with_its_old_times(punch)])
def test_a_hole_made_in_a_pause_is_found_at_the_end(
    host: Towline, server: ScriptedServer, work: Path, change: Callable[[Path], None]
) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f", retry=QUICK_RETRY)["id"]
    at_rest(work / "f.towline", held.after)
    host.call("pause", id=download_id)
    change(work / "f.towline")
    held.release()
    host.call("resume", id=download_id)
    is_right(finish(host, download_id), work / "f", held.data)


def test_a_partial_that_is_cut_again_and_again_is_given_up(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    tries = 2
    retry: dict[str, Any] = {"maxAttempts": tries, "initialDelayMs": 10, "maxDelayMs": 10}
    gates = [held.gate, *(type(held.gate)() for _ in range(tries))]
    held.resource.then(*(Behaviour(hold_after=held.after, gate=gate) for gate in gates))
    download_id = host.call("start", url=held.url, path=str(work / "f"), retry=retry)["download"]["id"]
    for number, gate in enumerate(gates):
        server.wait_requests("/held", number + 1)
        at_rest(work / "f.towline", held.after)
        cut(work / "f.towline")
        gate.set()
    done = finish(host, download_id)
    assert (done["state"], done["error"]["kind"]) == ("failed", "partialReplaced")
    assert "another program changed it" in done["error"]["message"]
    assert done["error"]["retryable"] is True
    assert done["receivedBytes"] == 0
    assert len(server.requests("/held")) == tries + 1
    host.call("resume", id=download_id)
    assert finish(host, download_id)["state"] == "completed"
    assert (work / "f").read_bytes() == held.data


def test_a_partial_that_is_only_read_goes_on(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server, after=300_000)
    download_id = held.started(host, work / "f")["id"]
    at_rest(work / "f.towline", held.after)
    assert (work / "f.towline").read_bytes() == held.data[: held.after]
    held.release()
    done = finish(host, download_id)
    assert (done["state"], done["attempt"], done["transfer"]["mode"]) == ("completed", 1, "fresh")
    assert (work / "f").read_bytes() == held.data
