"""One destination requested from several state directories; one state directory used by many processes."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest
from fixtures import Launcher, compiled
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, Held, finish, poll
from towline_client import Towline

SIZE = 2 * MIB
COUNT = 24


def two_hosts(launch: Launcher, tmp_path: Path) -> list[Towline]:
    """Two processes with separate state directories."""
    return [launch(state=tmp_path / f"state-{n}") for n in range(2)]


def two_sources(server: ScriptedServer) -> list[Held]:
    return [Held(server, f"/{n}", size=SIZE, seed=40 + n) for n in range(2)]


def partials(work: Path) -> list[str]:
    return sorted(p.name for p in work.iterdir() if p.name.endswith(".towline"))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first ends first", "second ends first"])
@pytest.mark.parametrize("if_exists", ["error", "overwrite", "rename"])
def test_two_states_with_one_destination_never_mix(
    launch: Launcher,
    server: ScriptedServer,
    work: Path,
    tmp_path: Path,
    if_exists: str,
    order: tuple[int, int],
) -> None:
    hosts, sources = two_hosts(launch, tmp_path), two_sources(server)
    ids = [s.started(h, work / "f.bin", ifExists=if_exists)["id"] for h, s in zip(hosts, sources)]
    assert len(partials(work)) == 2, "each writes a file of its own"
    ended = {}
    for number in order:
        sources[number].release()
        ended[number] = finish(hosts[number], ids[number])
    first, last = order
    assert ended[first]["state"] == "completed"
    assert Path(ended[first]["path"]) == work / "f.bin"
    if if_exists == "error":
        assert (ended[last]["state"], ended[last]["error"]["kind"]) == ("failed", "destinationConflict")
        assert (work / "f.bin").read_bytes() == sources[first].data
        # Its bytes are kept: when the destination is free, it finishes without the server.
        (work / "f.bin").unlink()
        asked = len(server.requests())
        hosts[last].call("resume", id=ids[last])
        assert finish(hosts[last], ids[last])["state"] == "completed"
        assert len(server.requests()) == asked
    assert (work / "f.bin").read_bytes() == sources[first if if_exists == "rename" else last].data
    if if_exists == "rename":
        assert Path(ended[last]["path"]) == work / "f (1).bin"
        assert (work / "f (1).bin").read_bytes() == sources[last].data
    assert partials(work) == []


def test_two_states_with_one_destination_resume_their_own_bytes(
    launch: Launcher, server: ScriptedServer, work: Path, tmp_path: Path
) -> None:
    hosts, sources = two_hosts(launch, tmp_path), two_sources(server)
    for host, source in zip(hosts, sources):
        source.started(host, work / "f", ifExists="rename", id="d")
    for host in hosts:
        host.kill()
    for source in sources:
        source.resource.default = Behaviour()
    again = two_hosts(launch, tmp_path)
    for host in again:
        host.call("resume", id="d")
    paths = [Path(finish(host, "d")["path"]) for host in again]
    assert {p.name for p in paths} == {"f", "f (1)"}
    for path, source in zip(paths, sources):
        assert path.read_bytes() == source.data
        assert 0 < server.requests(source.path)[-1].range_start <= source.after
    assert partials(work) == []


@pytest.mark.parametrize("if_exists", ["error", "overwrite", "rename"])
def test_eight_states_with_one_destination_at_full_speed(
    launch: Launcher, server: ScriptedServer, work: Path, tmp_path: Path, if_exists: str
) -> None:
    datas = [content(n, 300_000) for n in range(8)]
    for number, data in enumerate(datas):
        server.add(f"/{number}", data)
    hosts = [launch(state=tmp_path / f"state-{n}") for n in range(8)]
    requests = []
    for number, host in enumerate(hosts):
        params = {"id": "d", "url": server.url(f"/{number}"), "path": str(work / "f"), "ifExists": if_exists}
        requests.append(host.send("start", params))
    answers = [host.response(request) for host, request in zip(hosts, requests)]
    # Late requests find the file already there.
    assert all(a["error"]["code"] == 1003 for a in answers if "error" in a)
    started = [host for host, answer in zip(hosts, answers) if "result" in answer]
    ended = [finish(host, "d") for host in started]
    kinds = Counter((d["state"], (d["error"] or {}).get("kind")) for d in ended)
    completed = kinds.pop(("completed", None))
    assert set(kinds) <= {("failed", "destinationConflict")}
    assert completed == (1 if if_exists == "error" else len(started))
    files = [p.read_bytes() for p in work.iterdir() if not p.name.endswith(".towline")]
    assert all(data in datas for data in files), "a file is one of the sources, whole"
    assert len(files) == (8 if if_exists == "rename" else 1)


@pytest.mark.parametrize("if_exists", ["error", "overwrite"])
@pytest.mark.parametrize("size", [1_000, 300_000])
def test_a_file_that_another_process_replaces_right_after_its_rename_was_finished(
    launch: Launcher, server: ScriptedServer, work: Path, tmp_path: Path, if_exists: str, size: int
) -> None:
    """The first process is slow to notice its own rename; what the other one has put there stays."""
    library = compiled("slow_renames", tmp_path)
    first, second = content(1, size), content(2, size)
    server.add("/1", first)
    held = threading.Event()
    server.add("/2", second, default=Behaviour(hold_after=size // 2, gate=held))
    slow = launch(state=tmp_path / "slow", env={"LD_PRELOAD": str(library), "SLOW_RENAMES_MS": "1500"})
    quick = launch(state=tmp_path / "quick")
    path = work / "f"
    quick.call("start", id="d", url=server.url("/2"), path=str(path), ifExists="overwrite")
    server.wait_requests("/2", 1)
    slow.call("start", id="d", url=server.url("/1"), path=str(path), ifExists=if_exists)
    poll(lambda: path.exists() or None, what="the first file under its name")
    held.set()
    assert finish(quick, "d")["state"] == "completed"
    ended = finish(slow, "d")
    assert ended["state"] == "completed", ended["error"]
    assert path.read_bytes() == second
    assert partials(work) == []


def fill(server: ScriptedServer, host: Towline, work: Path) -> dict[str, Held]:
    """Downloads that have each received half of their bytes."""
    host.call("configure", maxActive=COUNT, maxActivePerHost=COUNT)
    held = {f"d{n}": Held(server, f"/{n}", size=200_000, after=100_000, seed=n) for n in range(COUNT)}
    for name, one in held.items():
        # A long stall timeout, because starting the others may be slow.
        one.started(host, work / name, id=name, stallTimeoutMs=600_000)
    return held


@pytest.mark.timeout(120)
def test_eight_processes_at_once_take_over_what_a_killed_one_left_each_exactly_once(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    first = launch()
    held = fill(server, first, work)
    first.kill()
    gate = threading.Event()
    for one in held.values():
        one.resource.default = Behaviour(hold_head=gate)
    before = len(server.requests())
    hosts = [launch() for _ in range(8)]
    requests = [h.send("resume", {"all": True}) for h in hosts]
    changed = [h.answer(r)["changed"] for h, r in zip(hosts, requests)]
    assert sum(changed) == COUNT
    gate.set()
    for host, count in zip(hosts, changed):
        answer = host.call("wait", all=True, timeout=60)
        assert answer["counts"]["completed"] == count
    resumed = server.requests()[before:]
    assert Counter(r.path for r in resumed) == Counter({one.path: 1 for one in held.values()})
    assert all(r.range_start <= 100_000 for r in resumed)
    assert all((work / name).read_bytes() == one.data for name, one in held.items())
    assert {d["state"] for d in hosts[0].call("list", limit=100)["downloads"]} == {"completed"}


@pytest.mark.timeout(120)
def test_eight_processes_that_resume_on_start_leave_nothing_and_take_nothing_twice(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    first = launch()
    held = fill(server, first, work)
    first.kill()
    for one in held.values():
        one.resource.default = Behaviour()
    before = len(server.requests())
    hosts = [launch("--resume-on-start") for _ in range(8)]
    for host in hosts:
        host.call("ping")
    for host in hosts:
        host.close_stdin()
    assert {host.wait_exit(60) for host in hosts} == {0}
    assert Counter(r.path for r in server.requests()[before:]) == Counter({o.path: 1 for o in held.values()})
    assert all((work / name).read_bytes() == one.data for name, one in held.items())


@pytest.mark.timeout(120)
def test_eight_processes_that_ask_for_the_same_on_a_fresh_state_fetch_it_once(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    hosts = [launch() for _ in range(8)]
    requests = [h.send("start", {"url": held.url, "path": str(work / "f")}) for h in hosts]
    answers = [h.answer(r) for h, r in zip(hosts, requests)]
    assert sorted(a["created"] for a in answers) == [False] * 7 + [True]
    assert len({a["download"]["id"] for a in answers}) == 1
    held.release()
    owner = next(h for h, a in zip(hosts, answers) if a["created"])
    assert finish(owner, answers[0]["download"]["id"])["state"] == "completed"
    assert (work / "f").read_bytes() == held.data
    assert len(server.requests()) == 1


def test_two_processes_on_one_state_go_on_when_the_other_is_killed(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    one, two = launch(), launch()
    mine = Held(server, "/mine", seed=1)
    theirs = Held(server, "/theirs", seed=2)
    mine.started(one, work / "mine", id="mine")
    theirs.started(two, work / "theirs", id="theirs")
    for command in ("pause", "resume", "cancel"):
        assert one.error(command, id="theirs").code == 1010
    two.kill()
    theirs.resource.default = Behaviour()
    assert one.call("get", id="theirs")["download"]["reason"] == "interrupted"
    one.call("resume", id="theirs")
    mine.release()
    assert finish(one, "theirs")["state"] == "completed"
    assert finish(one, "mine")["state"] == "completed"
    assert (work / "mine").read_bytes() == mine.data
    assert (work / "theirs").read_bytes() == theirs.data
    assert 0 < server.requests("/theirs")[-1].range_start <= theirs.after
