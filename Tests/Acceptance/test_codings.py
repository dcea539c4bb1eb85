"""Compression that nobody asked for: decoded if it is a transfer detail, kept if it is the file itself."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Behaviour, ScriptedServer, content
from support import NO_RETRY, QUICK_RETRY, fetch, finish, sha256
from towline_client import Towline

TEXT = b"text " * 20_000
PACKED = gzip.compress(TEXT)
ZLIB = zlib.compress(TEXT)
RAW = ZLIB[2:-4]


def coded(coding: str, **more: Any) -> Behaviour:
    return Behaviour(headers=[("Content-Encoding", coding)], **more)


@pytest.mark.parametrize(
    "body",
    [
        # Each begins with bytes that can be read as a complete raw deflate stream.
        b"\x03\x00" + TEXT,
        b"\x01\x05\x00\xfa\xffhello and more",
        RAW + b"\n",
        RAW + RAW,
        RAW + bytes(8),
    ],
    ids=["an empty block", "a stored block", "a line end", "twice", "zeros"],
)
@pytest.mark.parametrize(
    "how", [{}, {"chunked": True}, {"no_length": True}], ids=["length", "chunked", "close"]
)
def test_what_is_left_over_behind_bare_deflate_makes_it_no_file(
    host: Towline, server: ScriptedServer, work: Path, body: bytes, how: dict[str, bool]
) -> None:
    server.add("/f", body).default = coded("deflate", **how)
    done = fetch(host, server.url("/f"), work / "f", retry=NO_RETRY)
    assert (done["state"], (done["error"] or {}).get("kind")) == ("failed", "protocol")
    assert not (work / "f").exists()


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate"])
def test_a_compressed_body_that_ends_before_its_first_byte_is_incomplete(
    host: Towline, server: ScriptedServer, work: Path, coding: str
) -> None:
    server.add("/f", b"").default = coded(coding, no_length=True)
    done = fetch(host, server.url("/f"), work / "f", retry=NO_RETRY)
    assert (done["state"], (done["error"] or {}).get("kind")) == ("failed", "incomplete")
    assert not (work / "f").exists()


@pytest.mark.parametrize("how", [{}, {"chunked": True}], ids=["length", "chunked"])
def test_a_compressed_body_that_is_said_to_be_empty_is_the_empty_file(
    host: Towline, server: ScriptedServer, work: Path, how: dict[str, bool]
) -> None:
    server.add("/f", b"").default = coded("gzip", **how)
    done = fetch(host, server.url("/f"), work / "f", retry=NO_RETRY)
    assert (done["state"], done["lengthVerified"], done["receivedBytes"]) == ("completed", True, 0)


# Archives, recognised by name


def test_an_archive_by_its_path_is_left_alone(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", PACKED).default = coded("gzip")
    done = fetch(host, server.url("/f"), work / "a.tar.gz", retry=NO_RETRY)
    assert (done["state"], done["totalBytes"]) == ("completed", len(PACKED))
    assert (work / "a.tar.gz").read_bytes() == PACKED


def test_an_archive_by_its_file_name_is_left_alone(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", PACKED).default = coded("x-gzip")
    started = host.call("start", url=server.url("/f"), directory=str(work), fileName="A.TGZ")
    assert finish(host, started["download"]["id"])["state"] == "completed"
    assert (work / "A.TGZ").read_bytes() == PACKED


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('attachment; filename="a.tar.gz"', "a.tar.gz"),
        ("attachment; filename*=UTF-8''a%2Etgz", "a.tgz"),
        ("attachment; filename*=windows-1251''%E6.svgz", "ж.svgz"),
        # The name after sanitising is the one that counts.
        ('attachment; filename="b.gz "', "b.gz"),
        ('attachment; filename="b.tar.gz . "', "b.tar.gz"),
        ("attachment; filename*=UTF-8''%62%2e%67%7a.", "b.gz"),
    ],
)
@pytest.mark.parametrize("is_named", [False, True], ids=["its name", "another path"])
def test_an_archive_by_content_disposition_is_left_alone(
    host: Towline, server: ScriptedServer, work: Path, disposition: str, name: str, is_named: bool
) -> None:
    server.add("/f", PACKED).default = Behaviour(
        headers=[("Content-Encoding", "gzip"), ("Content-Disposition", disposition)]
    )
    where = {"path": str(work / "f")} if is_named else {"directory": str(work)}
    done = finish(host, host.call("start", url=server.url("/f"), **where)["download"]["id"])
    assert done["state"] == "completed", done["error"]
    assert Path(done["path"]) == work / ("f" if is_named else name)
    assert Path(done["path"]).read_bytes() == PACKED


@pytest.mark.parametrize("first", ["/a.tar.gz", "/a%2Etar%2Egz", "/a.svgz?x=1"])
@pytest.mark.parametrize("hops", [1, 3])
def test_an_archive_by_a_url_that_led_to_it_is_left_alone(
    host: Towline, server: ScriptedServer, work: Path, first: str, hops: int
) -> None:
    paths = [first, *(f"/hop{n}" for n in range(hops))]
    for path, target in zip(paths, paths[1:], strict=False):
        server.add(path.split("?")[0], b"").default = Behaviour(location=target)
    server.add(paths[-1], PACKED).default = coded("gzip")
    done = fetch(host, server.url(first), work / "f", retry=NO_RETRY)
    assert done["state"] == "completed", done["error"]
    assert (work / "f").read_bytes() == PACKED


def test_an_archive_stays_one_when_its_url_is_another(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    data = gzip.compress(content(5, 300_000))
    server.add("/a.tar.gz", data).default = coded("gzip", drop_after=100_000)
    server.resources["/a.tar.gz"].then(coded("gzip", drop_after=100_000), Behaviour(status=410))
    server.add("/other", data).default = coded("gzip")
    host.call("start", id="d", url=server.url("/a.tar.gz"), path=str(work / "f"), retry=QUICK_RETRY)
    host.wait_event(lambda e: e["method"] == "changed" and e["params"]["download"]["reason"] == "needsUrl")
    host.call("update", id="d", url=server.url("/other"))
    done = finish(host, "d")
    assert done["state"] == "completed", done["error"]
    assert (work / "f").read_bytes() == data


@pytest.mark.parametrize(
    "media_type",
    [
        "application/x-gzip-compressed",
        "application/vnd.oci.image.layer.v1.tar+gzip",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
    ],
)
def test_an_archive_by_its_media_type_is_left_alone(
    host: Towline, server: ScriptedServer, work: Path, media_type: str
) -> None:
    server.add("/f", PACKED).default = Behaviour(
        headers=[("Content-Encoding", "gzip"), ("Content-Type", media_type)]
    )
    done = fetch(host, server.url("/f"), work / "f", retry=NO_RETRY)
    assert done["state"] == "completed", done["error"]
    assert (work / "f").read_bytes() == PACKED


CUT = PACKED[:-9]
UNDECODABLE = [
    ("gzip", TEXT),
    ("x-gzip", CUT),
    ("gzip", PACKED[:-8] + bytes(8)),
    ("gzip", PACKED[:10] + b"\xff" * 100),
    ("deflate", TEXT),
    ("deflate", RAW + b"more"),
    ("deflate", ZLIB[:-4] + bytes(4)),
    ("br", TEXT),
    ("zstd", PACKED),
    ("compress", TEXT),
    ("gzip, gzip", PACKED),
    ("br, gzip", PACKED),
    ("made-up", TEXT),
]

ENCODED = [("gzip", PACKED), ("deflate", ZLIB), ("deflate", RAW), *UNDECODABLE]
#: Not included: a truncated stream that ends with its connection, because the connection may have been cut.
ENCODED_IN_WAYS = [
    pytest.param(coding, body, how, id=f"{coding}-{number}-{name}")
    for number, (coding, body) in enumerate(ENCODED)
    for name, how in {"length": {}, "chunked": {"chunked": True}, "close": {"no_length": True}}.items()
    if (body, name) != (CUT, "close")
]


@pytest.mark.parametrize(("coding", "body", "how"), ENCODED_IN_WAYS)
def test_encoded_bytes_are_left_alone_where_the_checksum_names_them(
    host: Towline, server: ScriptedServer, work: Path, coding: str, body: bytes, how: dict[str, bool]
) -> None:
    server.add("/f", body).default = coded(coding, **how)
    checksum = {"algorithm": "sha256", "value": sha256(body)}
    done = fetch(host, server.url("/f"), work / "f", checksum=checksum, retry=NO_RETRY)
    assert (done["state"], done["totalBytes"]) == ("completed", len(body)), done["error"]
    assert done["lengthVerified"]
    assert (work / "f").read_bytes() == body
    # If it can be decoded, the decoded bytes are tried first.
    is_decodable = coding in ("gzip", "x-gzip", "deflate")
    assert len(server.requests("/f")) == (2 if is_decodable else 1)


@pytest.mark.parametrize(("coding", "body"), UNDECODABLE)
def test_what_cannot_be_decoded_and_has_another_checksum_fails_as_undecodable(
    host: Towline, server: ScriptedServer, work: Path, coding: str, body: bytes
) -> None:
    server.add("/f", body).default = coded(coding)
    checksum = {"algorithm": "sha256", "value": "0" * 64}
    done = fetch(host, server.url("/f"), work / "f", checksum=checksum, retry=NO_RETRY)
    kind = "incomplete" if body == CUT else "protocol"
    assert (done["state"], done["error"]["kind"]) == ("failed", kind)
    assert not list(work.iterdir())
    assert len(server.requests("/f")) <= 2


def test_what_cannot_be_decoded_costs_one_request_more(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", TEXT).default = coded("gzip")
    checksum = {"algorithm": "sha256", "value": "0" * 64}
    done = fetch(host, server.url("/f"), work / "f", checksum=checksum, retry=QUICK_RETRY)
    assert (done["state"], done["error"]["kind"]) == ("failed", "protocol")
    assert len(server.requests("/f")) == 2 + QUICK_RETRY["maxAttempts"]


def test_a_good_answer_after_an_undecodable_one_is_decoded(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    damaged = coded("gzip", body=PACKED[:-8] + bytes(8))
    server.add("/f", PACKED).then(damaged, damaged, coded("gzip"))
    server.resources["/f"].default = coded("gzip")
    checksum = {"algorithm": "sha256", "value": sha256(TEXT)}
    done = fetch(host, server.url("/f"), work / "f", checksum=checksum, retry=QUICK_RETRY)
    assert done["state"] == "completed", done["error"]
    assert (work / "f").read_bytes() == TEXT


def test_a_lost_connection_within_a_compressed_body_is_not_taken_for_damage(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", PACKED).then(coded("gzip", drop_after=len(PACKED) // 2))
    server.resources["/f"].default = coded("gzip")
    checksum = {"algorithm": "sha256", "value": sha256(TEXT)}
    done = fetch(host, server.url("/f"), work / "f", checksum=checksum, retry=QUICK_RETRY)
    assert done["state"] == "completed", done["error"]
    assert len(server.requests("/f")) == 2


def test_a_checksum_that_neither_form_has_fails_after_both_were_looked_at(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", PACKED).default = coded("gzip")
    checksum = {"algorithm": "sha256", "value": "0" * 64}
    done = fetch(host, server.url("/f"), work / "f", id="d", checksum=checksum, retry=NO_RETRY)
    assert (done["state"], done["error"]["kind"]) == ("failed", "checksumMismatch")
    assert len(server.requests("/f")) == 2
    assert not (work / "f").exists()


def test_a_name_that_says_nothing_leaves_the_body_to_be_unpacked(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/a.gz/f.txt", PACKED).default = coded("gzip")
    checksum = {"algorithm": "sha256", "value": sha256(TEXT)}
    done = fetch(host, server.url("/a.gz/f.txt"), work / "f.txt", checksum=checksum, retry=NO_RETRY)
    assert done["state"] == "completed", done["error"]
    assert (work / "f.txt").read_bytes() == TEXT
    assert len(server.requests()) == 1
