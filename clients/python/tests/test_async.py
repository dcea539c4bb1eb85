"""The client for asyncio against the real service, and against a stand-in for what that never does."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import logging
import os
import signal
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Callable

import pytest
from conftest import Fake
from loopback import Resource, Server, content

import towline
from towline import AsyncTowline, Changed, Progress, Respawned

TestFunction = Callable[..., Awaitable[None]]


def asynchronous(test: TestFunction) -> Callable[..., None]:
    """Runs a coroutine test in an event loop of its own, as asyncio.run does it for programs."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 40))

    return run


async def received(client: AsyncTowline, target: towline.Started, count: int) -> None:
    """Returns when so many bytes were received."""
    async for event in client.events(target):
        if isinstance(event, Progress) and event.received_bytes >= count:
            return


@asynchronous
async def test_a_file_is_downloaded_whole(binary: str, server: Server, state: Path, tmp_path: Path) -> None:
    body = content(1, 300_000)
    server.add("file.bin", body)
    checksum = f"sha256:{hashlib.sha256(body).hexdigest()}"
    async with AsyncTowline(binary, state_dir=state) as client:
        assert (await client.info()).state_directory == str(state)
        download = await client.fetch(server.url("file.bin"), directory=tmp_path, checksum=checksum)
        assert download.path == tmp_path / "file.bin"
        assert (download.received_bytes, download.fraction) == (len(body), 1.0)
        assert download.checksum == towline.Checksum.parse(checksum)
        assert (await client.inspect(download)).download.id == download.id
        await client.ping()
    assert (tmp_path / "file.bin").read_bytes() == body


