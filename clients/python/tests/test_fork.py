"""A forked child has a copy of its parent's client, and must not use it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import pytest
from loopback import Server, content

from towline import AsyncTowline, ClientClosed, Towline


def in_child(body: Callable[[], None]) -> int:
    """Runs it in a forked child, which then exits with 0; the status."""
    child = os.fork()
    if child == 0:
        try:
            body()
        except BaseException:
            os._exit(1)
        os._exit(0)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


def test_a_client_is_closed_at_once_in_a_forked_child(binary: str, tmp_path: Path) -> None:
    with Towline(binary, state_dir=tmp_path / "state") as client:
        events = client.events()

        def use() -> None:
            for method in (client.ping, lambda: client.get("d"), lambda: next(events), client.open):
                with pytest.raises(ClientClosed, match="fork"):
                    method()
            client.close()

        assert in_child(use) == 0
        client.ping()


def test_an_asynchronous_client_is_closed_in_a_forked_child(binary: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncTowline(binary, state_dir=tmp_path / "state") as client:

            def use() -> None:
                for coroutine in (client.ping(), client.get("d")):
                    with pytest.raises(ClientClosed, match="fork"):
                        coroutine.send(None)
                with pytest.raises(StopIteration):
                    client.close().send(None)

            assert in_child(use) == 0
            await client.ping()

    asyncio.run(main())


@pytest.mark.parametrize("keeps", ["fork", "inherits"])
def test_a_process_that_lives_on_does_not_hold_up_the_end(binary: str, tmp_path: Path, keeps: str) -> None:
    client = Towline(binary, state_dir=tmp_path / "state")
    client.open()
    service = client._process
    assert service is not None
    assert service.stdin is not None
    holder = None
    if keeps == "fork":
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
    else:
        # What a C library starts may have every descriptor.
        fd = os.dup(service.stdin.fileno())
        holder = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], pass_fds=[fd])
        os.close(fd)
        child = holder.pid
    try:
        began = time.monotonic()
        client.close()
        assert service.returncode == 0
        assert time.monotonic() - began < 4
    finally:
        os.kill(child, signal.SIGKILL)
        if holder is not None:
            holder.wait()
        else:
            os.waitpid(child, 0)


def test_a_running_download_is_kept_by_the_parent_alone(binary: str, tmp_path: Path, server: Server) -> None:
    held = server.add("f", content(1, 3_000_000), hold_at=1_000_000)
    with Towline(binary, state_dir=tmp_path / "state") as client:
        started = client.start(server.url("f"), tmp_path / "f")
        assert in_child(client.close) == 0
        held.release()
        assert client.wait(started).state == "completed"
    assert (tmp_path / "f").read_bytes() == held.body
