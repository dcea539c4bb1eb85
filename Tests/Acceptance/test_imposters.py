"""A server answers 200 with something other than the file, after part of the file was received."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from scripted_server import Behaviour, ScriptedServer, content
from support import NO_RETRY, Held, resume_start
from test_resume import pause_midway
from test_resume_policy import began
from towline_client import JSON, Towline

JSON_PAGE = b'{"error":"expired"}'
HTML_PAGE = b"<!doctype html><title>Sign in</title>"
XML_PAGE = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"


def settled(host: Towline, download_id: str) -> JSON:
    host.call("resume", id=download_id)
    return host.call("wait", id=download_id, until="settled")["download"]


def answer(body: bytes, content_type: str | None, *more: tuple[str, str], chunked: bool = False) -> Behaviour:
    """A 200 without the resource's own fields."""
    fields = list(more) if content_type is None else [("Content-Type", content_type), *more]
    return Behaviour(status=200, body=body, headers=fields, chunked=chunked, bare=True)


def kept(held: Held, work: Path, end: JSON) -> None:
    assert end["receivedBytes"] == held.after
    assert (work / "f.towline").read_bytes()[: held.after] == held.data[: held.after]
    assert not (work / "f").exists()


@pytest.mark.parametrize("on_change", ["restart", "keepBoth", "fail"])
@pytest.mark.parametrize(
    "page",
    [
        answer(JSON_PAGE, "application/json"),
        answer(JSON_PAGE, "application/json", ("ETag", 'W/"13-x"')),
        answer(JSON_PAGE, "application/problem+json; charset=utf-8", chunked=True),
        answer(HTML_PAGE, "text/html; charset=utf-8"),
        answer(XML_PAGE, "application/xml", ("ETag", '"error"')),
        answer(b"expired\n", "text/plain"),
        answer(b"", "application/octet-stream"),
        answer(JSON_PAGE, None),
        answer(JSON_PAGE, "application/octet-stream"),
        answer(JSON_PAGE, "application/octet-stream", ("ETag", '"v1"')),
    ],
    ids=[
        "JSON",
        "tagged JSON",
        "chunked JSON",
        "HTML",
        "XML",
        "text",
        "nothing",
        "no type",
        "same type",
        "same tag",
    ],
)
def test_an_error_page_in_place_of_the_rest_keeps_what_is_held(
    host: Towline, server: ScriptedServer, work: Path, page: Behaviour, on_change: str
) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f", onChange=on_change)
    held.resource.default = page
    end = settled(host, download_id)
    assert (end["state"], end["reason"]) == ("waiting", "needsUrl")
    assert (end["error"]["kind"], end["error"]["httpStatus"]) == ("urlExpired", 200)
    kept(held, work, end)
    # The next answer is the file again.
    held.resource.default = Behaviour()
    assert began(settled(host, download_id)) == ("resumed", None, "validated")
    assert (work / "f").read_bytes() == held.data
    assert server.requests()[-1].range_start == resume_start(held.after)


@pytest.mark.parametrize("page", [HTML_PAGE, JSON_PAGE, XML_PAGE], ids=["HTML", "JSON", "XML"])
def test_where_the_type_was_never_told_a_page_is_still_none_of_it(
    host: Towline, server: ScriptedServer, work: Path, page: bytes
) -> None:
    held = Held(server)
    held.resource.content_type = None
    download_id = pause_midway(host, held, work / "f")
    types = {HTML_PAGE: "text/html", JSON_PAGE: "application/json", XML_PAGE: "text/xml"}
    held.resource.default = answer(page, types[page])
    end = settled(host, download_id)
    assert (end["state"], end["reason"]) == ("waiting", "needsUrl")
    kept(held, work, end)


@pytest.mark.parametrize("etag", ['"v1"', None], ids=["a validator before", "none before"])
def test_a_small_page_is_no_new_version_whatever_was_told_before(
    host: Towline, server: ScriptedServer, work: Path, etag: str | None
) -> None:
    held = Held(server)
    held.resource.etag = etag
    download_id = pause_midway(host, held, work / "f")
    held.resource.default = answer(JSON_PAGE, "application/json")
    end = settled(host, download_id)
    assert (end["state"], end["reason"]) == ("waiting", "needsUrl")
    kept(held, work, end)


def test_a_body_without_any_validator_does_not_replace_one_that_had_some(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f")
    held.resource.default = answer(content(99, len(held.data)), "application/octet-stream")
    end = settled(host, download_id)
    assert (end["state"], end["error"]["kind"]) == ("failed", "remoteChanged")
    assert "noValidator" in end["error"]["message"]
    kept(held, work, end)


def test_a_smaller_version_with_a_validator_of_its_own_is_a_change(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f")
    held.resource.data = content(99, 1000)
    held.resource.etag = '"v2"'
    assert began(settled(host, download_id)) == ("restarted", "validatorChanged", None)
    assert (work / "f").read_bytes() == held.resource.data


@pytest.mark.parametrize("content_type", ["application/json", "text/html", "application/octet-stream"])
@pytest.mark.parametrize("etag", ['"error"', None], ids=["tagged", "no tag"])
def test_a_part_that_nobody_asked_for_does_not_replace_what_is_held(
    host: Towline, server: ScriptedServer, work: Path, content_type: str, etag: str | None
) -> None:
    """A page sent as a 206 from the first byte, also when the whole file is requested."""
    held = Held(server)
    download_id = pause_midway(host, held, work / "f")
    fields = [
        ("Content-Type", content_type),
        ("Content-Range", f"bytes 0-{len(JSON_PAGE) - 1}/{len(JSON_PAGE)}"),
    ]
    if etag is not None:
        fields.append(("ETag", etag))
    held.resource.default = Behaviour(status=206, body=JSON_PAGE, headers=fields, bare=True)
    end = settled(host, download_id)
    if content_type == "application/octet-stream" and etag is not None:
        # It looks exactly like a new version.
        assert began(end) == ("restarted", "validatorChanged", None)
        return
    assert (end["state"], end["reason"]) == ("waiting", "needsUrl")
    kept(held, work, end)


@pytest.mark.parametrize("size", [0, 19, 60_000, 700_000, 5_000_000])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_body_of_no_told_length_under_the_same_validator_has_the_length_that_was_told(
    host: Towline, server: ScriptedServer, work: Path, size: int, packed: bool
) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f", retry=NO_RETRY)
    body = (held.data + bytes(len(held.data)))[:size] if size != 19 else JSON_PAGE
    fields = [("ETag", '"v1"'), *([("Content-Encoding", "gzip")] if packed else [])]
    sent = gzip.compress(body, 1) if packed else body
    held.resource.default = answer(sent, "application/octet-stream", *fields, chunked=True)
    end = settled(host, download_id)
    if end["state"] == "completed":
        assert (work / "f").read_bytes() == held.data
        assert size > len(held.data)
        return
    assert end["state"] == "failed"
    assert not (work / "f").exists()
    if size < 65_536:
        kept(held, work, end)
    held.resource.default = Behaviour()
    settled(host, download_id)
    assert (work / "f").read_bytes() == held.data
