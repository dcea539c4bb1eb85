"""Resuming after a kill: few bytes are fetched twice and no byte is wrong, whatever the server answers."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, NO_RETRY, QUICK_RETRY, Held, finish, resume_start, sha256
from towline_client import JSON, Towline

#: Bytes that may be in flight: the socket buffers of server and client.
IN_FLIGHT = 512 * 1024


def kill_midway(launch: Launcher, held: Held, path: Path, **params: object) -> str:
    process = launch()
    download_id = held.started(process, path, **params)["id"]
    process.kill()
    return download_id


def pause_midway(host: Towline, held: Held, path: Path, **params: object) -> str:
    download_id = held.started(host, path, **params)["id"]
    assert host.call("pause", id=download_id)["download"]["receivedBytes"] == held.after
    held.release()
    return download_id


def resumed(host: Towline, download_id: str) -> JSON:
    host.call("resume", id=download_id)
    return finish(host, download_id)


def test_three_kills_cost_at_most_a_mebibyte_each(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    size = 24 * MIB
    data = content(1, size)
    server.add("/f", data, default=Behaviour(rate=10 * MIB))
    kills = 3
    for number in range(kills):
        process = launch()
        process.call("start", url=server.url("/f"), path=str(work / "f"))
        server.wait_requests("/f", number + 1)
        current = server.requests("/f")[number]
        server.wait(lambda current=current: current.body_sent >= 5 * MIB + 123_457)
        process.kill()
        server.wait(lambda current=current: current.finished)
    host = launch()
    again = host.call("start", url=server.url("/f"), path=str(work / "f"))
    assert (again["created"], again["resumed"]) == (False, True)
    done = finish(host, again["download"]["id"])
    assert done["state"] == "completed"
    assert sha256(work / "f") == sha256(data)
    requests = server.requests("/f")
    assert len(requests) == kills + 1
    for before, after in zip(requests, requests[1:]):
        reached = before.range_start + before.body_sent
        assert after.if_range == '"v1"'
        assert reached - after.range_start <= MIB + IN_FLIGHT
    assert server.body_sent("/f") - size <= kills * (MIB + IN_FLIGHT)


@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "EOF"])
def test_an_orderly_end_costs_no_byte(launch: Launcher, server: ScriptedServer, work: Path, how: str) -> None:
    held = Held(server)
    process = launch()
    process.call("initialize")
    held.started(process, work / "f")
    if how == "EOF":
        process.close_stdin()
    else:
        process.signal(signal.Signals[how])
    process.wait_exit()
    held.release()
    host = launch()
    again = host.call("start", url=held.url, path=str(work / "f"))
    finish(host, again["download"]["id"])
    assert (work / "f").read_bytes() == held.data
    assert [r.range_start for r in server.requests()] == [0, resume_start(held.after)]


def test_a_kill_before_the_first_byte_starts_over(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server, after=0)
    process = launch()
    held.started(process, work / "f")
    process.kill()
    held.release()
    host = launch()
    again = host.call("start", url=held.url, path=str(work / "f"))
    assert finish(host, again["download"]["id"])["state"] == "completed"
    assert (work / "f").read_bytes() == held.data


@pytest.mark.parametrize("etag", ['"v2"', 'W/"v1"'], ids=str)
def test_a_file_changed_between_kill_and_resume_is_fetched_anew(
    launch: Launcher, server: ScriptedServer, work: Path, etag: str
) -> None:
    held = Held(server)
    kill_midway(launch, held, work / "f")
    held.release()
    held.resource.data = new = content(99, len(held.data))
    held.resource.etag = etag
    host = launch()
    again = host.call("start", url=held.url, path=str(work / "f"), retry=QUICK_RETRY)
    done = finish(host, again["download"]["id"])
    assert done["state"] == "completed"
    assert (work / "f").read_bytes() == new
    assert done["transfer"]["mode"] == "restarted"
    assert server.requests()[1].if_range == '"v1"'
    assert done["attempt"] > 1


def test_a_changed_file_can_fail_instead(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f", onChange="fail", retry=NO_RETRY)
    held.resource.data = content(99, len(held.data))
    held.resource.etag = '"v2"'
    done = resumed(host, download_id)
    assert (done["state"], done["error"]["kind"]) == ("failed", "remoteChanged")
    assert not (work / "f").exists()


def test_a_file_that_grew_is_fetched_anew(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f")
    held.resource.data = new = content(98, len(held.data) + 1000)
    held.resource.etag = '"v2"'
    done = resumed(host, download_id)
    assert (done["state"], done["totalBytes"]) == ("completed", len(new))
    assert (work / "f").read_bytes() == new


def test_a_server_that_ignores_ranges_is_asked_for_the_whole_file(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f", retry=QUICK_RETRY)
    held.resource.default = Behaviour(ranges="ignored")
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    assert (work / "f").read_bytes() == held.data
    assert (done["transfer"]["mode"], done["transfer"]["why"]) == ("restarted", "rangeIgnored")
    assert done["transfer"]["offset"] == 0


@pytest.mark.parametrize(
    ("etag", "modified", "validator"),
    [
        ('"v1"', None, '"v1"'),
        ('"v1"', "Mon, 01 Jan 2024 00:00:00 GMT", '"v1"'),
        (None, "Mon, 01 Jan 2024 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:00 GMT"),
    ],
    ids=["ETag", "both", "an old Last-Modified"],
)
def test_the_strong_validator_is_sent(
    host: Towline, server: ScriptedServer, work: Path, etag: str, modified: str, validator: str
) -> None:
    held = Held(server)
    held.resource.etag, held.resource.last_modified = etag, modified
    held.resource.default.headers = [("Date", "Tue, 01 Oct 2024 00:00:00 GMT")]
    download_id = pause_midway(host, held, work / "f")
    done = resumed(host, download_id)
    assert done["transfer"]["mode"] == "resumed"
    assert server.requests()[1].if_range == validator
    assert (work / "f").read_bytes() == held.data


@pytest.mark.parametrize(
    ("etag", "modified"),
    [(None, None), ('W/"v1"', None), (None, "Tue, 01 Oct 2024 00:00:00 GMT")],
    ids=["none", "a weak ETag", "a fresh Last-Modified"],
)
def test_without_a_strong_validator_it_starts_over_and_says_why(
    host: Towline, server: ScriptedServer, work: Path, etag: str, modified: str
) -> None:
    held = Held(server)
    held.resource.etag, held.resource.last_modified = etag, modified
    held.resource.default.headers = [("Date", "Tue, 01 Oct 2024 00:00:10 GMT")]
    download_id = pause_midway(host, held, work / "f")
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    assert (done["transfer"]["mode"], done["transfer"]["why"]) == ("restarted", "noValidator")
    assert (work / "f").read_bytes() == held.data


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
@pytest.mark.parametrize(
    "content_range",
    [
        "bytes 0-{last}/{total}",
        "bytes {before}-{last}/{total}",
        "bytes {start}-{last}/{more}",
        "bytes {start}-{last}/*",
        "bytes */{total}",
        "items {start}-{last}/{total}",
        "bytes {start}-{before}/{total}",
        "bytes -{last}/{total}",
        "bytes 99999999999999999999-{last}/{total}",
        "",
        "nonsense",
    ],
)
def test_no_wrong_content_range_makes_a_wrong_file(
    host: Towline, server: ScriptedServer, work: Path, content_range: str, cut: bool
) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f", retry=QUICK_RETRY)
    total = len(held.data)
    values = {
        "start": resume_start(held.after),
        "before": resume_start(held.after) - 1,
        "last": total - 1,
        "total": total,
        "more": total + 1,
    }
    named = content_range.format(**values)
    held.resource.then(Behaviour(content_range=named, drop_after=100_000 if cut else None))
    done = resumed(host, download_id)
    if done["state"] == "completed":
        assert (work / "f").read_bytes() == held.data
    else:
        assert done["error"]["kind"] in ("protocol", "rangeUnsupported", "remoteChanged")
        assert not (work / "f").exists()


@pytest.mark.parametrize("status", [416, 412, 400, 200, 206, 204, 304, 500], ids=str)
def test_no_odd_status_on_resume_makes_a_wrong_file(
    host: Towline, server: ScriptedServer, work: Path, status: int
) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f", retry=QUICK_RETRY)
    held.resource.then(
        Behaviour(status=status, body=b"<html>not the file</html>", headers=[("ETag", '"v1"')])
    )
    host.call("resume", id=download_id)
    done = host.call("wait", id=download_id, until="settled")["download"]
    if done["state"] == "completed":
        assert (work / "f").read_bytes() == held.data
    else:
        assert not (work / "f").exists()


def test_a_missing_partial_file_starts_over(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    kill_midway(launch, held, work / "f")
    held.release()
    (work / "f.towline").unlink()
    host = launch()
    again = host.call("start", url=held.url, path=str(work / "f"))
    done = finish(host, again["download"]["id"])
    assert done["state"] == "completed"
    assert (done["transfer"]["mode"], done["transfer"]["why"]) == ("restarted", "partialMissing")
    assert (work / "f").read_bytes() == held.data


@pytest.mark.parametrize("damage", ["truncated", "replaced", "appended"])
def test_a_partial_file_that_somebody_touched_makes_no_wrong_file(
    launch: Launcher, server: ScriptedServer, work: Path, damage: str
) -> None:
    held = Held(server)
    kill_midway(launch, held, work / "f")
    held.release()
    partial = work / "f.towline"
    if damage == "truncated":
        with partial.open("r+b") as file:
            file.truncate(100_000)
    elif damage == "replaced":
        (work / "new").write_bytes(bytes(held.after))
        (work / "new").rename(partial)
    else:
        with partial.open("ab") as file:
            file.write(b"rubbish" * 100)
    host = launch()
    again = host.call("start", url=held.url, path=str(work / "f"), retry=QUICK_RETRY)
    done = finish(host, again["download"]["id"])
    if done["state"] == "completed":
        assert (work / "f").read_bytes() == held.data
    else:
        assert done["error"]["kind"] in ("partialReplaced", "destinationConflict")


def test_a_kill_when_only_the_end_was_missing_ends_in_the_right_file(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    # Chunked, with the last chunk held: every byte has arrived, but the client cannot know that.
    held = Held(server, size=2 * MIB, after=2 * MIB)
    held.resource.default.chunked = True
    kill_midway(launch, held, work / "f")
    held.release()
    host = launch()
    again = host.call("start", url=held.url, path=str(work / "f"), retry=QUICK_RETRY)
    assert (again["created"], again["resumed"]) == (False, True)
    done = finish(host, again["download"]["id"])
    assert (done["state"], done["totalBytes"]) == ("completed", 2 * MIB)
    assert (work / "f").read_bytes() == held.data


def test_bytes_beyond_a_part_are_never_told_to_have_come(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server, size=MIB, after=MIB - 1)
    download_id = pause_midway(host, held, work / "f")
    start, last = resume_start(held.after), MIB - 1
    named = f"bytes {start}-{last}/{MIB}"
    held.resource.then(
        Behaviour(status=206, body=held.data[start:] + b"rubbish", content_range=named, no_length=True)
    )
    done = resumed(host, download_id)
    assert (work / "f").read_bytes() == held.data
    assert done["receivedBytes"] == done["totalBytes"] == MIB
    told = [e["params"].get("download", e["params"])["receivedBytes"] for e in host.events]
    assert max(told) <= MIB
