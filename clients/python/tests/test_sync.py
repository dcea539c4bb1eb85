"""The client for threads: what is its own. The rest it shares with the one for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import Fake
from loopback import Server, content

import towline
from towline import AsyncTowline, Changed, Progress, Respawned, Towline


def received(client: Towline, target: towline.Started, count: int) -> None:
    """Returns when so many bytes were received."""
    for event in client.events(target):
        if isinstance(event, Progress) and event.received_bytes >= count:
            return


def test_both_clients_have_the_same_methods_and_parameters() -> None:
    def interface(client: type) -> dict[str, str]:
        methods = inspect.getmembers(client, inspect.isfunction)
        return {
            name: str(inspect.signature(m).replace(return_annotation=""))
            for name, m in methods
            if name[0] != "_"
        }

    assert interface(Towline) == interface(AsyncTowline)


def test_a_file_is_downloaded_whole(binary: str, server: Server, state: Path, tmp_path: Path) -> None:
    body = content(1, 300_000)
    server.add("file.bin", body)
    with Towline(binary, state_dir=state) as client:
        download = client.fetch(server.url("file.bin"), directory=tmp_path)
        assert download.path == tmp_path / "file.bin"
        with pytest.raises(towline.DownloadNotFound):
            client.get("nothing")
    assert (tmp_path / "file.bin").read_bytes() == body


def test_list_goes_over_all_pages(binary: str, server: Server, state: Path, tmp_path: Path) -> None:
    with Towline(binary, state_dir=state) as client:
        with ThreadPoolExecutor(8) as pool:
            ids = {
                s.id
                for s in pool.map(
                    lambda n: client.start(server.url("f"), tmp_path / str(n), start_paused=True), range(130)
                )
            }
        assert {d.id for d in client.list()} == ids
        assert {v["id"] for v in client.list_values("id")} == ids


def test_events_end_with_their_download(binary: str, server: Server, state: Path, tmp_path: Path) -> None:
    held = server.add("f", content(2, 200_000), hold_at=100_000)
    with Towline(binary, state_dir=state, progress_interval=0.05) as client:
        everything = client.events()
        assert everything.poll() is None
        started = client.start(server.url("f"), tmp_path / "f")
        received(client, started, 100_000)
        stream = client.events(started)
        assert isinstance(stream.poll(5), Changed)
        held.release()
        last = list(stream)[-1]
        assert isinstance(last, Changed)
        assert last.download.state == "completed"
        assert stream.poll() is None
    assert [e.download.state for e in everything if isinstance(e, Changed)][-1] == "completed"


def test_a_killed_service_is_respawned_and_its_downloads_continue(
    binary: str, server: Server, state: Path, tmp_path: Path
) -> None:
    held = server.add("f", content(3, 3_000_000), hold_at=2_000_000)
    with Towline(binary, state_dir=state) as client:
        started = client.start(server.url("f"), tmp_path / "f")
        received(client, started, 2_000_000)
        everything = client.events()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(client.wait, started)
            client.ping()
            assert client.process_id is not None
            os.kill(client.process_id, signal.SIGKILL)
            held.release()
            download = waiting.result(20)
        assert download.state == "completed"
        assert download.transfer is not None
        assert download.transfer.mode == "resumed"
    assert any(isinstance(e, Respawned) and e.resumed == (started.id,) for e in everything)
    assert (tmp_path / "f").read_bytes() == held.body


def test_a_request_that_must_not_be_repeated_fails_and_others_are_asked_again(fake: Fake) -> None:
    fake.crash_at("pause")
    with Towline(fake.binary, env=fake.env) as client:
        subscription = client.subscribe()
        started = client.start("http://h/f", "/d/f", id="mine")
        with pytest.raises(towline.ServiceDied):
            client.pause(started)
        assert client.get(started).id == "mine"
        client.unsubscribe(subscription)
    # The subscription of the second process has another name.
    assert [m["params"] for m in fake.read() if m["method"] == "unsubscribe"] == [
        {"subscription": f"s{pid}"} for pid in [second_process(fake)]
    ]


def second_process(fake: Fake) -> int:
    return int((fake.log.parent / "pids").read_text().split()[1])


def test_a_service_that_always_crashes_is_given_up(fake: Fake) -> None:
    fake.crash_at("get", times=100)
    with Towline(fake.binary, env=fake.env) as client:
        stream = client.events()
        with pytest.raises(towline.ServiceDied):
            client.get("a")
        with pytest.raises(towline.ServiceDied):
            list(stream)
    assert fake.methods().count("get") == 5


def test_a_service_that_crashes_while_it_is_brought_up_is_tried_again(fake: Fake) -> None:
    fake.crash_at("initialize", times=2)
    with Towline(fake.binary, env=fake.env) as client:
        client.ping()
    assert fake.methods() == ["initialize"] * 3 + ["list", "ping"]


def test_a_service_that_cannot_run_says_why(fake: Fake) -> None:
    fake.env["FAKE_STATUS"] = "73"
    with pytest.raises(towline.ServiceDied, match="state directory") as caught:
        Towline(fake.binary, env=fake.env).open()
    assert caught.value.status == 73


def test_a_file_that_is_no_program_is_an_error(tmp_path: Path) -> None:
    text = tmp_path / "towline"
    text.write_bytes(b"\x00no program")
    text.chmod(0o755)
    with pytest.raises(towline.ServiceDied):
        Towline(text).open()
    with pytest.raises(towline.BinaryNotFound):
        Towline(tmp_path / "missing")


def test_lines_of_any_length_and_full_pipes(fake: Fake) -> None:
    """The stand-in reads nothing while it writes: whoever writes without reading hangs with it."""
    with Towline(fake.binary, env=fake.env) as client, ThreadPoolExecutor(20) as pool:
        params = {"size": 100_000, "_padding": "y" * 50_000}
        results = list(pool.map(lambda _: client.call("big", params), range(100)))
    assert [len(r["text"]) for r in results] == [100_000] * 100


def test_unread_events_cost_no_answers(fake: Fake) -> None:
    with Towline(fake.binary, env=fake.env) as client:
        stream = client.events()
        client.call("events", {"changes": 10_001})
        lost = stream.poll()
        assert isinstance(lost, towline.EventsLost)
        assert (lost.from_seq, lost.to_seq) == (1, 10_001)


def test_a_silent_service_is_an_error_after_a_while(fake: Fake) -> None:
    with Towline(fake.binary, env=fake.env, answer_timeout=1) as client:
        with pytest.raises(towline.AnswerTimedOut):
            client.call("sleep", {"seconds": 1.2})
    with Towline(fake.binary, env=fake.env) as client:
        client.ping()


def test_a_service_that_does_not_react_to_the_end_is_killed(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("towline.connection.EXIT_TIMEOUT", 0.3)
    with Towline(fake.binary, env=fake.env) as client:
        stopped = client.process_id
        assert stopped is not None
        os.kill(stopped, signal.SIGSTOP)
    with pytest.raises(ProcessLookupError):
        os.kill(stopped, 0)


def test_closing_ends_what_waits(fake: Fake) -> None:
    client = Towline(fake.binary, env=fake.env)
    client.open()
    stream = client.events()
    begun = threading.Event()

    def ask() -> object:
        begun.set()
        return client.call("sleep", {"seconds": 0.3})

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask)
        begun.wait(5)
        client.close()
        assert waiting.exception(5) is None or isinstance(waiting.exception(), towline.ClientClosed)
    assert list(stream) == []
    with pytest.raises(towline.ClientClosed):
        client.ping()


# Ctrl-C


PROGRAMS = {
    "sync": """
        import sys, towline
        url, path, state = sys.argv[1:]
        with towline.Towline(state_dir=state) as client:
            started = client.start(url, path)
            for event in client.events(started):
                if isinstance(event, towline.Progress) and event.received_bytes >= 2_000_000:
                    break
            print(client.process_id, flush=True)
            client.wait(started)
    """,
    "async": """
        import asyncio, sys, towline
        url, path, state = sys.argv[1:]
        async def main():
            async with towline.AsyncTowline(state_dir=state) as client:
                started = await client.start(url, path)
                async for event in client.events(started):
                    if isinstance(event, towline.Progress) and event.received_bytes >= 2_000_000:
                        break
                print(client.process_id, flush=True)
                await client.wait(started)
        asyncio.run(main())
    """,
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_ctrl_c_ends_program_and_service_in_order(
    kind: str, server: Server, state: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    held = server.add("f", content(4, 3_000_000), hold_at=2_000_000)
    arguments = [server.url("f"), str(tmp_path / "f"), str(state)]
    program = subprocess.Popen(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(PROGRAMS[kind]), *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    service = int(program.stdout.readline())
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does it
    _, errors = program.communicate(timeout=20)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    for complaint in (
        "never retrieved",
        "Event loop is closed",
        "was destroyed",
        "ResourceWarning",
        "Ignored",
    ):
        assert complaint not in errors
    assert program.returncode in (130, -signal.SIGINT, 1)
    with pytest.raises(ProcessLookupError):
        os.kill(service, 0)
    # The service ended in order: it kept all that was received, not only what a crash would leave.
    with Towline(environment["TOWLINE"], state_dir=state) as client:
        (download,) = client.list()
        assert download.is_interrupted
        assert download.received_bytes == held.hold_at


def test_a_killed_program_leaves_no_service_behind(
    server: Server, state: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    server.add("f", content(5, 3_000_000), hold_at=2_000_000)
    arguments = [server.url("f"), str(tmp_path / "f"), str(state)]
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAMS["sync"]), *arguments],
        env=environment,
        stdout=subprocess.PIPE,
    )
    assert program.stdout is not None
    program.stdout.readline()
    program.kill()
    program.wait()
    # Its records are free as soon as it exits.
    with Towline(environment["TOWLINE"], state_dir=state) as client:
        (download,) = client.list()
        for _ in range(100):
            download = client.get(download)
            if download.owner != "other":
                break
            threading.Event().wait(0.05)
        assert (download.owner, download.is_interrupted) == ("none", True)
    program.stdout.close()


# Downloads that outlive their program


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("how", ["background", "finish"])
def test_a_background_download_outlives_its_client(
    kind: str, how: str, binary: str, server: Server, state: Path, tmp_path: Path
) -> None:
    held = server.add("f", content(6, 300_000), hold_at=100_000)
    background, on_host_exit = (True, None) if how == "background" else (False, "finish")

    async def leave() -> None:
        async with AsyncTowline(binary, state_dir=state, on_host_exit=on_host_exit) as client:  # type: ignore[arg-type]
            await client.start(server.url("f"), tmp_path / "f", background=background)

    if kind == "async":
        asyncio.run(leave())
    else:
        with Towline(binary, state_dir=state, on_host_exit=on_host_exit) as client:  # type: ignore[arg-type]
            client.start(server.url("f"), tmp_path / "f", background=background)
    assert not (tmp_path / "f").exists()
    held.release()
    deadline = time.monotonic() + 20
    while not (tmp_path / "f").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert (tmp_path / "f").read_bytes() == held.body
