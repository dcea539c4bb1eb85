"""Complete downloads: from nginx, over http and https; what the request and its answer contain."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from pathlib import Path

import pytest
from fixtures import Launcher
from nginx_server import Nginx
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, NO_RETRY, Held, fetch, finish, sha256
from towline_client import JSON, Towline


@pytest.fixture
def trusting(launch: Launcher, nginx: Nginx) -> Towline:
    """A process that trusts the authority of the test nginx."""
    return launch(env={"SSL_CERT_FILE": str(nginx.authority)})


def put(nginx: Nginx, name: str, data: bytes) -> str:
    (nginx.root / name).write_bytes(data)
    return sha256(data)


@pytest.mark.parametrize("size", [0, 1, 16_384, MIB - 1, MIB, MIB + 1, 20 * MIB])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_file_arrives_as_it_is(trusting: Towline, nginx: Nginx, work: Path, scheme: str, size: int) -> None:
    digest = put(nginx, "f.bin", content(size, size))
    base = nginx.http if scheme == "http" else nginx.https
    done = fetch(trusting, f"{base}/f.bin", work / "f.bin")
    assert done["state"] == "completed", done["error"]
    assert (done["receivedBytes"], done["totalBytes"]) == (size, size)
    assert sha256(work / "f.bin") == digest


def test_https_with_an_unknown_authority_fails(host: Towline, nginx: Nginx, work: Path) -> None:
    put(nginx, "f.bin", b"x")
    done = fetch(host, f"{nginx.https}/f.bin", work / "f.bin", retry=NO_RETRY)
    assert (done["state"], done["error"]["kind"], done["error"]["retryable"]) == (
        "failed",
        "tlsCertificate",
        False,
    )
    assert list(work.iterdir()) == []


def test_https_with_the_wrong_name_fails(trusting: Towline, nginx: Nginx, work: Path) -> None:
    """Names under localhost resolve to this machine; the certificate is for `localhost` alone."""
    put(nginx, "wrong.bin", b"x")
    url = f"https://other.localhost:{nginx.https_port}/wrong.bin"
    done = fetch(trusting, url, work / "f.bin", retry=NO_RETRY)
    assert (done["state"], done["error"]["kind"]) == ("failed", "tlsCertificate"), done["error"]
    assert "other.localhost" in done["error"]["message"]
    assert nginx.log("/wrong.bin") == []
    assert list(work.iterdir()) == []


def test_a_redirect_from_https_to_http_is_denied(trusting: Towline, nginx: Nginx, work: Path) -> None:
    put(nginx, "small.bin", b"x")
    done = fetch(trusting, f"{nginx.https}/downgrade", work / "f.bin", retry=NO_RETRY)
    assert (done["state"], done["error"]["kind"]) == ("failed", "redirectDenied")


def test_pausing_three_times_fetches_no_byte_twice(trusting: Towline, nginx: Nginx, work: Path) -> None:
    size = 12 * MIB
    digest = put(nginx, "paused.bin", content(1, size))
    url = f"{nginx.http}/limited/paused.bin"
    download_id = trusting.call("start", url=url, path=str(work / "f"))["download"]["id"]
    for count in (2 * MIB, 4 * MIB, 6 * MIB):
        trusting.wait_received(download_id, count)
        assert trusting.call("pause", id=download_id)["download"]["state"] == "paused"
        trusting.call("resume", id=download_id)
    done = finish(trusting, download_id)
    assert done["attempt"] == 1
    assert sha256(work / "f") == digest
    ranges = [str(e["range"]) for e in nginx.log("/limited/paused.bin")]
    assert len(ranges) == 4
    assert all(r.startswith("bytes=") for r in ranges[1:])


@pytest.mark.parametrize(
    ("algorithm", "length"), [("sha256", 64), ("sha512", 128), ("sha1", 40), ("md5", 32)], ids=str
)
def test_a_checksum_is_verified(
    host: Towline, server: ScriptedServer, work: Path, algorithm: str, length: int
) -> None:
    import hashlib

    data = content(2, 3 * MIB)
    server.add("/f", data)
    right = {"algorithm": algorithm, "value": hashlib.new(algorithm, data).hexdigest()}
    assert fetch(host, server.url("/f"), work / "right", checksum=right)["state"] == "completed"
    wrong = {"algorithm": algorithm, "value": "0" * length}
    done = fetch(host, server.url("/f"), work / "wrong", checksum=wrong, retry=NO_RETRY)
    assert (done["state"], done["error"]["kind"]) == ("failed", "checksumMismatch")
    assert not (work / "wrong").exists()


def test_the_final_name_appears_only_with_the_whole_file(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download = held.started(host, work / "f")
    assert [p.name for p in work.iterdir()] == ["f.towline"]
    assert download["path"] == str(work / "f")
    assert host.call("get", id=download["id"])["download"]["partialPath"] == str(work / "f.towline")
    held.release()
    finish(host, download["id"])
    assert [p.name for p in work.iterdir()] == ["f"]


def test_the_partial_file_is_closed_to_others(host: Towline, server: ScriptedServer, work: Path) -> None:
    Held(server).started(host, work / "f")
    assert (work / "f.towline").stat().st_mode & 0o777 == 0o600


def test_the_contiguous_prefix_may_be_read_already(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f")["id"]
    prefix = host.call("get", id=download_id)["download"]["contiguousBytes"]
    assert 0 <= prefix <= held.after
    assert (work / "f.towline").read_bytes()[:prefix] == held.data[:prefix]


@pytest.mark.parametrize(
    "how", [Behaviour(chunked=True), Behaviour(no_length=True)], ids=["chunked", "until close"]
)
def test_a_body_of_unknown_length_arrives(
    host: Towline, server: ScriptedServer, work: Path, how: Behaviour
) -> None:
    data = content(3, 2 * MIB + 17)
    server.add("/f", data, default=how)
    done = fetch(host, server.url("/f"), work / "f")
    assert (done["state"], done["totalBytes"]) == ("completed", len(data))
    assert (work / "f").read_bytes() == data


def test_the_request_asks_for_the_bytes_as_they_are(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x")
    fetch(host, server.url("/f"), work / "f", headers={"X-Mine": "yes"})
    sent = server.requests()[0]
    assert (sent.method, sent.headers["accept-encoding"], sent.headers["x-mine"]) == (
        "GET",
        "identity",
        "yes",
    )
    assert sent.range is None
    assert sent.headers["user-agent"].lower().startswith("towline")


def test_the_user_agent_can_be_chosen(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    fetch(host, server.url("/f"), work / "f", userAgent="mine/1")
    assert server.requests()[0].headers["user-agent"] == "mine/1"


def test_defaults_apply_to_later_starts(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    host.call("configure", defaults={"userAgent": "mine/2", "headers": {"X-Default": "d"}})
    fetch(host, server.url("/f"), work / "f")
    sent = server.requests()[0].headers
    assert (sent["user-agent"], sent["x-default"]) == ("mine/2", "d")


TEXT = b"text " * 100_000


@pytest.mark.parametrize(
    ("path", "coding", "body", "expected"),
    [
        ("/f", "gzip", gzip.compress(TEXT), TEXT),
        ("/f", "x-gzip", gzip.compress(TEXT[:7]) + gzip.compress(TEXT[7:]), TEXT),
        ("/f", "deflate", zlib.compress(TEXT), TEXT),
        ("/f", "deflate", zlib.compress(TEXT)[2:-4], TEXT),
        ("/f.tar.gz", "gzip", gzip.compress(TEXT), gzip.compress(TEXT)),
        ("/f", "gzip", gzip.compress(TEXT)[:-9], "incomplete"),
        ("/f", "gzip", TEXT[1:], "protocol"),
        ("/f", "br", TEXT[1:], "protocol"),
    ],
    ids=["gzip", "members", "deflate", "bare deflate", "label", "cut", "damaged", "br"],
)
def test_compression_that_was_not_asked_for_is_undone_or_refused(
    host: Towline,
    server: ScriptedServer,
    work: Path,
    path: str,
    coding: str,
    body: bytes,
    expected: bytes | str,
) -> None:
    server.add(path, body).default = Behaviour(headers=[("Content-Encoding", coding)])
    digest = hashlib.sha256(expected if isinstance(expected, bytes) else TEXT).hexdigest()
    done = fetch(
        host, server.url(path), work / "f", retry=NO_RETRY, checksum={"algorithm": "sha256", "value": digest}
    )
    if isinstance(expected, str):
        assert (done["state"], done["error"]["kind"]) == ("failed", expected)
        assert not (work / "f").exists()
    else:
        said = (done["state"], done["totalBytes"], done["lengthVerified"])
        assert said == ("completed", len(expected), True)
        assert (work / "f").read_bytes() == expected


# Names and destinations


@pytest.mark.parametrize(
    ("path", "header", "expected"),
    [
        ("/name.bin", None, "name.bin"),
        ("/a/b/name.bin?query=1", None, "name.bin"),
        ("/x", 'attachment; filename="given.bin"', "given.bin"),
        ("/x", "attachment; filename*=UTF-8''gr%C3%BCn.bin", "grün.bin"),
        ("/x", "attachment; filename*=UTF8''gr%C3%BCn.bin", "grün.bin"),
        ("/x", "attachment; filename*=windows-1252''%80uro.bin", "€uro.bin"),
        ("/x", "attachment; filename*=Shift_JIS''%93%FA%96%7B.bin", "日本.bin"),
        ("/x", "attachment; filename*=GB18030''%D6%D0.bin", "中.bin"),
        ("/x", "attachment; filename*=iso-8859-15'de'%A4.bin", "€.bin"),
        ("/x", "attachment; filename=\"plain.bin\"; filename*=koi8-r''%D6.bin", "ж.bin"),
        ("/x", "attachment; filename=\"plain.bin\"; filename*=nothing''%C1.bin", "plain.bin"),
        ("/x", "attachment; filename=\"plain.bin\"; filename*=Shift_JIS''%93", "plain.bin"),
        ("/x", 'attachment; filename="../../evil"', "evil"),
        ("/x", "attachment; filename*=UTF-16BE''%00%2F%00e%00v%00i%00l", "evil"),
        ("/x", 'attachment; filename="/etc/passwd"', "passwd"),
        ("/%2e%2e%2fevil.bin", None, "evil.bin"),
        ("/sp%20ace.bin", None, "sp ace.bin"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_name_is_found_and_stays_in_the_directory(
    host: Towline, server: ScriptedServer, work: Path, path: str, header: str, expected: str
) -> None:
    resource = server.add(path.split("?")[0], b"x")
    if header:
        resource.default = Behaviour(headers=[("Content-Disposition", header)])
    download = host.call("start", url=server.url(path), directory=str(work / "."))["download"]
    done = finish(host, download["id"])
    assert done["state"] == "completed", done["error"]
    assert Path(done["path"]).parent == work
    assert Path(done["path"]).name.endswith(expected.rsplit(".", 1)[-1])
    if "evil" not in expected and "passwd" not in expected:
        assert Path(done["path"]).name == expected
    assert Path(done["path"]).read_bytes() == b"x"


def test_directory_and_file_name_make_the_path(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    download = host.call("start", url=server.url("/f"), directory=str(work), fileName="mine")["download"]
    assert download["path"] == str(work / "mine")


@pytest.mark.parametrize("name", ["../f", "a/b", ".", "..", "", "x" * 300])
def test_a_file_name_is_one_name(host: Towline, server: ScriptedServer, work: Path, name: str) -> None:
    error = host.error("start", url=server.url("/f"), directory=str(work), fileName=name)
    assert error.code in (-32602, 1006)
    assert error.names("fileName")


def settled_failure(host: Towline, **params: object) -> JSON:
    """The error of a start or of its download; the protocol allows both for a bad destination."""
    request = host.send("start", {"retry": NO_RETRY, **params})
    message = host.response(request)
    if "error" in message:
        return message["error"]["data"]
    download = finish(host, message["result"]["download"]["id"])
    assert download["state"] == "failed"
    return download["error"]


def test_a_missing_directory_is_refused(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    error = settled_failure(host, url=server.url("/f"), path=str(work / "missing" / "f"))
    assert error["kind"] in (
        "destinationGone",
        "destinationConflict",
        "io",
        "invalidParams",
        "permissionDenied",
    )
    assert not (work / "missing").exists()


def test_a_directory_as_path_is_refused(host: Towline, server: ScriptedServer, work: Path) -> None:
    (work / "d").mkdir()
    server.add("/f", b"x")
    error = settled_failure(host, url=server.url("/f"), path=str(work / "d"))
    assert error["kind"] in ("destinationConflict", "invalidParams")


def test_an_existing_file_is_an_error_by_default(host: Towline, server: ScriptedServer, work: Path) -> None:
    (work / "f").write_bytes(b"old")
    server.add("/f", b"new")
    error = settled_failure(host, url=server.url("/f"), path=str(work / "f"))
    assert error["kind"] == "destinationConflict"
    assert (work / "f").read_bytes() == b"old"


def test_an_existing_file_is_replaced_at_the_end(host: Towline, server: ScriptedServer, work: Path) -> None:
    (work / "f").write_bytes(b"old")
    held = Held(server)
    download_id = held.started(host, work / "f", ifExists="overwrite")["id"]
    assert (work / "f").read_bytes() == b"old"
    held.release()
    finish(host, download_id)
    assert (work / "f").read_bytes() == held.data


def test_an_existing_file_is_kept_beside_a_new_name(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    (work / "f.bin").write_bytes(b"old")
    server.add("/f", b"new")
    done = fetch(host, server.url("/f"), work / "f.bin", ifExists="rename")
    assert (work / "f.bin").read_bytes() == b"old"
    assert done["path"] != str(work / "f.bin")
    assert done["path"].endswith(".bin")
    assert Path(done["path"]).read_bytes() == b"new"


def test_a_file_that_appears_meanwhile_is_not_overwritten(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f", retry=NO_RETRY)["id"]
    (work / "f").write_bytes(b"somebody's")
    held.release()
    done = finish(host, download_id)
    assert (done["state"], done["error"]["kind"]) == ("failed", "destinationConflict")
    assert (work / "f").read_bytes() == b"somebody's"


def test_a_link_at_the_partial_name_is_not_followed(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    victim = work.parent / "victim"
    victim.write_bytes(b"precious")
    os.symlink(victim, work / "f.towline")
    server.add("/f", b"new")
    settled = host.response(host.send("start", {"url": server.url("/f"), "path": str(work / "f"), "id": "a"}))
    if "result" in settled:
        finish(host, "a")
    assert victim.read_bytes() == b"precious"


def test_a_file_beyond_its_limit_fails(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", content(1, MIB))
    server.add("/chunked", content(1, MIB), default=Behaviour(chunked=True))
    for path in ("/f", "/chunked"):
        done = fetch(host, server.url(path), work / "f", maxFileBytes=1000, retry=NO_RETRY)
        assert (done["state"], done["error"]["kind"]) == ("failed", "sizeLimit"), path
        assert not (work / "f").exists()
    assert fetch(host, server.url("/f"), work / "f", maxFileBytes=MIB)["state"] == "completed"
