"""Events: who receives which, in what order, how often, and when they stop."""

from __future__ import annotations

import threading
from collections import defaultdict
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer, content
from support import FINAL, MIB, Held, fetch, finish
from towline_client import JSON, Towline

PROGRESS_MEMBERS = {
    *("session", "id", "path", "attempt", "receivedBytes", "totalBytes", "bytesPerSecond", "etaMs"),
    *("seq", "phase", "contiguousBytes", "connections"),
}


def test_a_download_is_told_from_start_to_end(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", content(1, MIB))
    done = fetch(host, server.url("/f"), work / "f")
    host.wait_state(done["id"], "completed")
    states = [d["state"] for d in host.changed(done["id"])]
    assert "active" in states
    assert states[-1] == "completed"
    assert states.count("completed") == 1


def test_changed_has_session_seq_and_the_whole_download(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x")
    done = fetch(host, server.url("/f"), work / "f")
    event = host.wait_event(lambda e: e["method"] == "changed")
    assert set(event["params"]) == {"session", "seq", "download"}
    assert set(event["params"]["download"]) == set(done)
    assert event["params"]["session"] == host.call("info")["session"]
    assert "id" not in event


def test_the_answer_to_start_precedes_its_events(host: Towline, server: ScriptedServer, work: Path) -> None:
    for n in range(30):
        server.add(f"/{n}", b"x")
    requests = {
        host.send("start", {"url": server.url(f"/{n}"), "path": str(work / str(n)), "id": f"d{n}"}): f"d{n}"
        for n in range(30)
    }
    for download_id in requests.values():
        host.wait_state(download_id, "completed")
    answered = set()
    for message in host.messages:
        if "method" not in message:
            answered.add(requests.get(message["id"]))
        elif message["method"] == "changed":
            assert message["params"]["download"]["id"] in answered


@pytest.mark.parametrize("command", ["pause", "cancel"])
def test_the_answer_to_a_command_precedes_its_events(
    host: Towline, server: ScriptedServer, work: Path, command: str
) -> None:
    download = Held(server).started(host, work / "f")
    request = host.send(command, {"id": download["id"]})
    state = host.answer(request)["download"]["state"]
    host.wait_state(download["id"], state)
    answer = next(n for n, m in enumerate(host.messages) if m.get("id") == request and "method" not in m)
    event = next(
        n
        for n, m in enumerate(host.messages)
        if m.get("method") == "changed" and m["params"]["download"]["state"] == state
    )
    assert answer < event


def test_nothing_is_told_after_the_final_event(launch: Launcher, server: ScriptedServer) -> None:
    server.add("/f", content(2, 8 * MIB))
    host = launch()
    host.call("initialize", events="all")
    host.call("subscribe", progressIntervalMs=50)
    for n in range(5):
        host.call("start", url=server.url("/f"), path=f"f{n}", id=f"d{n}")
    for n in range(5):
        finish(host, f"d{n}")
    host.call("shutdown")
    host.notify("exit")
    host.wait_exit()
    final: set[str] = set()
    for event in host.events:
        about = event["params"].get("download", event["params"])
        assert about["id"] not in final, event
        if event["method"] == "changed" and about["state"] in FINAL:
            final.add(about["id"])
    assert len(final) == 5


def test_seq_rises_by_one_for_each_event_of_a_session(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x")
    for n in range(10):
        fetch(host, server.url("/f"), work / str(n))
    seqs = [e["params"]["seq"] for e in host.events if e["method"] == "changed"]
    assert all(later > earlier for earlier, later in zip(seqs, seqs[1:]))


def test_progress_has_its_members_and_rises(host: Towline, server: ScriptedServer, work: Path) -> None:
    data = content(3, 6 * MIB)
    server.add("/f", data, default=Behaviour(rate=4 * MIB))
    done = fetch(host, server.url("/f"), work / "f")
    events = host.progress(done["id"])
    assert len(events) >= 2
    assert all(set(e) == PROGRESS_MEMBERS for e in events)
    received = [e["receivedBytes"] for e in events]
    assert received == sorted(received)
    assert all(e["totalBytes"] == len(data) for e in events)
    assert any(e["bytesPerSecond"] and e["etaMs"] is not None for e in events)
    assert all(e["path"] == str(work / "f") for e in events)


@pytest.mark.parametrize("interval", [100, 400])
def test_progress_comes_at_most_once_an_interval(
    host: Towline, server: ScriptedServer, work: Path, interval: int
) -> None:
    server.add("/f", content(3, 4 * MIB), default=Behaviour(rate=2 * MIB))
    host.call("configure", progressIntervalMs=interval)
    began = len(host.messages)
    done = fetch(host, server.url("/f"), work / "f")
    times = [
        t
        for t, m in zip(host.message_times[began:], host.messages[began:])
        if m.get("method") == "progress" and m["params"]["id"] == done["id"]
    ]
    assert len(times) >= 2
    # The last event may come early; the others keep the interval.
    assert len(times) <= (times[-1] - times[0]) * 1000 / interval + 2


@pytest.mark.parametrize(("events", "methods"), [("none", set()), ("changed", {"changed"})])
def test_start_chooses_its_events(
    host: Towline, server: ScriptedServer, work: Path, events: str, methods: set[str]
) -> None:
    server.add("/f", content(3, 2 * MIB), default=Behaviour(rate=2 * MIB))
    fetch(host, server.url("/f"), work / "f", events=events)
    host.call("ping")
    assert {e["method"] for e in host.events} == methods


def test_initialize_chooses_the_events_of_the_session(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x")
    host.call("initialize", events="none")
    fetch(host, server.url("/f"), work / "f")
    host.call("ping")
    assert host.events == []


def test_another_session_hears_only_what_it_subscribed_to(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    one, two = launch(), launch()
    server.add("/f", b"x")
    fetch(one, server.url("/f"), work / "f")
    two.call("ping")
    assert two.events == []


def test_subscribe_widens_and_unsubscribe_narrows(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server, after=0)
    result = host.call("subscribe", events=["changed"])
    assert set(result) == {"subscription", "session", "seq"}
    download = host.call("start", url=held.url, path=str(work / "f"), events="none")["download"]
    host.wait_state(download["id"], "active")
    assert host.call("unsubscribe", subscription=result["subscription"]) == {}
    before = len(host.events)
    held.release()
    finish(host, download["id"])
    host.call("ping")
    assert len(host.events) == before


def test_a_subscription_to_ids_tells_of_no_other(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    host.call("subscribe", events=["changed"], ids=["wanted"])
    for name in ("wanted", "other"):
        fetch(host, server.url("/f"), work / name, id=name, events="none")
    host.call("ping")
    assert {d["id"] for d in host.changed()} == {"wanted"}


def test_two_subscriptions_do_not_double_the_events(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x")
    host.call("subscribe")
    host.call("subscribe")
    done = fetch(host, server.url("/f"), work / "f")
    host.call("ping")
    assert [d["state"] for d in host.changed(done["id"])].count("completed") == 1


def test_within_an_attempt_received_bytes_never_fall(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    data = content(4, 4 * MIB)
    drops = [Behaviour(drop_after=700_000) for _ in range(4)]
    server.add("/f", data).then(*drops)
    host.call("configure", progressIntervalMs=50)
    done = fetch(host, server.url("/f"), work / "f", retry={"initialDelayMs": 10, "maxDelayMs": 50})
    assert done["state"] == "completed"
    host.wait_state(done["id"], "completed")
    by_attempt: dict[int, list[int]] = defaultdict(list)
    for event in host.events:
        about: JSON = event["params"].get("download", event["params"])
        by_attempt[about["attempt"]].append(about["receivedBytes"])
    assert all(counts == sorted(counts) for counts in by_attempt.values()), by_attempt


def test_a_host_that_does_not_read_stalls_no_download(launch: Launcher, server: ScriptedServer) -> None:
    data = content(5, 2 * MIB)
    server.add("/f", data)
    host = launch(read_at_once=False)
    writer = threading.Thread(
        target=lambda: [
            host.send_message({"jsonrpc": "2.0", "id": f"p{n}", "method": "info"}) for n in range(3000)
        ]
    )
    writer.start()
    host.send_message(
        {"jsonrpc": "2.0", "id": "s", "method": "start", "params": {"url": server.url("/f"), "path": "f"}}
    )
    server.wait(lambda: server.body_sent("/f") == len(data))
    host.start_reading()
    writer.join(60)
    for n in range(3000):
        host.response(f"p{n}")
    finish(host, host.answer("s")["download"]["id"])
    assert (launch.work / "f").read_bytes() == data


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_events_that_found_no_room_are_told_as_lost(launch: Launcher, server: ScriptedServer) -> None:
    server.add("/f", b"x")
    host = launch(read_at_once=False)
    total = 2500

    def write() -> None:
        for n in range(total):
            params = {"url": server.url("/f"), "path": f"f{n}", "id": f"d{n}"}
            host.send_message({"jsonrpc": "2.0", "id": f"s{n}", "method": "start", "params": params})

    writer = threading.Thread(target=write)
    writer.start()
    server.wait(lambda: len(server.requests()) >= total and not server.in_progress(), 200)
    host.start_reading()
    writer.join(60)
    for n in range(total):
        host.response(f"s{n}", 60)
    lost = host.wait_event(lambda e: e["method"] == "eventsLost")["params"]
    assert set(lost) == {"session", "fromSeq", "toSeq"}
    assert lost["session"] == host.call("info")["session"]
    assert lost["fromSeq"] <= lost["toSeq"]
    assert host.call("list", states=["completed"], limit=1)["downloads"]


def test_no_event_comes_before_the_answer_to_the_request_that_caused_it(
    launch: Launcher, server: ScriptedServer, slow_commits: Path, work: Path
) -> None:
    """With a subscription to all downloads, and commits that take long while bytes arrive."""
    slow = {"SLOW_COMMITS_PATH": "towline.db", "SLOW_COMMITS_MS": "150", "SLOW_COMMITS_SEED": "3"}
    host = launch(env={"LD_PRELOAD": str(slow_commits), **slow})
    host.call("subscribe", progressIntervalMs=50)
    count = 12
    for number in range(count):
        server.add(f"/{number}", content(number, 200_000), default=Behaviour(rate=250_000))
        params = {"id": f"d{number}", "url": server.url(f"/{number}"), "path": str(work / str(number))}
        host.send("start", {**params, "events": "none"})
    for number in range(count):
        host.send("pause", {"id": f"d{number}"})
        host.send("resume", {"id": f"d{number}"})
    host.answer(host.send("wait", {"all": True}), 30)
    answered: dict[str, int] = {}
    for message in host.messages:
        if "method" not in message:
            if "download" in message.get("result", {}):
                name = message["result"]["download"]["id"]
                answered[name] = answered.get(name, 0) + 1
            continue
        params = message["params"]
        name = params.get("id") or params["download"]["id"]
        # The events of a resume come after its answer, the third.
        assert answered.get(name, 0) >= 1, message
        if message["method"] == "progress" and params["attempt"] == 1 and answered[name] == 2:
            raise AssertionError(f"progress of a paused download before the answer to its resume: {message}")
