"""A process without free file descriptors: no download fails, all wait until a descriptor is free."""

from __future__ import annotations

import errno
import os
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fixtures import Launcher
from nginx_server import Nginx
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, QUICK_RETRY, finish
from towline_client import JSON, Towline

#: would allow one try, if such a try counted
ONE_TRY = {**QUICK_RETRY, "maxAttempts": 0}


@contextmanager
def descriptors_left(host: Towline, count: int) -> Iterator[None]:
    """Limits the process to this many more descriptors."""
    process = host.process.pid
    taken = {int(name) for name in os.listdir(f"/proc/{process}/fd")}
    limits = resource.prlimit(process, resource.RLIMIT_NOFILE)
    free = [number for number in range(len(taken) + count + 1) if number not in taken]
    resource.prlimit(process, resource.RLIMIT_NOFILE, (free[count], limits[1]))
    yield
    resource.prlimit(process, resource.RLIMIT_NOFILE, limits)


def wait_for_tries(host: Towline, download_id: str, count: int = 4) -> JSON:
    """The download after it has waited this many times."""

    def has_waited(event: JSON) -> bool:
        return sum(d["state"] in ("waiting", "failed") for d in host.changed(download_id)) >= count

    host.wait_event(has_waited)
    return host.changed(download_id)[-1]


Url = Callable[[ScriptedServer, Nginx], str]
PEERS: dict[str, Url] = {
    "http": lambda server, nginx: server.url("/f"),
    "https": lambda server, nginx: f"{nginx.https}/descriptors",
    "a name to look up": lambda server, nginx: f"http://nobody.invalid:{server.port}/f",
}


@pytest.mark.parametrize("left", [0, 1, 2])
@pytest.mark.parametrize("peer", PEERS)
def test_a_download_waits_for_a_descriptor_to_connect_with(
    launch: Launcher, server: ScriptedServer, nginx: Nginx, work: Path, peer: str, left: int
) -> None:
    if left > 0 and peer == "http":
        pytest.skip("enough to connect with")
    data = content(1, 1000)
    server.add("/f", data)
    (nginx.root / "descriptors").write_bytes(data)
    host = launch(env={"SSL_CERT_FILE": str(nginx.authority)})
    host.call("ping")
    with descriptors_left(host, left):
        request = {"url": PEERS[peer](server, nginx), "path": str(work / "f"), "retry": ONE_TRY}
        download_id = host.call("start", **request)["download"]["id"]
        waiting = wait_for_tries(host, download_id)
        assert waiting["state"] != "failed"
        errors = [d["error"] for d in host.changed(download_id) if d["state"] == "waiting"]
        assert [e["errno"] for e in errors] == [errno.EMFILE] * len(errors)
        assert all(e["retryable"] for e in errors)
    end = finish(host, download_id)
    if peer == "a name to look up":
        assert (end["state"], end["error"]["kind"]) == ("failed", "dns")
    else:
        assert (end["state"], end["attempt"]) == ("completed", 1)
        assert (work / "f").read_bytes() == data


@pytest.mark.parametrize("size", [1000, MIB])
def test_a_download_waits_for_a_descriptor_to_write_with(
    launch: Launcher, server: ScriptedServer, work: Path, size: int
) -> None:
    data, head = content(2, size), threading.Event()
    server.add("/f", data).then(Behaviour(hold_head=head))
    host = launch()
    request = {"url": server.url("/f"), "path": str(work / "f"), "retry": ONE_TRY}
    download_id = host.call("start", **request)["download"]["id"]
    server.wait_requests("/f", 1)
    with descriptors_left(host, 0):
        head.set()
        assert wait_for_tries(host, download_id)["state"] != "failed"
    end = finish(host, download_id)
    assert (end["state"], end["attempt"]) == ("completed", 1)
    assert (work / "f").read_bytes() == data


def test_a_shortage_does_not_use_up_the_tries(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x").then(Behaviour(status=503), Behaviour(status=503))
    host = launch()
    host.call("ping")
    with descriptors_left(host, 0):
        retry = {**QUICK_RETRY, "maxAttempts": 2}
        request = {"url": server.url("/f"), "path": str(work / "f"), "retry": retry}
        download_id = host.call("start", **request)["download"]["id"]
        wait_for_tries(host, download_id, 5)
    assert finish(host, download_id)["state"] == "completed"


def test_files_that_wait_for_a_slow_disk_take_a_bounded_number_of_descriptors(
    launch: Launcher, nginx: Nginx, slow_commits: Path, work: Path
) -> None:
    """Small files come faster than this disk makes them durable."""
    count, most = 1_500, 0
    (nginx.root / "small").write_bytes(content(3, 16_384))
    slow = {"SLOW_COMMITS_PATH": str(work), "SLOW_COMMITS_MS": "200", "SLOW_COMMITS_SEED": "1"}
    host = launch(env={"LD_PRELOAD": str(slow_commits), **slow})
    host.call("configure", maxActive=64, maxActivePerHost=64)
    before = len(os.listdir(f"/proc/{host.process.pid}/fd"))
    for number in range(count):
        host.send(
            "start", {"id": f"d{number}", "url": f"{nginx.http}/small", "path": str(work / str(number))}
        )
    waiting = host.send("wait", {"all": True, "until": "final"})
    done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.005):
            most = max(most, len(os.listdir(f"/proc/{host.process.pid}/fd")))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert host.answer(waiting, 60)["counts"]["completed"] == count
    finally:
        done.set()
        watcher.join()
    # A connection and a file of each active one, files that are being finished, and idle connections.
    assert most - before <= 64 + 64 + 256 + 64
