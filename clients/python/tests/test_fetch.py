"""`fetch` of both clients, and `download`: progress, timeouts, what is left behind, and plain refusals."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, Callable

import pytest
from loopback import Resource, Server, content

import towline
from towline import AsyncTowline, Download, FinishedDownload, Progress, Towline

Fetch = Callable[..., FinishedDownload]


@pytest.fixture(params=["sync", "async"])
def fetch(request: pytest.FixtureRequest, binary: str, state: Path) -> Fetch:
    """`fetch` of a client that lives as long as the call."""

    def in_thread(*arguments: Any, **options: Any) -> FinishedDownload:
        with Towline(binary, state_dir=state, progress_interval=0.05) as client:
            return client.fetch(*arguments, **options)

    async def in_task(*arguments: Any, **options: Any) -> FinishedDownload:
        async with AsyncTowline(binary, state_dir=state, progress_interval=0.05) as client:
            return await client.fetch(*arguments, **options)

    if request.param == "sync":
        return in_thread
    return lambda *arguments, **options: asyncio.run(in_task(*arguments, **options))


@pytest.fixture
def records(binary: str, state: Path) -> Callable[[], list[Download]]:
    def read() -> list[Download]:
        with Towline(binary, state_dir=state) as client:
            return list(client.list())

    return read


@pytest.fixture
def held(server: Server) -> Resource:
    return server.add("f", content(1, 3_000_000), hold_at=2_000_000)


def test_the_path_is_a_path(fetch: Fetch, server: Server, tmp_path: Path) -> None:
    server.add("f", b"abc")
    assert fetch(server.url("f"), tmp_path / "f").path.read_bytes() == b"abc"


def test_progress_is_shown_up_to_the_end(fetch: Fetch, server: Server, tmp_path: Path) -> None:
    server.add("f", content(2, 400_000), rate=800_000)
    seen: list[Progress] = []
    fetch(server.url("f"), tmp_path / "f", progress=seen.append)
    counts = [event.received_bytes for event in seen]
    assert len(counts) > 2
    assert counts == sorted(counts)
    assert (counts[-1], seen[-1].total_bytes, seen[-1].path) == (400_000, 400_000, tmp_path / "f")


def test_progress_of_a_file_that_is_there_is_shown_once(fetch: Fetch, server: Server, tmp_path: Path) -> None:
    server.add("f", b"abc")
    fetch(server.url("f"), tmp_path / "f", id="mine")
    seen: list[Progress] = []
    fetch(server.url("f"), tmp_path / "f", id="mine", progress=seen.append)
    assert [event.received_bytes for event in seen] == [3]


@pytest.mark.parametrize("progress", [None, lambda event: None])
@pytest.mark.parametrize(
    ("on_cancel", "left", "reason"),
    [("pause", "paused", "user"), ("cancel", "canceled", None), ("continue", "paused", "interrupted")],
)
def test_a_timeout_leaves_what_was_asked_for(
    fetch: Fetch,
    records: Callable[[], list[Download]],
    server: Server,
    held: Resource,
    tmp_path: Path,
    on_cancel: str,
    left: str,
    reason: str | None,
    progress: Any,
) -> None:
    began = time.monotonic()
    with pytest.raises(towline.WaitTimedOut) as caught:
        fetch(server.url("f"), tmp_path / "f", timeout=0.7, on_cancel=on_cancel, progress=progress)
    assert 0.6 < time.monotonic() - began < 10
    assert caught.value.download is not None
    assert str(caught.value) == "f is active after 0.7 s"
    (record,) = records()
    assert (record.state, record.reason) == (left, reason)
    assert (tmp_path / "f.towline").exists() == (on_cancel != "cancel")


def test_the_same_fetch_resumes_what_it_paused(
    fetch: Fetch, server: Server, held: Resource, tmp_path: Path
) -> None:
    with pytest.raises(towline.WaitTimedOut):
        fetch(server.url("f"), tmp_path / "f", timeout=0.7)
    held.release()
    assert fetch(server.url("f"), tmp_path / "f").path.read_bytes() == held.body
    assert held.ranges[1] is not None


def test_an_exception_in_progress_ends_the_call(
    fetch: Fetch, records: Callable[[], list[Download]], server: Server, held: Resource, tmp_path: Path
) -> None:
    def enough(event: Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fetch(server.url("f"), tmp_path / "f", progress=enough)
    assert [record.state for record in records()] == ["paused"]


def test_a_canceled_task_cancels_its_download(
    binary: str, server: Server, held: Resource, state: Path, tmp_path: Path
) -> None:
    async def run() -> list[str]:
        async with AsyncTowline(binary, state_dir=state) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(
                    client.fetch(server.url("f"), tmp_path / "f", on_cancel="cancel"), timeout=0.7
                )
            return [download.state async for download in client.list()]

    assert asyncio.run(run()) == ["canceled"]


def test_ctrl_c_pauses(server: Server, held: Resource, environment: dict[str, str], tmp_path: Path) -> None:
    program = (
        "import sys, towline\n"
        "with towline.Towline() as client:\n"
        "    try: client.fetch(sys.argv[1], 'f')\n"
        "    except KeyboardInterrupt: print(*[(d.state, d.reason) for d in client.list()])\n"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", program, server.url("f")],
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    while not held.held:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=20)[0] == "('paused', 'user')\n"


def test_a_download_that_was_paused_elsewhere_ends_the_call(
    binary: str, server: Server, held: Resource, state: Path, tmp_path: Path
) -> None:
    with Towline(binary, state_dir=state) as client:

        def pause(event: Progress) -> None:
            client.pause(event.id)

        with pytest.raises(towline.DownloadFailed, match="paused"):
            client.fetch(server.url("f"), tmp_path / "f", progress=pause)


def test_a_failed_download_with_an_id_is_tried_again(fetch: Fetch, server: Server, tmp_path: Path) -> None:
    resource = server.add("f", b"abc", status=404)
    with pytest.raises(towline.DownloadFailed, match="httpStatus"):
        fetch(server.url("f"), tmp_path / "f", id="mine")
    resource.status = 200
    assert fetch(server.url("f"), tmp_path / "f", id="mine").path.read_bytes() == b"abc"


def test_what_another_process_downloads_is_waited_for_and_taken_over(
    fetch: Fetch, binary: str, server: Server, held: Resource, state: Path, tmp_path: Path
) -> None:
    owner = Towline(binary, state_dir=state)
    owner.open()
    owner.start(server.url("f"), tmp_path / "f")
    while not held.held:
        time.sleep(0.01)

    def leave(event: Progress) -> None:
        held.release()
        owner.close()

    with pytest.raises(towline.WaitTimedOut):
        fetch(server.url("f"), tmp_path / "f", timeout=0.3)
    assert owner.list_page().downloads[0].state == "active", "not ours to pause"
    assert fetch(server.url("f"), tmp_path / "f", progress=leave).path.read_bytes() == held.body
    owner.close()


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_crash_of_the_service_does_not_end_the_call(
    kind: str, binary: str, server: Server, held: Resource, state: Path, tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill(client: Towline | AsyncTowline, event: Progress) -> None:
        if not killed and event.received_bytes > 1_000_000 and client.process_id is not None:
            killed.append(client.process_id)
            os.kill(client.process_id, signal.SIGKILL)
            held.release()

    async def in_task() -> FinishedDownload:
        async with AsyncTowline(binary, state_dir=state, progress_interval=0.05) as client:
            return await client.fetch(server.url("f"), tmp_path / "f", progress=partial(kill, client))

    if kind == "async":
        finished = asyncio.run(in_task())
    else:
        with Towline(binary, state_dir=state, progress_interval=0.05) as client:
            finished = client.fetch(server.url("f"), tmp_path / "f", progress=partial(kill, client))
    assert killed
    assert finished.path.read_bytes() == held.body
    assert held.ranges[-1] is not None, "it started from zero"


def test_forget_removes_the_record_and_not_the_file(
    fetch: Fetch, records: Callable[[], list[Download]], server: Server, tmp_path: Path
) -> None:
    server.add("f", b"abc")
    server.add("bad", b"", status=404)
    assert fetch(server.url("f"), tmp_path / "f", forget=True).path.read_bytes() == b"abc"
    assert records() == []
    with pytest.raises(towline.DownloadFailed):
        fetch(server.url("bad"), tmp_path / "bad", forget=True)
    assert [record.state for record in records()] == ["failed"]


def test_what_cannot_be_a_destination_is_said_plainly(fetch: Fetch, server: Server, tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"is a directory: give it as `directory`"):
        fetch(server.url("f"), tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        fetch(server.url("f"), f"{tmp_path}/missing/")
    for options in ({"path": tmp_path / "missing/f"}, {"directory": tmp_path / "missing"}):
        with pytest.raises(towline.DestinationConflict, match=r"directory.*/missing"):
            fetch(server.url("f"), **options)


def test_an_unknown_option_is_named(fetch: Fetch, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="connect_timeout_ms"):
        fetch("http://h/f", tmp_path / "f", connect_timeout_ms=1)
    with pytest.raises(ValueError, match="pause, cancel, continue"):
        fetch("http://h/f", tmp_path / "f", on_cancel="stop")
    with pytest.raises(ValueError, match="not a number of seconds: inf"):
        fetch("http://h/f", tmp_path / "f", connect_timeout=float("inf"))


# In one call


@pytest.fixture
def surroundings(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def test_download_makes_a_file_or_puts_it_into_a_directory(server: Server, surroundings: Path) -> None:
    server.add("f", b"abc")
    assert towline.download(server.url("f"), "g") == surroundings / "g"
    assert towline.download(server.url("f")) == surroundings / "f"
    (surroundings / "d").mkdir()
    assert towline.download(server.url("f"), surroundings / "d") == surroundings / "d/f"
    assert {path.read_bytes() for path in surroundings.rglob("?") if path.is_file()} == {b"abc"}
    with Towline() as client:
        assert list(client.list()) == [], "records pile up"


def test_download_again_is_no_error_and_has_the_newest_file(server: Server, surroundings: Path) -> None:
    resource = server.add("f", b"abc")
    for _ in range(2):
        assert towline.download(server.url("f"), "g").read_bytes() == b"abc"
    resource.body = b"newer"
    assert towline.download(server.url("f"), "g").read_bytes() == b"newer"
    with pytest.raises(towline.DestinationConflict):
        towline.download(server.url("f"), "g", if_exists="error")


def test_download_resumes_after_a_timeout(server: Server, held: Resource, surroundings: Path) -> None:
    with pytest.raises(towline.WaitTimedOut):
        towline.download(server.url("f"), "g", timeout=0.7)
    held.release()
    seen: list[Progress] = []
    path = towline.download(server.url("f"), "g", progress=seen.append)
    assert path.read_bytes() == held.body
    assert held.ranges[1] is not None
    assert seen[-1].received_bytes == 3_000_000


def test_download_fails_as_fetch_does(server: Server, surroundings: Path) -> None:
    with pytest.raises(towline.DownloadFailed, match="404"):
        towline.download(server.url("missing"))
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        towline.download(server.url("missing"), "missing" + os.sep)


@pytest.mark.parametrize("place", ["g", "."])
def test_download_continues_by_a_new_link(
    server: Server, held: Resource, surroundings: Path, place: str
) -> None:
    server.add("f?1", held.body, hold_at=2_000_000)
    with pytest.raises(towline.WaitTimedOut):
        towline.download(server.url("f?1"), place, timeout=0.7)
    renewed = server.add("f?2", held.body)
    path = towline.download(server.url("f?2"), place)
    assert path == surroundings / ("g" if place == "g" else "f")
    assert path.read_bytes() == held.body
    assert renewed.ranges[-1] is not None, "it started from zero"
    server.add("other", b"abc")
    assert towline.download(server.url("other"), path).read_bytes() == b"abc"
