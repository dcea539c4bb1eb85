"""`Removed`: the record of a download was removed, by this client or by another process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from loopback import Server, content

from towline import AsyncTowline, Changed, DownloadNotFound, Event, Removed, Towline


def test_what_this_client_removes(binary: str, server: Server, state: Path, tmp_path: Path) -> None:
    server.add("f", b"abc")
    with Towline(binary, state_dir=state) as client:
        everything = client.events()
        finished = client.fetch(server.url("f"), tmp_path / "f")
        client.remove(finished)
        seen: list[Event] = []
        while not seen or not isinstance(seen[-1], Removed):
            seen.append(next(everything))
        removed = seen[-1]
        assert isinstance(removed, Removed)
        assert removed.id == finished.id
        assert isinstance(removed.revision, int)
        with pytest.raises(DownloadNotFound):
            client.get(finished)


def test_what_another_process_removes_ends_the_events_of_the_download(
    binary: str, server: Server, state: Path, tmp_path: Path
) -> None:
    held = server.add("f", content(1, 3_000_000), hold_at=1_000_000)
    with Towline(binary, state_dir=state) as owner, Towline(binary, state_dir=state) as watcher:
        started = owner.start(server.url("f"), tmp_path / "f")
        watcher.subscribe(ids=[started])
        events = watcher.events()
        assert watcher.get(started).owner == "other"
        owner.cancel(started)
        owner.remove(started)
        seen = next(event for event in events if isinstance(event, Removed))
        assert (seen.id, seen.revision) == (started.id, None)
    held.release()


def test_a_removal_ends_the_events_of_the_download(
    binary: str, server: Server, state: Path, tmp_path: Path
) -> None:
    held = server.add("f", content(1, 3_000_000), hold_at=1_000_000)

    async def run() -> list[Event]:
        async with AsyncTowline(binary, state_dir=state) as owner:
            started = await owner.start(server.url("f"), tmp_path / "f")
            async with AsyncTowline(binary, state_dir=state) as watcher:
                await watcher.subscribe(ids=[started])
                events = watcher.events(started)
                seen = [await events.__anext__()]
                # Mostly faster than the watcher polls; else it sees the canceled state, which is an end too.
                await owner.cancel(started)
                await owner.remove(started)
                return [*seen, *[event async for event in events]]

    last = asyncio.run(run())[-1]
    held.release()
    assert isinstance(last, Removed) or (isinstance(last, Changed) and last.download.state == "canceled")
