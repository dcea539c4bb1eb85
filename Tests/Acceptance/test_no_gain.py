"""Servers whose answers bring no new bytes: each such answer counts as a failure and delays the next try."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Behaviour, ScriptedServer, content
from support import NO_RETRY, fetch, sha256
from towline_client import Towline

TEN = b"0123456789"
TRIES = 3
RETRY = {"maxAttempts": TRIES, "initialDelayMs": 10, "maxDelayMs": 20}
STRONG, WEAK, NONE = [("ETag", '"v"')], [("ETag", 'W/"v"')], []
OLD_DATE = [("Last-Modified", "Mon, 06 Jan 2020 10:00:00 GMT"), ("Date", "Tue, 06 Jan 2026 10:00:00 GMT")]


def first_five(*headers: tuple[str, str], total: str = "10", body: bytes = b"01234") -> Behaviour:
    """A 206 with the first bytes, whatever was requested."""
    named = f"bytes 0-{len(body) - 1}/{total}"
    return Behaviour(status=206, body=body, content_range=named, headers=[*headers])


def changed_events(host: Towline) -> int:
    return sum(event["method"] == "changed" for event in host.events)


@pytest.mark.parametrize("total", ["10", "*"])
@pytest.mark.parametrize("policy", ["strict", "probe", "trust", "checksum"])
@pytest.mark.parametrize(
    "headers",
    [NONE, STRONG, WEAK, OLD_DATE, [("Accept-Ranges", "none"), *STRONG]],
    ids=["no validator", "strong", "weak", "a date", "no ranges"],
)
def test_one_part_for_every_request_is_not_asked_for_for_ever(
    host: Towline, server: ScriptedServer, work: Path, headers: list[tuple[str, str]], policy: str, total: str
) -> None:
    server.add("/f", TEN, etag=None, default=first_five(*headers, total=total))
    proof: dict[str, Any] = {"resumePolicy": policy}
    if policy == "checksum":
        proof = {"checksum": {"algorithm": "sha256", "value": sha256(TEN)}}
    done = fetch(host, server.url("/f"), work / "f", retry=RETRY, **proof)
    assert done["state"] == "failed"
    assert done["error"]["kind"] in ("incomplete", "rangeUnsupported", "remoteChanged")
    assert not (work / "f").exists()
    # Each try may send one or two different requests.
    assert len(server.requests("/f")) <= 3 * (TRIES + 1) + 1
    assert changed_events(host) <= 12 * (TRIES + 1)


def test_a_new_version_with_every_part_is_not_followed_for_ever(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", TEN, etag=None)
    for number in range(200):
        server.resources["/f"].then(first_five(("ETag", f'"{number}"'), ("Accept-Ranges", "none")))
    done = fetch(host, server.url("/f"), work / "f", retry=RETRY)
    assert done["state"] == "failed"
    assert len(server.requests("/f")) <= 8 * (TRIES + 1)


def test_what_gains_nothing_waits(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", TEN, etag=None, default=first_five())
    patience = {"maxAttempts": 5, "initialDelayMs": 3_600_000, "maxDelayMs": 3_600_000}
    host.call("start", id="a", url=server.url("/f"), path=str(work / "f"), retry=patience)
    waiting = host.wait_event(
        lambda e: e["method"] == "changed" and e["params"]["download"]["state"] == "waiting"
    )["params"]["download"]
    assert (waiting["reason"], waiting["error"]["kind"]) == ("retry", "incomplete")
    assert waiting["error"]["retryable"] is True
    assert host.call("inspect", id="a")["consecutiveFailures"] == 1
    assert len(server.requests("/f")) == 2
    host.call("cancel", id="a")


def test_bytes_that_replace_what_was_thrown_away_are_not_gained(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    """Every round receives a new byte of a new version, and the next round discards it."""
    resource = server.add("/f", TEN, etag=None)
    for number in range(100):
        etag = ("ETag", f'"{number}"')
        if number > 0:
            resource.then(first_five(etag))  # answers a request for a part of the previous version
        resource.then(
            first_five(etag),
            first_five(etag, body=TEN[:6]),
            Behaviour(status=206, body=TEN, content_range="bytes 0-9/10", headers=[etag], drop_after=8),
        )
    done = fetch(host, server.url("/f"), work / "f", retry=RETRY)
    assert (done["state"], done["error"]["retryable"]) == ("failed", True)
    assert len(server.requests("/f")) <= 4 * (TRIES + 2)


def test_failures_between_parts_that_gain_do_not_add_up(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    data = content(1, 400_000)
    resource = server.add("/f", data, etag='"v"', default=Behaviour(cap=20_000))
    for _ in range(40):
        # The next part is announced, but its first byte never arrives.
        resource.then(Behaviour(cap=20_000, drop_after=0), Behaviour(cap=20_000))
    done = fetch(host, server.url("/f"), work / "f", retry=RETRY)
    assert done["state"] == "completed"
    assert (work / "f").read_bytes() == data
    assert len(server.requests("/f")) > 2 * (TRIES + 1)


@pytest.mark.parametrize("size", [1, 2, 500, 16_384, 16_385, 40_000])
def test_a_file_that_comes_in_many_parts_comes_without_waits_or_a_flood_of_events(
    host: Towline, server: ScriptedServer, work: Path, size: int
) -> None:
    """The received end is compared with each part, and must leave space for new bytes in it."""
    data = content(1, 50 * size)
    server.add("/f", data, default=Behaviour(cap=size))
    done = fetch(host, server.url("/f"), work / "f", retry=NO_RETRY)
    assert done["state"] == "completed"
    assert (work / "f").read_bytes() == data
    assert len(server.requests("/f")) <= 100
    assert changed_events(host) < 10


def test_parts_of_a_byte_each_are_not_asked_for_as_fast_as_they_come(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", content(1, 1_000_000), default=Behaviour(cap=1))
    download_id = host.call("start", url=server.url("/f"), path=str(work / "f"))["download"]["id"]
    server.wait_requests("/f", 105)
    known = len(server.requests("/f"))
    time.sleep(1)
    assert len(server.requests("/f")) - known <= 20
    host.call("cancel", id=download_id)


def test_a_new_version_in_parts_is_fetched_without_a_failure(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    old, new = content(1, 3_000), content(2, 3_000)
    first = Behaviour(cap=1_000, body=old, headers=[("ETag", '"first"')])
    # A part of the first version is requested; the second version answers, and is then requested from its
    # start.
    server.add("/f", new, etag='"second"', default=Behaviour(cap=1_000)).then(first, first, first)
    done = fetch(host, server.url("/f"), work / "f", retry=NO_RETRY)
    assert done["state"] == "completed"
    assert (work / "f").read_bytes() == new
    assert done["attempt"] == 2


def test_names_of_partials_that_are_taken_cost_one_more_request_at_most(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    for name in ("f.towline", *(f"f.{number}.towline" for number in range(2, 9))):
        (work / name).write_bytes(b"somebody's")
    server.add("/f", b"small")
    assert fetch(host, server.url("/f"), work / "f", retry=NO_RETRY)["state"] == "completed"
    assert (work / "f").read_bytes() == b"small"
    assert len(server.requests("/f")) <= 2
