"""Values that `start` would refuse, in resume data or in stored state: numbers and texts beyond limits."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer
from stored_records import store
from support import MIB, Held, fetch, finish, forged

HUGE = (1 << 63) - 1
DAY = 86_400_000
TIMES = ("connectTimeoutMs", "stallTimeoutMs", "retryInitialDelayMs", "retryMaxDelayMs")
OPTIONS = [
    *((name, value) for name in TIMES for value in (HUGE, DAY + 1, 0, -1, -HUGE - 1, 1 << 70)),
    *(("retryMaxAttempts", value) for value in (HUGE, 1_000_001, -1)),
    *(("maxFileBytes", value) for value in (HUGE, 1 << 53, -1)),
    ("userAgent", "x" * 1_025),
    ("userAgent", "a\rX-Forged: 1"),
    ("retryInitialDelayMs", "1e3"),
]
FIELDS = [
    *(("total", str(value)) for value in (HUGE, 1 << 53, -1, 1 << 70, "", "1.5")),
    *(
        (name, value)
        for name in ("durable", "written")
        for value in (f"0-{HUGE}", "0-4194305", "5-1", "-5-1", f"0-{1 << 70}", "0-1,x", "0-1-2")
    ),
    *((name, value) for name in ("birth", "mount") for value in (str(1 << 63), "x")),
    *((name, value) for name in ("device", "inode") for value in (str(1 << 64), "-1", "")),
    *(("checksum", value) for value in ("sha256:" + "z" * 64, "sha256:ab", "crc:00", "")),
    *((name, "a\r\nX-Forged: 1") for name in ("etag", "lastModified", "date", "type", "encoding")),
    ("etag", '"' + "x" * 1_030 + '"'),
    ("url", "http://127.0.0.1/" + "x" * 8_192),
    *(("path", value) for value in ("relative", "/" + "x" * 4_097, "/a\0b")),
    *(("partial", value) for value in ("relative.towline", "/etc/passwd", "/" + "x" * 4_097 + ".towline")),
]


@pytest.fixture
def text(launch: Launcher, server: ScriptedServer, work: Path) -> str:
    host = launch()
    held = Held(server)
    held.started(host, work / "f", id="d")
    host.call("pause", id="d")
    held.release()
    return str(host.call("export", id="d")["resumeData"])


def test_what_no_start_takes_no_resume_data_brings(launch: Launcher, text: str, work: Path) -> None:
    host = launch(state=work / "b")
    values = [("options", f"{name}={value}", name) for name, value in OPTIONS]
    values += [(name, value, name) for name, value in FIELDS]
    before = (work / "f.towline").stat()
    for name, value, named in values:
        error = host.error("start", id="x", resumeData=forged(text, **{name: value}), path=str(work / "g"))
        assert (error.code, error.data["path"]) == (-32602, "params.resumeData"), (name, value)
        assert named in error.message or name in ("device", "birth"), (named, error.message)
    assert host.call("ping") == {}
    assert host.call("list")["downloads"] == []
    assert (work / "f.towline").stat() == before


#: by column: values that the service never writes
STORED: list[tuple[str, Any]] = [
    *(("options", f"{name}={value}") for name in TIMES for value in (HUGE, DAY + 1, 0, -5, 1 << 70)),
    *(("options", f"retryMaxAttempts={value}") for value in (HUGE, -1)),
    ("options", f"maxFileBytes={HUGE}"),
    ("options", "userAgent=a\rX-Forged: 1"),
    ("options", "x" * 100_000),
    ("headers", "Range: bytes=0-1\nX Y: z\nX-Fine: 1"),
    ("headers", "X: " + "x" * 100_000),
    ("url", "http://127.0.0.1/" + "x" * 100_000),
    ("metadata", '{"a":"' + "x" * 100_000 + '"}'),
    ("metadata", "no JSON"),
    ("finalURL", "http://h/" + "x" * 100_000),
    ("suggestedFileName", "../../evil"),
    *((name, value) for name in ("attempt", "failureCount") for value in (HUGE, -HUGE - 1)),
    *((name, value) for name in ("transferredByteCount", "wastedByteCount") for value in (HUGE, -HUGE - 1)),
    *(
        (name, value)
        for name in ("createdAt", "updatedAt", "completedAt", "retryAt")
        for value in (HUGE, -HUGE - 1)
    ),
    *(("priority", value) for value in (HUGE, -HUGE - 1)),
    *(("entityByteCount", value) for value in (HUGE, 1 << 53, -1, -HUGE - 1, 10)),
    *(("durable", value) for value in (f"0-{HUGE}", f"5-{HUGE - 1}", "0-4194305", f"0-1,3-{HUGE}")),
    *(("transferOffset", value) for value in (HUGE, -1)),
    *((name, value) for name in ("finishedByteCount",) for value in (HUGE, -1)),
    *(("slot", value) for value in (HUGE, -1)),
    *(("owner", value) for value in (HUGE, -1)),
    ("entityETag", "a\r\nX-Forged: 1"),
    ("partialInode", -1),
]


def test_a_stored_record_that_breaks_a_limit_is_mended_or_fails_alone(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    """Every record has half of its bytes and a different damaged value."""
    host = launch()
    host.call("configure", maxActive=200, maxActivePerHost=200)
    held = Held(server)
    # One real download, whose columns the damaged records copy; the others are as requested.
    held.started(host, work / "real", id="real")
    host.call("pause", id="real")
    held.release()
    server.add("/file", b"x" * MIB)
    ids = [f"d{n}" for n in range(len(STORED))]
    for download_id in [*ids, "good"]:
        host.call(
            "start", id=download_id, url=server.url("/file"), path=str(work / download_id), startPaused=True
        )
    host.call("shutdown")
    host.notify("exit")
    host.wait_exit()
    entity = {"entityFlags": 2, "entityByteCount": 4 * MIB, "entityETag": '"v1"', "transferMode": "fresh"}
    entity |= {"transferOffset": 0, "partialDevice": 1, "partialInode": 2, "durable": "0-1048576"}
    for download_id, (column, value) in zip(ids, STORED, strict=True):
        store(launch.state, download_id, **({**entity, column: value}))
    second = launch()
    listed = second.call("list", limit=100)
    assert {d["id"] for d in listed["downloads"]} | {"good"} >= {"d0"}
    second.call("configure", maxActive=200, maxActivePerHost=200)
    for download_id in [*ids, "real", "good"]:
        second.call("inspect", id=download_id)
        second.call("export", id=download_id)
    assert second.call("resume", all=True)["errors"] == []
    assert finish(second, "good")["state"] == "completed"
    assert finish(second, "real")["state"] == "completed"
    second.call("wait", ids=ids, until="settled")
    second.call("cancel", all=True)
    for download_id, harm in zip(ids, STORED, strict=True):
        state = second.call("get", id=download_id)["download"]["state"]
        assert state in ("completed", "canceled", "failed"), (harm, state)
    assert "evil" not in "".join(p.name for p in work.parent.iterdir())
    for request in server.requests("/file"):
        assert "x-forged" not in {name.lower() for name in request.headers}


#: How a process takes over unfinished downloads of others: arguments, a request.
DOORS: dict[str, tuple[list[str], str, dict[str, Any]]] = {
    "resume all": ([], "resume", {"all": True}),
    "cancel all": ([], "cancel", {"all": True}),
    "on start": (["--resume-on-start"], "ping", {}),
    "initialize": ([], "initialize", {"processId": None, "resumeInterrupted": True}),
}
COMMANDS: list[tuple[str, dict[str, Any]]] = [
    ("pause", {}),
    ("update", {"priority": 3}),
    ("cancel", {}),
    ("resume", {}),
    ("cancel", {}),
    ("remove", {}),
]


@pytest.mark.parametrize("stored", ["paused", "active", "waiting"])
@pytest.mark.parametrize("door", DOORS)
def test_every_command_is_answered_for_a_record_that_fails_alone(
    launch: Launcher, server: ScriptedServer, work: Path, door: str, stored: str
) -> None:
    """A stored unfinished record is read as failed; no process takes it over to continue it."""
    server.add("/file", b"x" * MIB)
    host = launch()
    for name in ("bad", "good"):
        host.call("start", id=name, url=server.url("/file"), path=str(work / name), startPaused=True)
    host.call("shutdown")
    host.notify("exit")
    host.wait_exit()
    reason = "interrupted" if stored == "paused" else None
    url = "http://127.0.0.1/" + "x" * 10_000
    store(launch.state, "bad", url=url, state=stored, reason=reason, intent="run")
    args, method, params = DOORS[door]
    second = launch(*args)
    second.call(method, **params)
    assert second.call("get", id="bad")["download"]["state"] == "failed"
    for command, more in COMMANDS:
        second.response(second.send(command, {"id": "bad", **more}))
    assert {d["id"] for d in second.call("list")["downloads"]} == {"good"}
    second.call("start", id="new", url=server.url("/file"), path=str(work / "new"))
    assert finish(second, "new")["state"] == "completed"
    second.call("shutdown")
    second.notify("exit")
    assert second.wait_exit() == 0


#: Columns that may hold a value longer than any that the service writes, by the state that results.
TOO_BIG = {
    "completed": [
        "written",
        "durable",
        "trail",
        "errorMessage",
        "entityETag",
        "finalURL",
        "keptPaths",
        "partialInode",
    ],
    "failed": ["options", "headers", "metadata", "url", "path", "destinationKey", "checksum", "priority"],
    "unknown": ["id", "state", "owner", "intent", "attempt", "reason", "createdAt"],
}


@pytest.mark.parametrize("kind", ["text", "blob"])
@pytest.mark.parametrize("end", TOO_BIG)
def test_a_stored_value_beyond_any_size_harms_its_own_record_alone(
    launch: Launcher, server: ScriptedServer, work: Path, end: str, kind: str
) -> None:
    server.add("/file", b"x" * MIB)
    columns = TOO_BIG[end]
    host = launch()
    for name in ("good", *columns, "other"):
        host.call("start", id=name, url=server.url("/file"), path=str(work / name), startPaused=True)
    host.call("shutdown")
    host.notify("exit")
    host.wait_exit()
    with closing(sqlite3.connect(launch.state / "towline.db")) as database:
        for number, column in enumerate(columns):
            value = f"CAST(zeroblob({9_000_000 + number}) AS {kind})"
            database.execute(f"UPDATE download SET {column}={value} WHERE id=?", (column,))
        database.commit()
    second = launch()
    good = {"good", "other"}
    assert good <= {d["id"] for d in second.call("list")["downloads"]}
    assert good <= {d["id"] for d in second.call("list", states=["paused"])["downloads"]}
    if end != "unknown":
        assert {*good, *columns} == {d["id"] for d in second.call("list", changedSince=0)["downloads"]}
    second.call("resume", all=True)
    for name in good:
        assert finish(second, name)["state"] == "completed"
    if end != "unknown":
        for name in columns:
            assert finish(second, name)["state"] == end, name
            assert (work / name).exists() == (end == "completed"), name
    for name in columns:
        for command, more in COMMANDS:
            second.response(second.send(command, {"id": name, **more}))
    assert fetch(second, server.url("/file"), work / "new", id="new")["state"] == "completed"
    assert second.call("shutdown") is None
    second.notify("exit")
    assert second.wait_exit() == 0
    # Remaining damage has now been set aside or repaired.
    third = launch()
    assert {*good, "new"} <= {d["id"] for d in third.call("list")["downloads"]}
    assert third.call("resume", all=True)["errors"] == []