@asynchronous
async def test_a_relative_path_is_the_programs_own(
    binary: str, server: Server, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.add("f", b"abc")
    async with AsyncTowline(binary, state_dir=state) as client:
        monkeypatch.chdir(tmp_path)  # after the service was started elsewhere
        assert (await client.fetch(server.url("f"), "here")).path == tmp_path / "here"
        assert (await client.fetch(server.url("f"))).path == tmp_path / "f"


@asynchronous
async def test_a_failure_is_data_first_and_an_exception_on_demand(
    binary: str, server: Server, state: Path, tmp_path: Path
) -> None:
    async with AsyncTowline(binary, state_dir=state) as client:
        started = await client.start(server.url("missing"), tmp_path / "f")
        download = await client.wait(started)
        assert download.state == "failed"
        assert download.error is not None
        assert (download.error.kind, download.error.http_status) == ("httpStatus", 404)
        with pytest.raises(towline.DownloadFailed):
            await client.fetch(server.url("missing"), tmp_path / "f")


@asynchronous
async def test_pause_resume_cancel_remove(binary: str, server: Server, state: Path, tmp_path: Path) -> None:
    held = server.add("f", content(2, 400_000), hold_at=200_000)
    async with AsyncTowline(binary, state_dir=state) as client:
        started = await client.start(server.url("f"), tmp_path / "f")
        await received(client, started, 200_000)
        assert (await client.pause(started)).changed
        assert not (await client.pause(started)).changed
        assert (await client.wait(started, until="settled")).reason == "user"
        held.release()
        outcome = await client.resume(started)
        assert outcome.changed
        assert not outcome.download.is_final
        done = await client.wait(started)
        assert done.state == "completed"
        assert done.transfer is not None
        assert (done.transfer.mode, done.transfer.offset > 0) == ("resumed", True)
        with pytest.raises(towline.InvalidState):
            await client.cancel(started)
        await client.remove(started, delete_file=True)
        while (tmp_path / "f").exists():  # it is deleted after the answer
            await asyncio.sleep(0.01)
        with pytest.raises(towline.DownloadNotFound) as caught:
            await client.get(started)
        assert (caught.value.code, caught.value.kind) == (1001, "downloadNotFound")

        other = await client.start(server.url("f"), tmp_path / "g", start_paused=True)
        assert (await client.cancel(other)).download.state == "canceled"


@asynchronous
async def test_several_at_once(binary: str, server: Server, state: Path, tmp_path: Path) -> None:
    server.add("f", b"x")
    async with AsyncTowline(binary, state_dir=state) as client:
        started = [
            await client.start(server.url("f"), tmp_path / str(n), start_paused=True) for n in range(3)
        ]
        assert (await client.resume_all(started[:2])).changed == 2
        assert (await client.wait_all(started[:2])).completed == 2
        assert (await client.pause_all()).matched == 1
        outcome = await client.cancel_all(started)
        assert outcome.changed == 1
        assert {e.error["code"] for e in outcome.errors} == {1002}


@asynchronous
async def test_list_goes_over_all_pages(binary: str, server: Server, state: Path, tmp_path: Path) -> None:
    async with AsyncTowline(binary, state_dir=state) as client:
        started = await asyncio.gather(
            *(client.start(server.url("f"), tmp_path / str(n), start_paused=True) for n in range(130))
        )
        ids = {s.id for s in started}
        assert {d.id async for d in client.list()} == ids
        page = await client.list_page(limit=10)
        assert len(page.downloads) == 10
        assert page.next_cursor is not None
        assert [d async for d in client.list(states=["active"])] == []
        (values,) = [v async for v in client.list_values("state", ids=[started[0]])]
        assert values["state"] == "paused"
        assert "url" not in values
        await client.cancel(started[0])
        assert [d.state async for d in client.list(changed_since=page.revision)] == ["canceled"]


@asynchronous
async def test_events_of_all_and_of_one(binary: str, server: Server, state: Path, tmp_path: Path) -> None:
    held = server.add("f", content(3, 200_000), hold_at=100_000)
    server.add("g", b"g")
    async with AsyncTowline(binary, state_dir=state, progress_interval=0.05) as client:
        everything = client.events()
        started = await client.start(server.url("f"), tmp_path / "f")
        await client.fetch(server.url("g"), tmp_path / "g")
        stream = client.events(started)
        first = await stream.__anext__()
        assert isinstance(first, Changed)
        assert first.download.state in ("queued", "active")
        held.release()
        rest = [event async for event in stream]  # ends by itself
        assert {event.id for event in rest if isinstance(event, (Changed, Progress))} == {started.id}
        last = rest[-1]
        assert isinstance(last, Changed)
        assert last.download.state == "completed"
        # A stream of a finished download has its state, and ends.
        assert [e.download.state async for e in client.events(started) if isinstance(e, Changed)] == [
            "completed"
        ]
    states = [e.download.state async for e in everything if isinstance(e, Changed)]
    assert states.count("completed") == 2


@asynchronous
async def test_subscriptions_and_settings(binary: str, state: Path) -> None:
    async with AsyncTowline(binary, state_dir=state) as client:
        settings = await client.configure(max_active=3, defaults={"user_agent": "mine/1"})
        assert (settings.max_active, settings.defaults.user_agent) == (3, "mine/1")
        subscription = await client.subscribe(["changed"])
        await client.unsubscribe(subscription)
        assert (await client.call("ping")) == {}
        with pytest.raises(towline.InvalidParams):
            await client.call("ping", {"mistyped": 1})
        with pytest.raises(towline.MethodNotFound):
            await client.call("nothing")


@asynchronous
async def test_a_wait_times_out_with_the_download(
    binary: str, server: Server, state: Path, tmp_path: Path
) -> None:
    async with AsyncTowline(binary, state_dir=state) as client:
        started = await client.start(server.url("f"), tmp_path / "f", start_paused=True)
        with pytest.raises(towline.WaitTimedOut) as caught:
            await client.wait(started, timeout=0.05)
        assert caught.value.download is not None
        assert caught.value.download.state == "paused"
        with pytest.raises(TimeoutError):
            await client.wait_all(timeout=0.05)


@asynchronous
async def test_a_cancelled_wait_leaves_the_client_usable(
    binary: str, server: Server, state: Path, tmp_path: Path
) -> None:
    async with AsyncTowline(binary, state_dir=state) as client:
        started = await client.start(server.url("f"), tmp_path / "f", start_paused=True)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.wait(started), 0.05)
        assert (await client.get(started)).state == "paused"


@asynchronous
async def test_shutdown_finish_waits_for_the_downloads(
    binary: str, server: Server, state: Path, tmp_path: Path
) -> None:
    server.add("f", content(4, 200_000), rate=1_000_000)
    async with AsyncTowline(binary, state_dir=state) as client:
        await client.start(server.url("f"), tmp_path / "f")
        await client.shutdown("finish")
        assert (tmp_path / "f").stat().st_size == 200_000
        with pytest.raises(towline.ClientClosed):
            await client.ping()


@asynchronous
async def test_what_is_unfinished_at_the_end_is_resumed_by_the_same_start(
    binary: str, server: Server, state: Path, tmp_path: Path
) -> None:
    held = server.add("f", content(5, 3_000_000), hold_at=2_000_000)
    async with AsyncTowline(binary, state_dir=state) as client:
        await received(client, await client.start(server.url("f"), tmp_path / "f"), 2_000_000)
    held.release()
    async with AsyncTowline(binary, state_dir=state) as client:
        started = await client.start(server.url("f"), tmp_path / "f")
        assert (started.created, started.resumed) == (False, True)
        assert (await client.wait(started)).state == "completed"
    assert held.ranges[0] is None
    assert held.ranges[1] is not None
    assert int(held.ranges[1][len("bytes=") :].partition("-")[0]) > 900_000


