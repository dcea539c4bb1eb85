"""Some real servers give two files of one size and second the same strong ETag: only the bytes differ."""

from __future__ import annotations

import os
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from nginx_server import find_program
from scripted_server import content
from support import MIB, OVERLAP, finish
from test_resume_policy import began
from towline_client import JSON, Towline
from web_servers import SERVERS, Relay, serving

SIZE = 4 * MIB


@pytest.fixture(params=sorted(SERVERS))
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Relay]]:
    """The folder that the server serves, and a relay that holds its answers midway."""
    if find_program(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    with serving(request.param, tmp_path / "server") as (root, base):
        relay = Relay(base, 2 * MIB)
        yield root, relay
        relay.close()


def put(path: Path, data: bytes, second: int) -> None:
    """Writes the file in place, with a modification time far in the past."""
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(data)
    path.chmod(0o644)
    os.utime(path, (second, second))


def etag(relay: Relay) -> str:
    head = urllib.request.Request(f"{relay.base}/f", method="HEAD")
    with urllib.request.urlopen(head) as answer:
        return str(answer.headers["ETag"])


def pause_midway(host: Towline, relay: Relay, path: Path, **params: object) -> JSON:
    download_id = host.call("start", url=f"{relay.base}/f", path=str(path), **params)["download"]["id"]
    host.wait_received(download_id, MIB)
    paused = host.call("pause", id=download_id)["download"]
    relay.release()
    assert MIB <= paused["receivedBytes"] < SIZE
    return paused


@pytest.mark.parametrize("policy", ["strict", "trust"])
def test_a_second_file_of_one_second_is_told_by_its_bytes(
    host: Towline, site: tuple[Path, Relay], work: Path, policy: str
) -> None:
    root, relay = site
    second = int(time.time()) - 3600
    old, new = content(1, SIZE), content(2, SIZE)
    put(root / "f", old, second)
    before = etag(relay)
    assert before.startswith('"'), "a strong one"
    paused = pause_midway(host, relay, work / "f", resumePolicy=policy)
    put(root / "f", new, second)
    assert etag(relay) == before
    host.call("resume", id=paused["id"])
    done = finish(host, paused["id"])
    assert began(done) == ("restarted", "overlapDiffers", None)
    assert (work / "f").read_bytes() == new


def test_the_same_file_goes_on(host: Towline, site: tuple[Path, Relay], work: Path) -> None:
    root, relay = site
    data = content(1, SIZE)
    put(root / "f", data, int(time.time()) - 3600)
    paused = pause_midway(host, relay, work / "f")
    host.call("resume", id=paused["id"])
    done = finish(host, paused["id"])
    assert began(done) == ("resumed", None, "validated")
    assert done["transfer"]["offset"] == paused["receivedBytes"]
    assert (work / "f").read_bytes() == data
    assert host.call("inspect", id=paused["id"])["wastedBytes"] == OVERLAP
