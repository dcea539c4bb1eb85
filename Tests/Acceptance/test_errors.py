"""Every error code of the protocol, caused by what a real host could do."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer
from support import MIB, Held, fetch, line
from towline_client import JSON, RPCError, Towline


def test_parse_error(host: Towline) -> None:
    host.raw_line("{nope")
    assert host.response(None)["error"]["code"] == -32700


def test_invalid_request(host: Towline) -> None:
    host.raw_line("7")
    assert host.response(None)["error"]["code"] == -32600


@pytest.mark.parametrize("method", ["", "nope", "Start", "rpc.nope", "download/start", "constructor"])
def test_method_not_found(host: Towline, method: str) -> None:
    assert host.error(method).code == -32601


def test_invalid_params(host: Towline) -> None:
    assert host.error("get").code == -32602


def test_request_cancelled(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    download = held.started(host, work / "f")
    request = host.send("wait", {"id": download["id"]})
    host.notify("$/cancelRequest", id=request)
    with pytest.raises(RPCError) as caught:
        host.answer(request)
    assert caught.value.code == -32800
    assert host.call("get", id=download["id"])["download"]["state"] == "active"


@pytest.mark.parametrize("method", ["get", "pause", "resume", "cancel", "remove", "wait", "inspect"])
def test_1001_download_not_found(host: Towline, method: str) -> None:
    error = host.error(method, id="nobody")
    assert (error.code, error.kind, error.data["retryable"]) == (1001, "downloadNotFound", False)
    assert error.names("nobody")


def test_1002_invalid_state(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    done = fetch(host, server.url("/f"), work / "f")
    error = host.error("pause", id=done["id"])
    assert (error.code, error.kind) == (1002, "invalidState")


def test_1003_destination_conflict_names_the_download_that_holds_it(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    holder = held.started(host, work / "f", id="holder")
    error = host.error("start", url=server.url("/other"), path=str(work / "f"))
    assert (error.code, error.kind) == (1003, "destinationConflict")
    assert error.names(holder["id"])


def test_1004_id_conflict_tells_what_differs(host: Towline, server: ScriptedServer, work: Path) -> None:
    host.call("start", url=server.url("/a"), path=str(work / "a"), id="one", startPaused=True)
    error = host.error("start", url=server.url("/b"), path=str(work / "a"), id="one", startPaused=True)
    assert (error.code, error.kind) == (1004, "idConflict")
    assert "url" in error.data["differs"]
    assert len(error.data["differs"]) == 1


def test_1005_unsupported_url(host: Towline) -> None:
    error = host.error("start", url="ftp://127.0.0.1/f", path="f")
    assert (error.code, error.kind, error.data["retryable"]) == (1005, "unsupportedUrl", False)


def test_1006_limit_exceeded(host: Towline) -> None:
    """The protocol leaves open which limits answer 1006 or -32602; a host must be able to reach one 1006."""
    excesses = [
        ("start", {"url": "http://127.0.0.1/" + "x" * 9_000, "path": "f"}),
        ("pause", {"ids": [f"a{n}" for n in range(501)]}),
        *[("subscribe", {})] * 2_000,
    ]
    for method, params in excesses:
        try:
            host.call(method, **params)
        except RPCError as error:
            if error.code == 1006:
                assert error.kind == "limitExceeded"  # noqa: PT017
                return
    raise AssertionError("no limit answered 1006")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    disk = tmp_path / "small"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0777", "tmpfs", str(disk)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_is_told_and_nothing_is_damaged(
    launch: Launcher, server: ScriptedServer, small_disk: Path
) -> None:
    server.add("/f", bytes(4 * MIB))
    host = launch()
    host.call("start", url=server.url("/f"), path=str(small_disk / "f"), id="a", retry={"maxAttempts": 0})
    settled = host.call("wait", id="a", until="settled")["download"]
    assert (settled["state"], settled["reason"]) in (("waiting", "diskFull"), ("failed", None)), settled
    if settled["state"] == "failed":
        assert settled["error"]["kind"] == "diskFull"
    assert not (small_disk / "f").exists()
    assert host.call("ping") == {}


def test_1008_permission_denied(launch: Launcher, server: ScriptedServer) -> None:
    host, folder = unprivileged(launch)
    server.add("/f", b"x")
    error = host.error("start", url=server.url("/f"), path=str(folder / "f"))
    assert (error.code, error.kind) == (1008, "permissionDenied")
    assert error.names(str(folder))


def unprivileged(launch: Launcher) -> tuple[Towline, Path]:
    """A process that is not root, and a directory that it may not write to."""
    locked = launch.home / "locked"
    locked.mkdir(mode=0o755)
    if os.geteuid() != 0:
        locked.chmod(0o555)
        return launch(), locked
    open_to_nobody(launch)
    return launch(prefix=NOBODY), locked


NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def open_to_nobody(launch: Launcher) -> None:
    """Lets user `nobody` reach the folders of this test; skips if it cannot run the binary."""
    launch.state.mkdir(exist_ok=True)
    for folder in (launch.state, launch.work, launch.home):
        os.chown(folder, 65534, 65534)
    for parent in [launch.home, *launch.home.parents]:
        if parent.stat().st_mode & 0o005 != 0o005 and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    probe = subprocess.run([*NOBODY, str(launch.binary), "--version"], capture_output=True, text=True)
    if probe.returncode != 0:
        pytest.skip(f"nobody cannot run {launch.binary}: {probe.stderr.strip()}")


def fill(path: Path) -> None:
    """Writes until the disk is full."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while True:
            os.write(descriptor, bytes(4096))
    os.close(descriptor)