@asynchronous
async def test_resume_interrupted_resumes_by_itself(
    binary: str, server: Server, state: Path, tmp_path: Path
) -> None:
    held = server.add("f", content(6, 100_000), hold_at=50_000)
    async with AsyncTowline(binary, state_dir=state) as client:
        started = await client.start(server.url("f"), tmp_path / "f")
    held.release()
    async with AsyncTowline(binary, state_dir=state, resume_interrupted=True) as client:
        assert (await client.wait(started)).state == "completed"


# A service that dies


async def crash_in_the_middle(
    client: AsyncTowline, held: Resource, url: str, path: Path
) -> tuple[towline.Download, list[towline.Event]]:
    started = await client.start(url, path)
    await received(client, started, held.hold_at or 0)
    stream = client.events(started)
    events = [await stream.__anext__()]
    waiting = asyncio.ensure_future(client.wait(started))
    await client.ping()  # the wait is on its way
    first = client.process_id
    assert first is not None
    os.kill(first, signal.SIGKILL)
    held.release()
    download = await waiting
    assert client.process_id != first
    events += [event async for event in stream]
    return download, events


@asynchronous
async def test_a_killed_service_is_respawned_and_its_downloads_continue(
    binary: str, server: Server, state: Path, tmp_path: Path
) -> None:
    held = server.add("f", content(7, 3_000_000), hold_at=2_000_000)
    async with AsyncTowline(binary, state_dir=state) as client:
        await client.configure(max_active=2)
        download, events = await crash_in_the_middle(client, held, server.url("f"), tmp_path / "f")
        assert download.state == "completed"
        assert download.transfer is not None
        assert download.transfer.mode == "resumed"
        respawned = next(e for e in events if isinstance(e, Respawned))
        assert (respawned.status, respawned.resumed) == (-signal.SIGKILL, (download.id,))
        after = events[events.index(respawned) + 1]
        assert isinstance(after, Changed)
        assert after.download.is_interrupted
        assert (await client.configure()).max_active == 2
    assert (tmp_path / "f").read_bytes() == held.body


@asynchronous
async def test_what_the_user_paused_stays_paused_after_a_crash(
    binary: str, server: Server, state: Path, tmp_path: Path
) -> None:
    server.add("f", content(8, 100_000), hold_at=50_000)
    async with AsyncTowline(binary, state_dir=state) as client:
        started = await client.start(server.url("f"), tmp_path / "f")
        await client.pause(started)
        stream = client.events()
        assert client.process_id is not None
        os.kill(client.process_id, signal.SIGKILL)
        # The event of the pause may follow its answer.
        event = await stream.__anext__()
        while isinstance(event, Changed) and event.download.state == "paused":
            event = await stream.__anext__()
        assert isinstance(event, Respawned)
        assert event.resumed == ()
        assert (await client.get(started)).reason == "user"


@asynchronous
async def test_without_respawn_the_end_of_the_service_is_reported(binary: str, state: Path) -> None:
    async with AsyncTowline(binary, state_dir=state, respawn=False) as client:
        stream = client.events()
        assert client.process_id is not None
        os.kill(client.process_id, signal.SIGKILL)
        with pytest.raises(towline.ServiceDied) as caught:
            await stream.__anext__()
        assert caught.value.status == -signal.SIGKILL
        with pytest.raises(towline.ServiceDied):
            await client.ping()


@asynchronous
async def test_a_service_that_was_asked_to_end_is_not_respawned(binary: str, state: Path) -> None:
    async with AsyncTowline(binary, state_dir=state) as client:
        stream = client.events()
        assert client.process_id is not None
        os.kill(client.process_id, signal.SIGTERM)
        with pytest.raises(towline.ServiceDied) as caught:
            await stream.__anext__()
        assert caught.value.status == 128 + signal.SIGTERM


@asynchronous
async def test_a_request_that_must_not_be_repeated_fails_and_others_are_asked_again(fake: Fake) -> None:
    fake.crash_at("pause")
    async with AsyncTowline(fake.binary, env=fake.env) as client:
        started = await client.start("http://h/f", "/d/f", id="mine")
        await client.subscribe()
        results = await asyncio.gather(
            client.pause(started), client.get(started), client.wait(started), return_exceptions=True
        )
        assert isinstance(results[0], towline.ServiceDied)
        assert isinstance(results[1], towline.Download)
        assert isinstance(results[2], towline.Download)
    after = fake.methods()[fake.methods().index("pause") + 1 :]
    assert after[0] == "initialize"
    assert after.index("subscribe") < after.index("list") < after.index("resume")
    assert after.index("resume") < after.index("wait"), "it would settle before the download continues"


