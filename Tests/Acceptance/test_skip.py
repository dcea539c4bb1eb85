"""`ifExists: skip`: an existing file is kept only if it is the right one."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, NO_RETRY, QUICK_RETRY, Held, fetch, finish, poll, sha256
from towline_client import JSON, Towline

DATA = content(5, 300_000)
DATE = "Mon, 06 Jan 2020 10:00:00 GMT"
DATE_NS = int(parsedate_to_datetime(DATE).timestamp()) * 1_000_000_000
CONDITIONAL = Behaviour(conditional=True)


@pytest.fixture(params=["a path", "a directory"])
def where(request: pytest.FixtureRequest, work: Path) -> JSON:
    """The destination, as a path or as a directory."""
    return {"path": str(work / "f")} if request.param == "a path" else {"directory": str(work)}


def skip(host: Towline, server: ScriptedServer, where: JSON, **params: Any) -> JSON:
    """Downloads `/f` unless it is already there."""
    started = host.call("start", url=server.url("/f"), ifExists="skip", retry=QUICK_RETRY, **where, **params)
    return finish(host, started["download"]["id"])


def put(work: Path, data: bytes, modified_ns: int | None = None) -> Path:
    path = work / "f"
    path.write_bytes(data)
    if modified_ns is not None:
        os.utime(path, ns=(modified_ns, modified_ns))
    return path


def is_kept(done: JSON, path: Path, why: str, inode: int) -> None:
    assert done["state"] == "completed", done["error"]
    assert (done["transfer"]["mode"], done["transfer"]["why"]) == ("unchanged", why)
    assert path.stat().st_ino == inode
    assert done["receivedBytes"] == done["totalBytes"] == path.stat().st_size
    assert done["lengthVerified"] is True
    assert os.listdir(path.parent) == [path.name]


def is_fetched(done: JSON, path: Path, data: bytes, inode: int) -> None:
    assert done["state"] == "completed", done["error"]
    assert done["transfer"]["mode"] != "unchanged"
    assert path.read_bytes() == data
    assert path.stat().st_ino != inode
    assert os.listdir(path.parent) == [path.name]


def checksum(data: bytes, algorithm: str = "sha256") -> JSON:
    return {"checksum": {"algorithm": algorithm, "value": hashlib.new(algorithm, data).hexdigest()}}


# By checksum


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256", "sha512"])
def test_a_file_with_the_digest_is_kept_and_nobody_asked(
    host: Towline, server: ScriptedServer, work: Path, algorithm: str
) -> None:
    path = put(work, DATA)
    done = skip(host, server, {"path": str(path)}, **checksum(DATA, algorithm))
    is_kept(done, path, "checksum", path.stat().st_ino)
    assert server.requests() == []


def test_a_file_with_the_digest_is_kept_where_the_server_names_it(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", DATA)
    path = put(work, DATA)
    is_kept(
        skip(host, server, {"directory": str(work)}, **checksum(DATA)), path, "checksum", path.stat().st_ino
    )


@pytest.mark.parametrize(
    "there", [b"", b"12345", DATA[:-1], DATA[:-1] + b"?"], ids=["empty", "stub", "cut", "same size"]
)
def test_a_file_with_another_digest_is_replaced(
    host: Towline, server: ScriptedServer, work: Path, where: JSON, there: bytes
) -> None:
    server.add("/f", DATA, last_modified=DATE, default=CONDITIONAL)
    path = put(work, there, DATE_NS)
    inode = path.stat().st_ino
    is_fetched(skip(host, server, where, **checksum(DATA)), path, DATA, inode)


def test_a_stub_is_not_completed_for_a_checksum_that_nothing_has(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", DATA)
    path = put(work, b"12345")
    zeros = {"checksum": {"algorithm": "md5", "value": "0" * 32}}
    done = skip(host, server, {"path": str(path)}, **zeros)
    assert (done["state"], done["error"]["kind"]) == ("failed", "checksumMismatch")
    assert path.read_bytes() == b"12345"


# By record


@pytest.mark.parametrize(
    ("answer", "why"), [(CONDITIONAL, "notModified"), (Behaviour(), "record")], ids=["304", "no conditions"]
)
@pytest.mark.parametrize(("etag", "date"), [('"v1"', None), (None, DATE), ('"v1"', DATE), ('W/"v1"', None)])
def test_a_file_that_was_downloaded_from_there_is_kept_while_the_server_has_it(
    launch: Launcher,
    server: ScriptedServer,
    work: Path,
    where: JSON,
    answer: Behaviour,
    why: str,
    etag: str | None,
    date: str | None,
) -> None:
    resource = server.add("/f", DATA, etag=etag, last_modified=date)
    first = launch()
    assert skip(first, server, where)["transfer"]["mode"] == "fresh"
    first.finish()
    resource.default = answer
    inode = (work / "f").stat().st_ino
    is_kept(skip(launch(), server, where), work / "f", why, inode)
    asked = server.requests("/f")[-1]
    assert asked.headers.get("if-none-match") == etag
    assert date is None or asked.headers["if-modified-since"] == date


def test_a_file_that_was_downloaded_from_there_is_replaced_once_the_server_has_another(
    host: Towline, server: ScriptedServer, work: Path, where: JSON
) -> None:
    resource = server.add("/f", DATA, default=CONDITIONAL)
    skip(host, server, where)
    inode = (work / "f").stat().st_ino
    resource.data, resource.etag = content(6, len(DATA)), '"v2"'
    is_fetched(skip(host, server, where), work / "f", resource.data, inode)


@pytest.mark.parametrize("how", ["in place", "another inode"])
def test_a_record_says_nothing_of_a_file_that_was_changed_since(
    host: Towline, server: ScriptedServer, work: Path, how: str
) -> None:
    server.add("/f", DATA, default=CONDITIONAL)
    path = work / "f"
    fetch(host, server.url("/f"), path)
    before = path.stat()
    if how == "in place":
        with path.open("r+b") as file:
            file.write(b"changed")
        poll(lambda: (os.utime(path), path.stat().st_mtime_ns != before.st_mtime_ns)[1])
    else:
        other = work / "other"
        other.write_bytes(b"changed" + DATA[7:])
        os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
        other.rename(path)
    inode = path.stat().st_ino
    is_fetched(skip(host, server, {"path": str(path)}), path, DATA, inode)
    assert "if-none-match" not in server.requests("/f")[1].headers


def test_a_record_of_another_url_says_nothing(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/other", content(6, len(DATA)))
    server.add("/f", DATA, default=CONDITIONAL)
    fetch(host, server.url("/other"), work / "f")
    inode = (work / "f").stat().st_ino
    is_fetched(skip(host, server, {"path": str(work / "f")}), work / "f", DATA, inode)


# By conditional request


@pytest.mark.parametrize("age_s", [0, 100_000], ids=["the server's time", "later"])
def test_a_file_of_that_length_that_the_server_has_not_changed_since_is_kept(
    host: Towline, server: ScriptedServer, work: Path, where: JSON, age_s: int
) -> None:
    server.add("/f", DATA, last_modified=DATE, default=CONDITIONAL)
    path = put(work, DATA, DATE_NS + age_s * 1_000_000_000)
    is_kept(skip(host, server, where), path, "notModified", path.stat().st_ino)
    assert parsedate_to_datetime(server.requests("/f")[-2].headers["if-modified-since"])


@pytest.mark.parametrize(
    "there", [b"", b"12345", DATA[:-1], DATA + b"?"], ids=["empty", "stub", "cut", "longer"]
)
@pytest.mark.parametrize("modified_ns", [DATE_NS, None], ids=["the server's time", "now"])
def test_a_304_for_its_time_is_not_believed_of_a_file_of_another_length(
    host: Towline, server: ScriptedServer, work: Path, where: JSON, there: bytes, modified_ns: int | None
) -> None:
    server.add("/f", DATA, last_modified=DATE, default=CONDITIONAL)
    path = put(work, there, modified_ns)
    inode = path.stat().st_ino
    is_fetched(skip(host, server, where), path, DATA, inode)


def test_a_304_that_names_the_length_is_enough(host: Towline, server: ScriptedServer, work: Path) -> None:
    path = put(work, DATA)
    length = [("Content-Length", str(len(DATA)))]
    server.add("/f", DATA).then(Behaviour(status=304, headers=length))
    is_kept(skip(host, server, {"path": str(path)}), path, "notModified", path.stat().st_ino)
    assert len(server.requests("/f")) == 1


NOT_MODIFIED = Behaviour(status=304)


def said(status: int, *fields: tuple[str, str]) -> Behaviour:
    return Behaviour(status=status, headers=fields)


def naming(where: JSON) -> list[Behaviour]:
    """Answers that come first: with a directory, the service asks for the name first."""
    return [] if "path" in where else [Behaviour()]


@pytest.mark.parametrize(
    "second",
    [said(304), said(304, ("Content-Length", "299999")), said(304, ("Content-Length", "0"))],
    ids=["no length", "another length", "length 0"],
)
@pytest.mark.parametrize("there", [b"12345", b"", DATA], ids=["stub", "empty", "whole"])
def test_a_304_that_no_condition_asked_for_completes_nothing(
    host: Towline, server: ScriptedServer, work: Path, where: JSON, there: bytes, second: Behaviour
) -> None:
    path = put(work, there)
    resource = server.add("/f", DATA).then(*naming(where), NOT_MODIFIED)
    resource.default = second
    done = skip(host, server, where)
    assert (done["state"], done["error"] and done["error"]["httpStatus"]) == ("failed", 304)
    assert done["error"]["kind"] == "httpStatus"
    assert path.read_bytes() == there
    assert os.listdir(work) == ["f"]
    assert "if-modified-since" not in server.requests("/f")[-1].headers


def test_a_304_that_no_condition_asked_for_may_name_the_length(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    path = put(work, DATA)
    length = ("Content-Length", str(len(DATA)))
    server.add("/f", DATA).then(NOT_MODIFIED).default = said(304, length)
    is_kept(skip(host, server, {"path": str(path)}), path, "notModified", path.stat().st_ino)


@pytest.mark.parametrize("there", [b"12345", content(6, len(DATA))], ids=["stub", "same length"])
def test_a_file_older_than_the_one_that_a_304_was_for_is_replaced(
    host: Towline, server: ScriptedServer, work: Path, there: bytes
) -> None:
    server.add("/f", DATA, last_modified=DATE).then(NOT_MODIFIED)
    path = put(work, there, DATE_NS - 1_000_000_000)
    inode = path.stat().st_ino
    is_fetched(skip(host, server, {"path": str(path)}), path, DATA, inode)


V1, V2 = ("ETag", '"v1"'), ("ETag", '"v2"')


@pytest.mark.parametrize(
    ("etag", "first", "second"),
    [
        ('"v1"', V2, V2),
        ('"v1"', V2, ("ETag", 'W/"v2"')),
        ('W/"v1"', ("ETag", 'W/"v2"'), ("ETag", 'W/"v2"')),
        ('"v1"', ("Content-Length", "300001"), V2),
        (
            None,
            ("Last-Modified", "Tue, 07 Jan 2020 10:00:00 GMT"),
            ("Last-Modified", "Tue, 07 Jan 2020 10:00:00 GMT"),
        ),
    ],
    ids=["strong", "then weak", "weak", "length", "date"],
)
def test_a_304_that_contradicts_the_record_does_not_keep_the_old_version(
    host: Towline,
    server: ScriptedServer,
    work: Path,
    where: JSON,
    etag: str | None,
    first: tuple[str, str],
    second: tuple[str, str],
) -> None:
    resource = server.add("/f", DATA, etag=etag, last_modified=None if etag else DATE)
    skip(host, server, where)
    inode = (work / "f").stat().st_ino
    resource.data, resource.etag, resource.last_modified = content(6, len(DATA)), None, None
    resource.then(*naming(where), said(304, first)).default = Behaviour(headers=[second])
    is_fetched(skip(host, server, where), work / "f", resource.data, inode)
    again = server.requests("/f")[-1].headers
    assert "if-none-match" not in again
    assert "if-modified-since" not in again


def test_a_304_of_a_mixed_up_cache_keeps_what_the_server_has(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", DATA).then(Behaviour(), said(304, V2))
    where = {"path": str(work / "f")}
    skip(host, server, where)
    is_kept(skip(host, server, where), work / "f", "record", (work / "f").stat().st_ino)


def test_length_and_time_that_agree_are_enough(
    host: Towline, server: ScriptedServer, work: Path, where: JSON
) -> None:
    server.add("/f", DATA, last_modified=DATE)
    path = put(work, DATA, DATE_NS + 999_999_999)
    is_kept(skip(host, server, where), path, "sameLengthAndTime", path.stat().st_ino)


@pytest.mark.parametrize(
    ("date", "answer"),
    [
        (DATE, Behaviour()),
        (None, Behaviour()),
        (None, CONDITIONAL),
        (DATE, Behaviour(chunked=True)),
        (DATE, Behaviour(no_length=True)),
        (DATE, Behaviour(status=200, headers=[("Last-Modified", "yesterday")])),
    ],
    ids=["another time", "no time", "no validator", "chunked", "no length", "a bad time"],
)
def test_what_nothing_tells_to_be_the_one_is_fetched(
    host: Towline, server: ScriptedServer, work: Path, where: JSON, date: str | None, answer: Behaviour
) -> None:
    server.add("/f", DATA, etag=None, last_modified=date, default=answer)
    path = put(work, DATA, DATE_NS - 1_000_000_000)
    inode = path.stat().st_ino
    is_fetched(skip(host, server, where), path, DATA, inode)


def test_conditions_follow_redirects_and_failures(host: Towline, server: ScriptedServer, work: Path) -> None:
    path = put(work, DATA, DATE_NS)
    server.add("/f", b"").then(Behaviour(status=503)).default = Behaviour(location=server.url("/g"))
    server.add("/g", DATA, last_modified=DATE, default=CONDITIONAL)
    is_kept(skip(host, server, {"path": str(path)}), path, "notModified", path.stat().st_ino)
    assert server.requests("/g")[0].headers["if-modified-since"] == DATE


@pytest.mark.parametrize("status", [404, 403, 500])
def test_an_error_leaves_the_file_and_fails(
    host: Towline, server: ScriptedServer, work: Path, status: int
) -> None:
    path = put(work, b"old")
    server.add("/f", DATA, default=Behaviour(status=status))
    started = host.call("start", url=server.url("/f"), path=str(path), ifExists="skip", retry=NO_RETRY)
    done = finish(host, started["download"]["id"])
    assert (done["state"], done["error"]["httpStatus"]) == ("failed", status)
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("modified_ns", [None, -5_000_000_000, 1], ids=["now", "before 1970", "1970"])
def test_odd_times_do_no_harm(
    host: Towline, server: ScriptedServer, work: Path, modified_ns: int | None
) -> None:
    server.add("/f", DATA)
    path = put(work, b"old", modified_ns)
    inode = path.stat().st_ino
    is_fetched(skip(host, server, {"path": str(path)}), path, DATA, inode)


@pytest.fixture
def plain_server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Python's own server, which answers 304 if the given time is not before the file's."""
    folder = tmp_path / "served"
    folder.mkdir()
    command = [sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "0"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        port = process.stdout.readline().split(" port ")[1].split(" ")[0]
        yield f"http://127.0.0.1:{port}", folder
        process.terminate()


def test_pythons_server_keeps_a_copy_and_replaces_a_stub(
    host: Towline, plain_server: tuple[str, Path], work: Path
) -> None:
    url, folder = plain_server
    (folder / "f").write_bytes(DATA)
    put(work, b"12345")
    inode = (work / "f").stat().st_ino
    is_fetched(fetch(host, f"{url}/f", work / "f", ifExists="skip"), work / "f", DATA, inode)
    shutil.copyfile(folder / "f", work / "f")
    done = fetch(host, f"{url}/f", work / "f", ifExists="skip")
    is_kept(done, work / "f", "notModified", (work / "f").stat().st_ino)


# The existing file stays until the end


def test_the_old_file_stands_until_the_new_one_is_whole_and_after_a_crash(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    put(work, b"old")
    held = Held(server, "/f")
    host = launch()
    held.started(host, work / "f", id="a", ifExists="skip")
    assert (work / "f").read_bytes() == b"old"
    poll(lambda: (work / "f.towline").exists() and (work / "f.towline").stat().st_size >= MIB)
    host.kill()
    assert (work / "f").read_bytes() == b"old"
    held.release()
    host = launch()
    host.call("start", id="a", url=held.url, path=str(work / "f"), ifExists="skip")
    done = finish(host, "a")
    assert (done["state"], done["transfer"]["mode"]) == ("completed", "resumed")
    assert (work / "f").read_bytes() == held.data


def test_a_partial_is_dropped_when_the_file_turns_up(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server, "/f")
    held.started(host, work / "f", id="a", ifExists="skip", **checksum(held.data))
    host.call("pause", id="a")
    (work / "f").write_bytes(held.data)
    host.call("resume", id="a")
    done = finish(host, "a")
    assert (done["state"], done["transfer"]["why"]) == ("completed", "checksum")
    poll(lambda: os.listdir(work) == ["f"])
    assert len(server.requests("/f")) == 1


@pytest.mark.parametrize("before", [b"old", None], ids=["a file before", "none before"])
def test_a_file_that_nobody_judged_is_not_replaced(
    host: Towline, server: ScriptedServer, work: Path, before: bytes | None
) -> None:
    if before is not None:
        put(work, before)
    held = Held(server, "/f")
    held.started(host, work / "f", id="a", ifExists="skip", retry=NO_RETRY)
    (work / "new").write_bytes(b"somebody's")
    (work / "new").rename(work / "f")
    held.release()
    done = finish(host, "a")
    assert (done["state"], done["error"]["kind"]) == ("failed", "destinationConflict")
    assert (work / "f").read_bytes() == b"somebody's"
    # A resume checks that file too.
    host.call("resume", id="a")
    assert finish(host, "a")["state"] == "completed"
    assert (work / "f").read_bytes() == held.data


def test_one_that_is_started_paused_looks_when_it_is_resumed(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    path = put(work, DATA)
    started = host.call(
        "start",
        id="a",
        url=server.url("/f"),
        path=str(path),
        ifExists="skip",
        startPaused=True,
        **checksum(DATA),
    )
    assert started["download"]["state"] == "paused"
    host.call("resume", id="a")
    is_kept(finish(host, "a"), path, "checksum", path.stat().st_ino)


def test_a_look_can_be_paused_and_canceled(host: Towline, server: ScriptedServer, work: Path) -> None:
    gate = threading.Event()
    server.add("/f", DATA, default=Behaviour(hold_head=gate))
    path = put(work, b"old")
    host.call("start", id="a", url=server.url("/f"), path=str(path), ifExists="skip")
    server.wait_requests("/f", 1)
    assert host.call("pause", id="a")["download"]["state"] == "paused"
    host.call("resume", id="a")
    server.wait_requests("/f", 2)
    assert "if-modified-since" in server.requests("/f")[1].headers
    assert host.call("cancel", id="a")["download"]["state"] == "canceled"
    assert path.read_bytes() == b"old"
    gate.set()


def test_removing_an_unchanged_download_leaves_the_file(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    path = put(work, DATA)
    done = skip(host, server, {"path": str(path)}, **checksum(DATA))
    host.call("remove", id=done["id"], deleteFile=True)
    assert sha256(path) == sha256(DATA)
