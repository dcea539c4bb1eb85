"""Files that change on the server, mirrors, expired links, and limits on the traffic that they cause."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, Held, finish, poll, resume_start, sha256
from test_resume import pause_midway, resumed
from test_resume_policy import began, unvalidated
from towline_client import Towline


def reached(host: Towline, download_id: str, attempt: int, count: int) -> None:
    """Waits until the attempt has received this many bytes."""
    host.wait_event(
        lambda e: (
            e["method"] == "progress"
            and (e["params"]["id"], e["params"]["attempt"]) == (download_id, attempt)
            and e["params"]["receivedBytes"] >= count
        )
    )


# keepBoth


def test_keep_both_leaves_the_old_part_beside_the_new_file(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f", onChange="keepBoth")
    old = held.data[: held.after]
    held.resource.data = new = content(99, len(held.data))
    held.resource.etag = '"v2"'
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    assert began(done) == ("restarted", "validatorChanged", None)
    assert done["keptPaths"] == [str(work / "f.towline")]
    assert (work / "f").read_bytes() == new
    assert (work / "f.towline").read_bytes() == old
    assert sorted(p.name for p in work.iterdir()) == ["f", "f.towline"]
    assert host.call("inspect", id=download_id)["wastedBytes"] == 0
    # The service never deletes kept files.
    host.call("remove", id=download_id, deleteFile=True)
    assert [p.name for p in work.iterdir()] == ["f.towline"]


def test_several_changes_keep_several_parts(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    versions = [content(seed, len(held.data)) for seed in range(20, 24)]
    held.resource.data = versions[0]
    download_id = held.started(host, work / "f", onChange="keepBoth")["id"]
    for number in range(1, len(versions)):
        host.call("pause", id=download_id)
        held.resource.data = versions[number]
        held.resource.etag = f'"v{number + 1}"'
        host.call("resume", id=download_id)
        reached(host, download_id, number + 1, held.after)
    held.release()
    done = finish(host, download_id)
    assert (work / "f").read_bytes() == versions[-1]
    kept = ["f.towline", "f.2.towline", "f.3.towline"]
    assert [Path(p).name for p in done["keptPaths"]] == kept
    for name, data in zip(kept, versions):
        assert (work / name).read_bytes() == data[: held.after]


def test_kept_parts_are_told_by_a_later_process_and_never_overwritten(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    host = launch()
    download_id = held.started(host, work / "f", onChange="keepBoth")["id"]
    old = held.data[: held.after]
    host.kill()
    stranger = work / "f.2.towline"
    stranger.write_bytes(b"not ours")
    held.resource.data = new = content(99, len(held.data))
    held.resource.etag = '"v2"'
    second = launch()
    second.call("resume", id=download_id)
    reached(second, download_id, 2, held.after)
    second.kill()
    held.release()
    third = launch()
    third.call("resume", id=download_id)
    done = finish(third, download_id)
    assert began(done) == ("resumed", None, "validated")
    assert done["keptPaths"] == [str(work / "f.towline")]
    assert (work / "f").read_bytes() == new
    assert stranger.read_bytes() == b"not ours"
    # After a kill, slightly less may be written than was received.
    kept = (work / "f.towline").read_bytes()
    assert kept == old[: len(kept)]
    assert sorted(p.name for p in work.iterdir()) == ["f", "f.2.towline", "f.towline"]


def test_keep_both_keeps_what_cannot_be_proven_the_same(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = unvalidated(server)
    download_id = pause_midway(host, held, work / "f", onChange="keepBoth")
    done = resumed(host, download_id)
    assert began(done) == ("restarted", "noValidator", None)
    assert (work / "f").read_bytes() == held.data
    assert (work / "f.towline").read_bytes() == held.data[: held.after]


def test_canceling_deletes_the_new_part_and_leaves_the_old(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download_id = held.started(host, work / "f", onChange="keepBoth")["id"]
    host.call("pause", id=download_id)
    held.resource.etag = '"v2"'
    host.call("resume", id=download_id)
    reached(host, download_id, 2, held.after)
    canceled = host.call("cancel", id=download_id)["download"]
    assert canceled["keptPaths"] == [str(work / "f.towline")]
    poll(lambda: [p.name for p in work.iterdir()] == ["f.towline"])


# How sure the length is


@pytest.mark.parametrize(
    ("behaviour", "verified"),
    [
        (Behaviour(), True),
        (Behaviour(chunked=True), True),
        (Behaviour(no_length=True), False),
    ],
    ids=["a length", "chunked", "until the connection ends"],
)
@pytest.mark.parametrize("checked", [False, True], ids=["no checksum", "a checksum"])
def test_a_length_that_nothing_proves_is_told(
    host: Towline, server: ScriptedServer, work: Path, behaviour: Behaviour, verified: bool, checked: bool
) -> None:
    data = content(1, 300_000)
    server.add("/f", data, default=behaviour)
    checksum = {"checksum": {"algorithm": "sha256", "value": sha256(data)}} if checked else {}
    started = host.call("start", url=server.url("/f"), path=str(work / "f"), **checksum)
    done = finish(host, started["download"]["id"])
    assert (done["state"], done["totalBytes"]) == ("completed", len(data))
    assert done["lengthVerified"] is (verified or checked)


# Mirrors


def redirected(
    server: ScriptedServer, other_server: ScriptedServer, etags: tuple[str, str], query: str = ""
) -> tuple[Held, str]:
    """A redirect on the first server to a held mirror there and one on the other server."""
    held = Held(server, "/mirror")
    held.resource.etag = etags[0]
    other_server.add("/mirror", held.data, etag=etags[1])
    redirector = server.add("/f", b"")
    redirector.then(Behaviour(location=server.url("/mirror" + query)))
    redirector.default = Behaviour(location=other_server.url("/mirror"))
    return held, server.url("/f")


def start_redirected(host: Towline, held: Held, url: str, path: Path, **params: object) -> str:
    download_id = host.call("start", url=url, path=str(path), **params)["download"]["id"]
    host.wait_received(download_id, held.after)
    return download_id


def test_another_mirrors_validator_sends_it_back_to_the_first(
    host: Towline, server: ScriptedServer, other_server: ScriptedServer, work: Path
) -> None:
    held, url = redirected(server, other_server, ('"a"', '"b"'), "?token=secret")
    download_id = start_redirected(host, held, url, work / "f")
    host.call("pause", id=download_id)
    held.release()
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    assert began(done) == ("resumed", None, "validated")
    assert (work / "f").read_bytes() == held.data
    assert [r.status for r in server.requests("/mirror")] == [200, 206]
    assert server.requests("/mirror")[1].target == "/mirror?token=secret"
    assert "secret" not in str(host.call("inspect", id=download_id))


def test_a_mirror_that_has_gone_is_left_for_the_other(
    host: Towline, server: ScriptedServer, other_server: ScriptedServer, work: Path
) -> None:
    held, url = redirected(server, other_server, ('"a"', '"b"'))
    download_id = start_redirected(host, held, url, work / "f")
    host.call("pause", id=download_id)
    held.release()
    held.resource.default = Behaviour(status=404)
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    assert began(done) == ("restarted", "mirrorChanged", None)
    assert (work / "f").read_bytes() == held.data
    assert done["finalUrl"] == other_server.url("/mirror")


def test_a_mirror_that_has_gone_can_fail_instead(
    host: Towline, server: ScriptedServer, other_server: ScriptedServer, work: Path
) -> None:
    held, url = redirected(server, other_server, ('"a"', '"b"'))
    download_id = start_redirected(host, held, url, work / "f", onChange="fail")
    host.call("pause", id=download_id)
    held.release()
    held.resource.then(Behaviour(drop_after=0))
    held.resource.default = Behaviour(status=500)
    done = resumed(host, download_id)
    assert (done["state"], done["error"]["kind"]) == ("failed", "remoteChanged")
    assert "mirrorChanged" in done["error"]["message"]


@pytest.mark.parametrize("query", ["", "?token=secret"], ids=["nothing secret", "a secret"])
def test_a_later_process_asks_the_first_mirror_unless_that_needs_a_secret(
    launch: Launcher, server: ScriptedServer, other_server: ScriptedServer, work: Path, query: str
) -> None:
    held, url = redirected(server, other_server, ('"a"', '"b"'), query)
    first = launch()
    download_id = start_redirected(first, held, url, work / "f")
    first.kill()
    held.release()
    host = launch()
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    expected = ("restarted", "mirrorChanged", None) if query else ("resumed", None, "validated")
    assert began(done) == expected
    assert (work / "f").read_bytes() == held.data


# Expired links


@pytest.mark.parametrize("how", ["401", "403", "410", "page"])
def test_a_link_that_ran_out_waits_for_a_new_one_and_goes_on(
    host: Towline, server: ScriptedServer, work: Path, how: str
) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f", headers={"Authorization": "old"})
    page = b"<html>" + b"x" * 5_000_000
    html = [("Content-Type", "text/html"), ("ETag", '"page"')]
    held.resource.default = (
        Behaviour(status=200, body=page, headers=html)
        if how == "page"
        else Behaviour(status=int(how), body=page)
    )
    host.call("resume", id=download_id)
    waiting = host.wait_event(
        lambda e: e["method"] == "changed" and e["params"]["download"]["reason"] == "needsUrl"
    )["params"]["download"]
    assert (waiting["state"], waiting["error"]["kind"]) == ("waiting", "urlExpired")
    assert waiting["receivedBytes"] == held.after
    assert (work / "f.towline").read_bytes()[: held.after] == held.data[: held.after]
    server.add("/new", held.data)
    host.call("update", id=download_id, url=server.url("/new"), headers={"Authorization": "new"})
    done = finish(host, download_id)
    assert began(done) == ("resumed", None, "validated")
    assert (work / "f").read_bytes() == held.data
    request = server.requests("/new")[0]
    assert (request.headers["authorization"], request.range_start) == ("new", resume_start(held.after))


def test_a_link_that_leads_nowhere_fails_and_keeps_the_bytes(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f")
    held.resource.default = Behaviour(status=404, body=b"nothing here")
    done = resumed(host, download_id)
    assert (done["state"], done["error"]["httpStatus"]) == ("failed", 404)
    assert done["receivedBytes"] == held.after
    held.resource.default = Behaviour()
    assert began(resumed(host, download_id)) == ("resumed", None, "validated")
    assert (work / "f").read_bytes() == held.data


@pytest.mark.parametrize("what", ["size", "validator", "neither"])
def test_a_new_url_keeps_the_bytes_only_if_size_and_validator_agree(
    host: Towline, server: ScriptedServer, work: Path, what: str
) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f", onChange="fail")
    data = held.data + b"more" if what == "size" else held.data
    server.add("/new", data, etag='"v2"' if what == "validator" else '"v1"')
    host.call("update", id=download_id, url=server.url("/new"))
    done = resumed(host, download_id)
    if what == "neither":
        assert began(done) == ("resumed", None, "validated")
        assert (work / "f").read_bytes() == held.data
    else:
        assert (done["state"], done["error"]["kind"]) == ("failed", "remoteChanged")
        assert done["receivedBytes"] == held.after


# Limits


def test_a_server_without_ranges_on_a_bad_link_is_not_asked_for_ever(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    """Each answer is the whole file, cut a little later than the one before."""
    data = content(1, 4 * MIB)
    resource = server.add("/f", data)
    resource.then(*(Behaviour(ranges="ignored", drop_after=100_000 * n) for n in range(1, 40)))
    retry = {"maxAttempts": 4, "initialDelayMs": 1, "maxDelayMs": 1}
    started = host.call("start", url=server.url("/f"), path=str(work / "f"), retry=retry)
    done = finish(host, started["download"]["id"])
    assert (done["state"], done["error"]["kind"]) == ("failed", "incomplete")
    # Two requests per try: with If-Range and without.
    assert len(server.requests()) <= 1 + 2 * 5


def test_a_validator_that_changes_with_every_answer_ends_in_an_error(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    data = content(1, 4 * MIB)
    resource = server.add("/f", data)
    resource.then(
        *(Behaviour(headers=[("ETag", f'"{n}"')], drop_after=100_000 * n) for n in range(1, 60)),
    )
    retry = {"maxAttempts": 4, "initialDelayMs": 1, "maxDelayMs": 1}
    started = host.call("start", url=server.url("/f"), path=str(work / "f"), retry=retry)
    done = finish(host, started["download"]["id"])
    assert done["state"] == "failed"
    assert len(server.requests()) <= 30


@pytest.mark.parametrize("same", [True, False], ids=["the same version", "another"])
def test_a_416_does_not_make_a_part_of_unknown_length_the_whole(
    host: Towline, server: ScriptedServer, work: Path, same: bool
) -> None:
    held = Held(server)
    held.resource.default.chunked = True
    download_id = pause_midway(host, held, work / "f")
    new = held.data if same else content(99, held.after)
    held.resource.data = new
    held.resource.etag = '"v1"' if same else '"v2"'
    held.resource.then(
        Behaviour(status=416, headers=[("Content-Range", f"bytes */{held.after}")]),
    )
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    assert (work / "f").read_bytes() == new
