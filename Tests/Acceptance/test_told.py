"""Events and answers agree: they share one order, and no change goes unreported."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, NO_RETRY, Held, fetch, finish
from towline_client import JSON, Towline


def last_seq(host: Towline) -> int:
    return max((e["params"]["seq"] for e in host.events if e["method"] in ("changed", "removed")), default=0)


def removals(host: Towline) -> list[JSON]:
    return [e["params"] for e in host.events if e["method"] == "removed"]


def wait_removed(host: Towline, download_id: str) -> JSON:
    return host.wait_event(lambda e: e["method"] == "removed" and e["params"]["id"] == download_id)["params"]


# Answers


def test_every_answer_that_shows_a_download_says_which_events_it_contains(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("start", {"id": "d", "url": held.url, "path": str(work / "f")}),
        ("get", {"id": "d"}),
        ("update", {"id": "d", "priority": 3}),
        ("pause", {"id": "d"}),
        ("get", {"id": "d"}),
        ("resume", {"id": "d"}),
        ("wait", {"id": "d", "timeoutMs": 0}),
        ("cancel", {"id": "d"}),
        ("wait", {"id": "d"}),
    ]
    before = 0
    for method, params in calls:
        answer = host.call(method, **params)
        told = last_seq(host)
        assert before <= answer["seq"] <= told, method
        before = answer["seq"]
        # Later events have a higher `seq`; events up to this `seq` show no later revision.
        earlier = [
            e["params"]["download"]["revision"]
            for e in host.events
            if e["method"] == "changed" and e["params"]["seq"] <= answer["seq"]
        ]
        assert all(revision <= answer["download"]["revision"] for revision in earlier), method


def test_progress_says_what_is_going_on_and_where_in_the_order(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", content(3, 4 * MIB), default=Behaviour(rate=4 * MIB))
    done = fetch(host, server.url("/f"), work / "f")
    events = host.progress(done["id"])
    assert events
    for event in events:
        assert event["phase"] in ("connecting", "downloading", "verifying", "finalizing")
        assert 0 <= event["contiguousBytes"] <= event["receivedBytes"]
        assert 1 <= event["seq"] <= last_seq(host)


# Updates


@pytest.mark.parametrize(
    "change",
    [{"priority": 5}, {"metadata": {"a": 1}}, {"headers": {"X-A": "b"}}, {"url": "http://127.0.0.1:1/other"}],
    ids=lambda change: next(iter(change)),
)
@pytest.mark.parametrize("state", ["active", "paused", "failed"])
def test_an_update_is_told_once_behind_its_answer(
    host: Towline, server: ScriptedServer, work: Path, change: JSON, state: str
) -> None:
    if state == "failed":
        server.add("/none", b"", default=Behaviour(status=404))
        fetch(host, server.url("/none"), work / "f", id="d", retry=NO_RETRY)
    else:
        Held(server).started(host, work / "f", id="d")
        if state == "paused":
            host.call("pause", id="d")
            host.wait_state("d", "paused")
    before = len(host.changed("d"))
    answer = host.call("update", id="d", **change)
    host.wait_event(lambda e: e["method"] == "changed" and e["params"]["seq"] > answer["seq"])
    host.call("ping")
    told = host.changed("d")[before:]
    for member, value in change.items():
        if member != "headers":
            assert told[0][member] == value
    assert told[0]["revision"] >= answer["download"]["revision"]
    if state != "active" or "url" not in change:
        assert len(told) == 1


def test_an_update_by_another_process_is_told_to_who_subscribed(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    owner, watcher = launch(), launch()
    Held(server).started(owner, work / "f", id="d")
    watcher.call("subscribe", ids=["d"], events=["changed"])
    watcher.call("wait", id="d", timeoutMs=700)
    owner.call("update", id="d", priority=7, metadata={"m": 1})
    event = watcher.wait_event(
        lambda e: e["method"] == "changed" and e["params"]["download"]["priority"] == 7
    )
    assert event["params"]["download"]["metadata"] == {"m": 1}


# Removals


def test_a_removal_is_told_behind_its_answer(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    done = fetch(host, server.url("/f"), work / "f", id="d")
    assert host.call("remove", id="d") == {}
    removed = wait_removed(host, "d")
    assert set(removed) == {"session", "seq", "id", "revision"}
    assert removed["revision"] > done["revision"]
    assert removed["seq"] == last_seq(host)
    assert host.call("list", changedSince=removed["revision"] - 1)["removed"] == ["d"]
    assert host.call("list", changedSince=removed["revision"])["removed"] == []


def test_who_wants_no_events_hears_of_no_removal(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    fetch(host, server.url("/f"), work / "f", id="d", events="none")
    host.call("remove", id="d")
    host.call("ping")
    assert removals(host) == []


def test_a_subscriber_hears_of_every_removal_by_its_process(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x")
    fetch(host, server.url("/f"), work / "f", id="d", events="none")
    host.call("subscribe", events=["changed"])
    host.call("remove", id="d")
    assert wait_removed(host, "d")["id"] == "d"


def test_what_another_process_completed_and_removed_at_once_is_told(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    owner, watcher = launch(), launch()
    held = Held(server)
    held.started(owner, work / "f", id="d")
    watcher.call("subscribe", ids=["d"], events=["changed"])
    watcher.call("get", id="d")
    watcher.call("ping")
    held.release()
    finish(owner, "d")
    owner.call("remove", id="d")
    removed = wait_removed(watcher, "d")
    assert removed["revision"] is None
    assert len(removals(watcher)) == 1


# Names and pauses


def test_the_path_of_a_download_in_a_directory_is_told_when_it_is_known(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server, "/name.bin")
    host.call("start", id="d", url=held.url, directory=str(work))
    path = str(work / "name.bin")
    event = host.wait_event(lambda e: e["method"] == "changed" and e["params"]["download"]["path"] == path)
    assert event["params"]["download"]["state"] == "active"
    assert event["params"]["download"]["partialPath"] == path + ".towline"
    held.release()
    finish(host, "d")


def test_rename_takes_the_next_name_that_no_download_holds_and_no_file_has(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    sources = [Held(server, f"/{n}", seed=n) for n in range(3)]
    (work / "f (1).tar.gz").write_bytes(b"there")
    for n, source in enumerate(sources):
        source.started(host, work / "f.tar.gz", id=f"d{n}", ifExists="rename")
        source.release()
        if n == 0:
            sources[0].resource.default = Behaviour()
    names = ["f.tar.gz", "f (2).tar.gz", "f (3).tar.gz"]
    ends = [finish(host, f"d{n}") for n in range(3)]
    assert [d["state"] for d in ends] == ["completed"] * 3
    held = {Path(d["path"]).name for d in ends}
    assert len(held) == 3
    assert held <= {*names, "f (4).tar.gz"}
    for source, end in zip(sources, ends, strict=True):
        assert Path(end["path"]).read_bytes() == source.data
    assert (work / "f (1).tar.gz").read_bytes() == b"there"


def test_two_that_hold_one_name_at_once_get_two(host: Towline, server: ScriptedServer, work: Path) -> None:
    first, second = Held(server, "/1", seed=1), Held(server, "/2", seed=2)
    one = first.started(host, work / "f.tar.gz", id="d1", ifExists="rename")
    two = second.started(host, work / "f.tar.gz", id="d2", ifExists="rename")
    assert [Path(d["path"]).name for d in (one, two)] == ["f.tar.gz", "f (1).tar.gz"]
    # The same request finds the download that it started.
    again = host.call("start", id="d2", url=second.url, path=str(work / "f.tar.gz"), ifExists="rename")
    assert (again["created"], again["download"]["path"]) == (False, two["path"])
    error = host.error("start", url=server.url("/3"), path=str(work / "f.tar.gz"), ifExists="overwrite")
    assert (error.code, error.data["id"]) == (1003, "d1")
    first.release()
    second.release()
    for source, started in ((first, one), (second, two)):
        assert Path(finish(host, started["id"])["path"]).read_bytes() == source.data


def test_pausing_what_was_interrupted_changes_its_reason_and_says_so(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    owner = launch()
    Held(server).started(owner, work / "f", id="d")
    owner.kill()
    host = launch()
    host.call("subscribe", ids=["d"], events=["changed"])
    assert host.call("get", id="d")["download"]["reason"] == "interrupted"
    answer = host.call("pause", id="d")
    assert answer["changed"] is True
    assert (answer["download"]["reason"], answer["download"]["owner"]) == ("user", "self")
    event = host.wait_event(
        lambda e: e["method"] == "changed" and e["params"]["download"]["reason"] == "user"
    )
    assert event["params"]["seq"] > answer["seq"]
    assert host.call("pause", id="d")["changed"] is False


def test_pausing_all_pauses_what_was_interrupted_too(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    owner = launch()
    for name in ("d1", "d2"):
        Held(server, f"/{name}").started(owner, work / name, id=name)
    owner.call("pause", id="d2")
    owner.kill()
    host = launch()
    # The one that the user paused stays without an owner.
    assert host.call("pause", all=True) == {"matched": 1, "changed": 1, "errors": []}
    seen = {d["id"]: (d["state"], d["reason"], d["owner"]) for d in host.call("list")["downloads"]}
    assert seen == {"d1": ("paused", "user", "self"), "d2": ("paused", "user", "none")}


# The recovery loop of a client that has lost events


class Picture:
    """What a client knows from answers, pages of `list {changedSince}`, and events that were not lost.

    The higher revision of a download is the newer one; with equal revisions, the later message is.
    """

    SHOWN = ("state", "reason", "phase", "path", "url", "priority", "metadata")

    def __init__(self, host: Towline) -> None:
        self.host = host
        self.downloads: dict[str, JSON] = {}
        self.revisions: dict[str, int] = {}
        self.revision = 0
        self.read = 0

    def hear(self, lost: bool, until: JSON | None = None) -> None:
        """Takes the messages received so far (or before an answer); with `lost`, ignores the events."""
        messages = list(self.host.messages)
        if until is not None:
            del messages[next(i for i, m in enumerate(messages) if m.get("result") is until) :]
        news, self.read = messages[self.read :], len(messages)
        for message in news:
            told = message.get("params") or message.get("result")
            if not isinstance(told, dict) or (lost and "method" in message):
                continue
            if message.get("method") == "removed":
                self.forget(told["id"], told["revision"])
            elif "download" in told:
                self.take(told["download"])

    def take(self, download: JSON) -> None:
        if download["revision"] >= self.revisions.get(download["id"], 0):
            self.revisions[download["id"]] = download["revision"]
            self.downloads[download["id"]] = download

    def forget(self, download_id: str, revision: int) -> None:
        if revision > self.revisions.get(download_id, 0):
            self.revisions[download_id] = revision
            self.downloads.pop(download_id, None)

    def recover(self) -> None:
        since, cursor = self.revision, None
        while True:
            page = self.host.call("list", changedSince=since, limit=3, cursor=cursor)
            self.hear(lost=True, until=page)
            for gone in page["removed"]:
                self.forget(gone, page["revision"])
            for download in page["downloads"]:
                self.take(download)
            cursor = page["nextCursor"]
            if cursor is None:
                break
        self.revision = page["revision"]

    def shown(self) -> dict[str, JSON]:
        return {i: {m: d[m] for m in self.SHOWN} for i, d in self.downloads.items()}


def whole(host: Towline) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    cursor: str | None = None
    while True:
        page = host.call("list", cursor=cursor)
        found |= {d["id"]: {m: d[m] for m in Picture.SHOWN} for d in page["downloads"]}
        cursor = page["nextCursor"]
        if cursor is None:
            return found


HISTORIES = 1_000
ROUND = 50


class Histories:
    """Random commands on downloads that complete, fail, or are held by the server."""

    def __init__(self, host: Towline, server: ScriptedServer, work: Path, seed: int) -> None:
        self.host, self.work, self.chance = host, work, random.Random(seed)
        self.made = 0
        server.add("/whole", content(1, 1_000))
        server.add("/none", b"", default=Behaviour(status=404))
        gate = Held(server, "/held", size=200_000, after=50_000).url
        self.urls = [gate, gate, server.url("/whole"), server.url("/none")]

    def start(self) -> None:
        self.made += 1
        where: JSON = {"path": str(self.work / str(self.made))}
        if self.chance.random() < 0.3:
            where = {"directory": str(self.work), "ifExists": "rename"}
        params = {"id": f"d{self.made}", "url": self.chance.choice(self.urls), "retry": NO_RETRY}
        self.host.send("start", params | where)

    def go_on(self, known: list[str], number: int) -> None:
        """One history: some random commands, and their answers."""
        for _ in range(self.chance.randint(1, 6)):
            one = self.chance.choice(known or ["none"])
            method = self.chance.choice(["start", "start", "pause", "resume", "cancel", "remove", "update"])
            if method == "start":
                self.start()
            elif method == "update":
                params = {"id": one, "priority": self.chance.randrange(9), "metadata": {"n": number}}
                self.host.send("update", params)
            else:
                self.host.send(method, {"id": one})
        self.host.call("ping")

    def settled(self) -> dict[str, JSON]:
        """All downloads, once no more of them change."""
        before = whole(self.host)
        while True:
            self.host.call("wait", all=True, timeoutMs=50)
            after = whole(self.host)
            if after == before:
                return after
            before = after

    def clear(self) -> None:
        self.host.call("cancel", all=True)
        for old in whole(self.host):
            self.host.send("remove", {"id": old})


def test_a_client_that_loses_events_and_lists_what_changed_has_the_right_picture(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    host.call("configure", maxActive=8, maxActivePerHost=8)
    histories, picture = Histories(host, server, work, seed=11), Picture(host)
    for number in range(1, HISTORIES + 1):
        histories.go_on(list(picture.downloads), number)
        is_lost = histories.chance.random() < 0.5
        picture.hear(is_lost)
        if is_lost:
            picture.recover()
        if number % ROUND == 0:
            expected = histories.settled()
            # Half of the rounds end without a loss, so that the events alone must be enough.
            is_lost = number % (2 * ROUND) == 0
            picture.hear(is_lost)
            if is_lost:
                picture.recover()
            assert picture.shown() == expected, f"after {number} histories"
            histories.clear()