def test_1009_storage_failure(launch: Launcher, server: ScriptedServer, small_disk: Path) -> None:
    host = launch(state=small_disk / "state")
    assert host.call("list")["downloads"] == []
    fill(small_disk / "filler")
    metadata = {"text": "x" * 4000}
    errors = []
    for number in range(200):
        try:
            host.call("start", url=server.url("/f"), path=f"f{number}", startPaused=True, metadata=metadata)
        except RPCError as error:
            errors.append(error)
            break
    assert errors, "200 records went to a full disk"
    assert (errors[0].code, errors[0].kind) == (1009, "storageFailure")
    assert host.call("ping") == {}


def test_1010_locked_elsewhere(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    owner, other = launch(), launch()
    download = held.started(owner, work / "f")
    for method in ("pause", "resume", "cancel"):
        error = other.error(method, id=download["id"])
        assert (error.code, error.kind, error.data["retryable"]) == (1010, "lockedElsewhere", True), method


@pytest.mark.parametrize(
    "other",
    [
        {"states": ["completed"]},
        {"states": []},
        {"ids": ["d0"]},
        {"changedSince": 0},
        {"states": ["paused", "failed"]},
    ],
)
def test_1011_the_cursor_of_another_list(host: Towline, other: JSON) -> None:
    for number in range(3):
        host.call("start", url="http://127.0.0.1:1/f", path=f"f{number}", id=f"d{number}", startPaused=True)
    for first, second in (({}, other), ({"states": ["paused"]}, {**other, "states": ["queued"]})):
        cursor = host.call("list", limit=1, **first)["nextCursor"]
        error = host.error("list", limit=1, cursor=cursor, **second)
        assert (error.code, error.kind, error.data["retryable"]) == (1011, "cursorExpired", False)
        assert error.data["path"] == "params.cursor"
        assert "without it" in error.message
        # The hint in the message works.
        host.call("list", limit=1, **second)
        # The page size and the requested fields may change.
        assert host.call("list", limit=2, cursor=cursor, fields=["state"], **first)["downloads"]


def test_1011_a_revision_of_another_database(host: Towline) -> None:
    error = host.error("list", changedSince=999_999)
    assert (error.code, error.kind, error.data["path"]) == (1011, "cursorExpired", "params.changedSince")
    assert "without it" in error.message


@pytest.mark.parametrize("cursor", ["bm8gc3VjaCBjdXJzb3I", "1.2", "-1.0.0", "0.0.0.0"])
def test_what_is_no_cursor_is_a_wrong_parameter(host: Towline, cursor: str) -> None:
    error = host.error("list", cursor=cursor)
    assert (error.code, error.data["path"]) == (-32602, "params.cursor")


def test_1012_shutting_down(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    download = held.started(host, work / "f")
    request = host.send("wait", {"id": download["id"]})
    host.call("ping")
    host.signal(signal.SIGTERM)
    with pytest.raises(RPCError) as caught:
        host.answer(request)
    assert (caught.value.code, caught.value.kind) == (1012, "shuttingDown")
    assert host.wait_exit() == 143


def test_the_message_of_an_error_is_one_sentence_without_secrets(launch: Launcher) -> None:
    secret = "http://user:hunter2@127.0.0.1:1/f?token=hunter2"
    process, _ = launch.pipe(
        line("start", 1, url=secret, path="/nonexistent/dir/f"),
        line("start", 2, url=secret, path="f", headers={"Authorization": "hunter2"}, nope=1),
    )
    for request in (1, 2):
        error = process.response(request)["error"]
        assert "\n" not in error["message"]
        assert "hunter2" not in str(error)
    assert "hunter2" not in process.stderr
