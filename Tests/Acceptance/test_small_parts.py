"""A server that sends few bytes per response, and a file that changes under the same validator."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_server import Behaviour, ScriptedServer, content
from support import OVERLAP, QUICK_RETRY, Held, finish
from test_resume import pause_midway, resumed
from test_resume_policy import began
from towline_client import Towline

SIZE = 200_000
AFTER = 115_000


@pytest.mark.parametrize("cap", [4_000, 8_000, 16_384, 20_000, 100_000])
@pytest.mark.parametrize("back", [1, 5_001, OVERLAP], ids=["last", "within", "first"])
def test_each_of_the_bytes_to_compare_is_compared(
    host: Towline, server: ScriptedServer, work: Path, cap: int, back: int
) -> None:
    held = Held(server, size=SIZE, after=AFTER)
    download_id = pause_midway(host, held, work / "f", retry=QUICK_RETRY)
    new = bytearray(content(99, SIZE))
    new[:AFTER] = held.data[:AFTER]
    new[AFTER - back] ^= 1
    held.resource.data = bytes(new)
    held.resource.default = Behaviour(cap=cap)
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    assert (work / "f").read_bytes() == new
    assert done["attempt"] == 2


@pytest.mark.parametrize("cap", [100, 4_000, 8_000, 16_384, 20_000, 100_000])
def test_the_same_file_in_small_parts_completes(
    host: Towline, server: ScriptedServer, work: Path, cap: int
) -> None:
    size, after = (SIZE, AFTER) if cap > 100 else (3_000, 2_000)
    held = Held(server, size=size, after=after)
    download_id = pause_midway(host, held, work / "f", retry=QUICK_RETRY)
    held.resource.default = Behaviour(cap=cap)
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    assert (work / "f").read_bytes() == held.data
    if cap > 100:
        assert began(done) == ("resumed", None, "validated")


def test_a_part_that_a_server_interrupts_is_compared_whole_by_the_next_try(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    """The part size learnt in an earlier run does not shrink the comparison in the next one."""
    old, new = content(1, 50_000), bytearray(content(2, 50_000))
    new[25_000:] = old[25_000:]
    resource = server.add("/f", old, default=Behaviour(cap=4_000))
    resource.then(*[Behaviour(cap=10_000)] * 2, Behaviour(drop_after=22_000))
    download_id = host.call(
        "start",
        url=server.url("/f"),
        path=str(work / "f"),
        retry={"maxAttempts": 20, "initialDelayMs": 500, "maxDelayMs": 500},
    )["download"]["id"]
    server.wait_requests("/f", 3)
    server.wait(lambda: server.requests("/f")[2].finished)
    resource.data = bytes(new)
    done = finish(host, download_id)
    assert done["state"] == "completed"
    assert (work / "f").read_bytes() in (old, bytes(new))