@asynchronous
async def test_a_start_with_an_id_survives_a_crash(fake: Fake) -> None:
    fake.crash_at("start")
    async with AsyncTowline(fake.binary, env=fake.env) as client:
        assert (await client.start("http://h/f", "/d/f", id="mine")).id == "mine"
        fake.crashes.write_text("x")
        with pytest.raises(towline.ServiceDied):
            await client.start("http://h/f", "/d/f")


@asynchronous
async def test_a_service_that_always_crashes_is_given_up(fake: Fake) -> None:
    fake.crash_at("get", times=100)
    async with AsyncTowline(fake.binary, env=fake.env) as client:
        with pytest.raises(towline.ServiceDied):
            await client.get("a")
    assert fake.methods().count("get") == 5


@asynchronous
async def test_a_service_that_crashes_while_it_is_brought_up_is_tried_again(fake: Fake) -> None:
    fake.crash_at("initialize", times=2)
    async with AsyncTowline(fake.binary, env=fake.env) as client:
        await client.ping()
    assert fake.methods() == ["initialize"] * 3 + ["list", "ping"]


@asynchronous
async def test_a_service_that_cannot_run_says_why(fake: Fake, caplog: pytest.LogCaptureFixture) -> None:
    fake.env["FAKE_STATUS"] = "73"
    with caplog.at_level(logging.WARNING, "towline.service"):
        with pytest.raises(towline.ServiceDied) as caught:
            async with AsyncTowline(fake.binary, env=fake.env):
                pass
    assert caught.value.status == 73
    assert "state directory" in str(caught.value)
    assert "state directory" in caplog.text


# Odd peers, full pipes


@asynchronous
async def test_methods_of_later_versions_have_the_shape_of_the_protocol(fake: Fake) -> None:
    async with AsyncTowline(fake.binary, env=fake.env) as client:
        assert (await client.update("a", url="http://h/new", priority=None)).url == "http://h/new"
        assert await client.export("a") == "opaque"
    sent = {m["method"]: m["params"] for m in fake.read()}
    assert sent["update"] == {"id": "a", "url": "http://h/new", "priority": None}
    assert sent["export"] == {"id": "a"}


@asynchronous
async def test_garbage_and_news_of_later_versions_are_passed_over(fake: Fake) -> None:
    async with AsyncTowline(fake.binary, env=fake.env) as client:
        await client.call("garbage")
        assert (await client.get("a")).unknown == {"aMemberOfALaterVersion": [1, 2]}
        with pytest.raises(towline.ProtocolError):
            await client._perform(towline.calls.Call("odd", {}, towline.Started.from_wire))


@asynchronous
async def test_lines_of_any_length_and_full_pipes(fake: Fake) -> None:
    """The stand-in reads nothing while it writes: whoever writes without reading hangs with it."""
    async with AsyncTowline(fake.binary, env=fake.env) as client:
        results = await asyncio.gather(
            *(client.call("big", {"size": 100_000, "_padding": "y" * 50_000}) for _ in range(100))
        )
        assert [len(r["text"]) for r in results] == [100_000] * 100


@asynchronous
async def test_unread_events_cost_no_answers(fake: Fake) -> None:
    async with AsyncTowline(fake.binary, env=fake.env) as client:
        stream = client.events()
        await client.call("events", {"changes": 10_001})
        first = await stream.__anext__()
        assert isinstance(first, towline.EventsLost)
        assert (first.from_seq, first.to_seq) == (1, 10_001)


@asynchronous
async def test_a_silent_service_is_an_error_after_a_while(fake: Fake) -> None:
    async with AsyncTowline(fake.binary, env=fake.env, answer_timeout=1) as client:
        with pytest.raises(towline.AnswerTimedOut):
            await client.call("sleep", {"seconds": 1.5})
        await asyncio.sleep(0.6)
        await client.ping()


@asynchronous
async def test_a_client_is_used_inside_its_block_only(binary: str, state: Path) -> None:
    client = AsyncTowline(binary, state_dir=state)
    with pytest.raises(towline.ClientClosed):
        await client.ping()
    async with client:
        await client.ping()
    with pytest.raises(towline.ClientClosed):
        await client.ping()
    with pytest.raises(towline.ClientClosed):
        await client.open()
    await client.close()


@asynchronous
async def test_closing_ends_what_waits(fake: Fake) -> None:
    client = AsyncTowline(fake.binary, env=fake.env)
    await client.open()
    stream = client.events()
    waiting = asyncio.ensure_future(client.call("sleep", {"seconds": 0.5}))
    asking = asyncio.ensure_future(client.ping())
    await asyncio.sleep(0)
    await client.close()
    assert [event async for event in stream] == []
    for task in (waiting, asking):
        with contextlib.suppress(towline.ClientClosed):  # if the answer was not there before the end
            await task
        assert task.done()
