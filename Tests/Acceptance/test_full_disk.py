"""Full disks: downloads to one stop, wait, and continue by themselves when there is space."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, Held, finish, poll, resume_start
from towline_client import JSON, Towline


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=0777", "tmpfs", str(disk)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def parked(host: Towline, download_id: str) -> JSON:
    """The first event that reports that the download waits for disk space."""
    event = host.wait_event(
        lambda event: (
            event["method"] == "changed"
            and event["params"]["download"]["id"] == download_id
            and event["params"]["download"]["reason"] == "diskFull"
        )
    )
    return event["params"]["download"]


def test_a_full_disk_stops_what_goes_there_and_nothing_else(
    launch: Launcher, server: ScriptedServer, disk: Path, work: Path
) -> None:
    held = Held(server, size=2 * MIB, after=MIB)
    growing = content(3, 2 * MIB)
    server.add("/growing", growing).default = Behaviour(chunked=True)
    (disk / "hog").write_bytes(bytes(5 * MIB))
    host = launch()
    host.call("configure", maxActive=2)
    held.started(host, disk / "held", id="held")
    host.call("start", url=server.url("/growing"), path=str(disk / "growing"), id="growing")
    host.call("start", url=server.url("/growing"), path=str(disk / "queued"), id="queued")
    host.call("start", url=server.url("/growing"), path=str(work / "elsewhere"), id="elsewhere")

    for download_id in ("held", "growing", "queued"):
        waiting = parked(host, download_id)
        assert waiting["state"] == "waiting"
        assert waiting["error"]["kind"] == "diskFull"
        assert waiting["retryAt"] is not None
    assert finish(host, "elsewhere")["state"] == "completed"
    settled = host.call("wait", ids=["held", "growing", "queued"], until="settled")
    assert not settled["timedOut"]
    assert host.call("get", id="held")["download"]["receivedBytes"] == MIB

    held.release()
    (disk / "hog").unlink()
    for download_id in ("held", "growing", "queued"):
        assert finish(host, download_id)["state"] == "completed"
    assert (disk / "held").read_bytes() == held.data
    assert (disk / "growing").read_bytes() == (disk / "queued").read_bytes() == growing
    assert [request.range_start for request in server.requests("/held")] == [0, resume_start(MIB)]


def test_a_download_too_large_for_the_disk_waits_alone(
    launch: Launcher, server: ScriptedServer, disk: Path
) -> None:
    server.add("/large", content(1, 6 * MIB))
    server.add("/small", content(2, MIB))
    (disk / "hog").write_bytes(bytes(4 * MIB))
    host = launch()
    host.call("start", url=server.url("/large"), path=str(disk / "large"), id="large")
    assert parked(host, "large")["receivedBytes"] == 0
    assert list(disk.glob("large*")) == []
    host.call("start", url=server.url("/small"), path=str(disk / "small"), id="small")
    assert finish(host, "small")["state"] == "completed"
    assert host.call("get", id="large")["download"]["reason"] == "diskFull"
    (disk / "hog").unlink()
    assert finish(host, "large")["state"] == "completed"


def test_a_wait_for_room_survives_a_kill(launch: Launcher, server: ScriptedServer, disk: Path) -> None:
    data = content(5, 2 * MIB)
    server.add("/f", data).default = Behaviour(no_length=True)
    (disk / "hog").write_bytes(bytes(7 * MIB))
    first = launch()
    first.call("start", url=server.url("/f"), path=str(disk / "f"), id="f")
    parked(first, "f")
    first.kill()
    (disk / "hog").unlink()
    second = launch("--resume-on-start")
    second.call("ping")
    assert finish(second, "f")["state"] == "completed"
    assert (disk / "f").read_bytes() == data
    assert sorted(path.name for path in disk.iterdir()) == ["f"]


def test_a_quota_that_no_look_sees_is_tried_again(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is missing")
    data = content(6, 2 * MIB)
    server.add("/f", data)
    # The first two reservations of disk space fail with EDQUOT.
    inject = "inject=fallocate:error=EDQUOT:when=1..2"
    host = launch(prefix=("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fallocate", "-e", inject))
    host.call("start", url=server.url("/f"), path=str(work / "f"), id="f")
    waiting = parked(host, "f")
    assert waiting["error"]["errno"] == 122
    assert finish(host, "f")["state"] == "completed"
    assert (work / "f").read_bytes() == data
    reasons = [change["reason"] for change in host.changed("f")]
    assert reasons.count("diskFull") == 2


def test_a_state_on_a_full_disk_loses_nothing_that_was_acknowledged(
    launch: Launcher, server: ScriptedServer, disk: Path, work: Path
) -> None:
    held = Held(server, size=2 * MIB, after=MIB)
    host = launch(state=disk / "state")
    held.started(host, work / "held", id="held")
    metadata = {"text": "x" * 4_000}
    (disk / "hog").write_bytes(bytes(7 * MIB))
    acknowledged = []
    refusal = None
    for number in range(1_000):
        request = host.send(
            "start",
            {"url": held.url, "path": str(work / str(number)), "id": f"n{number}", "startPaused": True}
            | {"metadata": metadata},
        )
        response = host.response(request)
        if "error" in response:
            refusal = response["error"]
            break
        acknowledged.append(f"n{number}")
    assert refusal is not None, "1,000 records went to a full disk"
    assert (refusal["code"], refusal["data"]["kind"]) == (1009, "storageFailure")
    assert acknowledged
    # The active download and the process continue.
    held.release()
    poll(
        lambda: (work / "held").exists() or (work / "held.towline").stat().st_size == 2 * MIB,
        what="the bytes",
    )
    host.kill()
    (disk / "hog").unlink()
    second = launch(state=disk / "state")
    known = {}
    cursor = None
    while True:
        page = second.call("list", limit=100, **({"cursor": cursor} if cursor else {}))
        known |= {download["id"]: download for download in page["downloads"]}
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert set(acknowledged) <= set(known)
    assert all(known[download_id]["metadata"] == metadata for download_id in acknowledged)
    second.call("resume", id="held")
    assert finish(second, "held")["state"] == "completed"
    assert (work / "held").read_bytes() == held.data
