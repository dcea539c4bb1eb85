"""Several processes with one state directory, and the limits of the queue."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from fixtures import Launcher
from nginx_server import Nginx
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, Held, finish, line, poll, sha256
from towline_client import Towline


def test_a_living_process_is_shown_as_the_owner(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    one, two = launch(), launch()
    download_id = Held(server).started(one, work / "f")["id"]
    assert one.call("get", id=download_id)["download"]["owner"] == "self"
    seen = two.call("get", id=download_id)["download"]
    assert (seen["owner"], seen["state"]) == ("other", "active")


def test_the_same_start_in_another_process_does_not_fetch_twice(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    one, two = launch(), launch()
    download_id = held.started(one, work / "f")["id"]
    again = two.call("start", url=held.url, path=str(work / "f"))
    assert (again["created"], again["resumed"]) == (False, False)
    assert (again["download"]["id"], again["download"]["owner"]) == (download_id, "other")
    assert len(server.requests()) == 1


def test_a_destination_held_by_another_process_is_a_conflict(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    one, two = launch(), launch()
    Held(server).started(one, work / "f")
    assert two.error("start", url=server.url("/else"), path=str(work / "f")).code == 1003


def test_what_a_killed_process_left_is_taken_by_exactly_one(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    first = launch()
    held.started(first, work / "f", id="d")
    first.kill()
    held.resource.default = Behaviour(hold_after=MIB // 2, gate=held.gate)
    hosts = [launch() for _ in range(4)]
    requests = [h.send("start", {"url": held.url, "path": str(work / "f"), "id": "d"}) for h in hosts]
    answers = [h.answer(r) for h, r in zip(hosts, requests)]
    assert sorted(a["resumed"] for a in answers) == [False, False, False, True]
    held.release()
    owner = next(h for h, a in zip(hosts, answers) if a["resumed"])
    assert finish(owner, "d")["state"] == "completed"
    assert (work / "f").read_bytes() == held.data
    assert len(server.requests()) == 2


@pytest.mark.timeout(180)
def test_eight_processes_at_once_lose_nothing(launch: Launcher, nginx: Nginx, work: Path) -> None:
    files = {f"p{n}.bin": content(n, 300_000 + n) for n in range(40)}
    for name, data in files.items():
        (nginx.root / name).write_bytes(data)
    names = list(files)
    hosts = [launch() for _ in range(8)]
    for number, host in enumerate(hosts):
        for name in names[number * 5 : number * 5 + 5]:
            host.send("start", {"url": f"{nginx.http}/{name}", "path": str(work / name), "id": name})
        host.close_stdin()
    assert [h.wait_exit(120) for h in hosts] == [0] * 8
    assert {name: sha256(work / name) for name in names} == {n: sha256(d) for n, d in files.items()}
    listed = launch().call("list", limit=100)["downloads"]
    assert sorted(d["id"] for d in listed) == sorted(names)
    assert {d["state"] for d in listed} == {"completed"}


def test_eight_processes_start_on_an_empty_directory_at_once(launch: Launcher) -> None:
    hosts = [launch() for _ in range(8)]
    requests = [h.send("list") for h in hosts]
    assert [h.answer(r)["downloads"] for h, r in zip(hosts, requests)] == [[]] * 8


def test_a_process_killed_while_it_writes_harms_no_other(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    survivor = launch()
    for round_number in range(5):
        victim = launch()
        for n in range(200):
            params = {"url": server.url("/f"), "path": f"{round_number}-{n}", "startPaused": True}
            victim.send("start", params)
        victim.answer(20)
        victim.kill()
        assert survivor.call("start", url=server.url("/f"), path=f"s{round_number}", startPaused=True)[
            "created"
        ]
    acknowledged = {
        m["result"]["download"]["id"] for v in launch.processes[1:] for m in v.messages if "result" in m
    }
    page, known = survivor.call("list", limit=100), set()
    while True:
        known |= {d["id"] for d in page["downloads"]}
        if page["nextCursor"] is None:
            break
        page = survivor.call("list", limit=100, cursor=page["nextCursor"])
    assert acknowledged <= known


# The queue


def observe_limit(host: Towline, server: ScriptedServer, work: Path, count: int, expected: int) -> None:
    gate = threading.Event()
    for n in range(count):
        server.add(f"/{n}", b"x", default=Behaviour(hold_head=gate))
        host.call("start", url=server.url(f"/{n}"), path=str(work / str(n)), id=f"d{n}")
    server.wait(lambda: len(server.in_progress()) == expected)
    states = [d["state"] for d in host.call("list")["downloads"]]
    assert (states.count("active"), states.count("queued")) == (expected, count - expected)
    gate.set()
    for n in range(count):
        assert finish(host, f"d{n}")["state"] == "completed"
    assert len(server.requests()) == count


def test_max_active_limits_what_runs(host: Towline, server: ScriptedServer, work: Path) -> None:
    host.call("configure", maxActive=3, maxActivePerHost=10)
    observe_limit(host, server, work, 8, 3)


def test_max_active_per_host_limits_what_one_server_gets(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    host.call("configure", maxActive=10, maxActivePerHost=2)
    observe_limit(host, server, work, 6, 2)


def test_one_host_does_not_hold_up_another(host: Towline, server: ScriptedServer, work: Path) -> None:
    host.call("configure", maxActive=4, maxActivePerHost=1)
    held = Held(server, after=0)
    for n in range(3):
        host.call("start", url=held.url, path=str(work / f"held{n}"))
    server.add("/f", b"x")
    url = server.url("/f", host="localhost")
    download_id = host.call("start", url=url, path=str(work / "f"))["download"]["id"]
    assert finish(host, download_id)["state"] == "completed"


def test_a_pause_lets_the_next_one_run(host: Towline, server: ScriptedServer, work: Path) -> None:
    host.call("configure", maxActive=1)
    download_id = Held(server).started(host, work / "held")["id"]
    server.add("/f", b"x")
    host.call("start", url=server.url("/f"), path=str(work / "f"), id="next")
    assert host.call("get", id="next")["download"]["state"] == "queued"
    host.call("pause", id=download_id)
    assert finish(host, "next")["state"] == "completed"


def test_a_higher_priority_runs_first(host: Towline, server: ScriptedServer, work: Path) -> None:
    host.call("configure", maxActive=1)
    held = Held(server)
    held.started(host, work / "held")
    for priority in (1, 3, 2):
        server.add(f"/{priority}", b"x")
        params = {"url": server.url(f"/{priority}"), "path": str(work / str(priority)), "priority": priority}
        host.call("start", **params)
    held.release()
    host.call("wait", all=True)
    assert [r.path for r in server.requests()][1:] == ["/3", "/2", "/1"]


def test_raising_the_limit_starts_more_at_once(host: Towline, server: ScriptedServer, work: Path) -> None:
    host.call("configure", maxActive=1, maxActivePerHost=10)
    gate = threading.Event()
    for n in range(4):
        server.add(f"/{n}", b"x", default=Behaviour(hold_head=gate))
        host.call("start", url=server.url(f"/{n}"), path=str(work / str(n)))
    server.wait(lambda: len(server.in_progress()) == 1)
    host.call("configure", maxActive=4)
    server.wait(lambda: len(server.in_progress()) == 4)
    gate.set()
    host.call("wait", all=True)


# Many processes


def many_small_files(launch: Launcher, nginx: Nginx, work: Path, count: int, timeout: float) -> None:
    folder = nginx.root / f"many{count}"
    folder.mkdir()
    for n in range(count):
        (folder / str(n)).write_bytes(b"%d\n" % n * 100)
    base = f"{nginx.http}/{folder.name}"
    lines = [
        line("start", n, url=f"{base}/{n}", path=str(work / str(n)), events="none") for n in range(count)
    ]
    process, status = launch.pipe(*lines, timeout=timeout)
    assert len(process.messages) == count
    assert status == 0
    wrong = [n for n in range(count) if (work / str(n)).read_bytes() != b"%d\n" % n * 100]
    assert wrong == []
    assert len(list(work.iterdir())) == count


def test_a_thousand_small_files_come_through_one_pipe(launch: Launcher, nginx: Nginx, work: Path) -> None:
    many_small_files(launch, nginx, work, 1_000, 60)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_ten_thousand_small_files_come_through_one_pipe(launch: Launcher, nginx: Nginx, work: Path) -> None:
    many_small_files(launch, nginx, work, 10_000, 300)


def test_a_thousand_records_are_listed_by_a_new_process(launch: Launcher, server: ScriptedServer) -> None:
    lines = [line("start", n, url=server.url("/f"), path=f"f{n}", startPaused=True) for n in range(1_000)]
    launch.pipe(*lines, timeout=60)
    host = launch()
    count, cursor = 0, None
    while True:
        page = host.call("list", limit=100, cursor=cursor)
        count += len(page["downloads"])
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert count == 1_000


def test_a_restarted_host_finds_its_downloads_done(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    one, two = launch(), launch()
    download_id = held.started(one, work / "f")["id"]
    held.release()
    found = poll(lambda: two.call("get", id=download_id)["download"]["state"] == "completed")
    assert found
