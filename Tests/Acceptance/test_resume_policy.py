"""How much proof a resume needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, NO_RETRY, OVERLAP, QUICK_RETRY, Held, finish, resume_start, sha256
from test_resume import kill_midway, pause_midway, resumed
from towline_client import JSON, Towline

#: Received bytes that `probe` fetches again.
PROBE = 65_536


def unvalidated(server: ScriptedServer, **options: int) -> Held:
    """A file without validators."""
    held = Held(server, **options)
    held.resource.etag = None
    return held


def began(download: JSON) -> tuple[str, str | None, str | None]:
    transfer = download["transfer"]
    return transfer["mode"], transfer["why"], transfer["identity"]


# Probe


def test_probe_goes_on_after_comparing_an_overlap(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = unvalidated(server)
    download_id = pause_midway(host, held, work / "f", resumePolicy="probe")
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    assert (work / "f").read_bytes() == held.data
    assert began(done) == ("resumed", None, "probed")
    assert done["transfer"]["offset"] == held.after
    second = server.requests()[1]
    assert second.range == f"bytes={held.after - PROBE}-{len(held.data) - 1}"
    assert second.if_range is None
    assert done["attempt"] == 1


def test_probe_compares_all_that_is_held_when_that_is_little(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = unvalidated(server, after=1000)
    download_id = pause_midway(host, held, work / "f", resumePolicy="probe")
    done = resumed(host, download_id)
    assert began(done) == ("resumed", None, "probed")
    assert server.requests()[1].range_start == 0
    assert (work / "f").read_bytes() == held.data


def test_probe_goes_on_in_another_process(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    held = unvalidated(server)
    kill_midway(launch, held, work / "f", resumePolicy="probe")
    held.release()
    host = launch()
    again = host.call("start", url=held.url, path=str(work / "f"))
    done = finish(host, again["download"]["id"])
    assert began(done) == ("resumed", None, "probed")
    assert (work / "f").read_bytes() == held.data
    assert host.call("get", id=done["id"])["download"]["transfer"] == done["transfer"]


def test_probe_prefers_a_strong_validator(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f", resumePolicy="probe")
    assert began(resumed(host, download_id)) == ("resumed", None, "validated")
    assert server.requests()[1].range_start == resume_start(held.after)


@pytest.mark.parametrize("where", ["first", "last"])
def test_one_byte_of_the_overlap_that_differs_starts_over(
    host: Towline, server: ScriptedServer, work: Path, where: str
) -> None:
    held = unvalidated(server)
    download_id = pause_midway(host, held, work / "f", resumePolicy="probe")
    new = bytearray(held.data)
    new[held.after - (PROBE if where == "first" else 1)] ^= 1
    held.resource.data = bytes(new)
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    assert (work / "f").read_bytes() == held.resource.data
    assert began(done) == ("restarted", "overlapDiffers", None)
    assert done["attempt"] == 2
    assert host.call("inspect", id=download_id)["wastedBytes"] >= held.after


def test_an_overlap_that_differs_can_fail_instead(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = unvalidated(server)
    download_id = pause_midway(host, held, work / "f", resumePolicy="probe", onChange="fail", retry=NO_RETRY)
    held.resource.data = content(99, len(held.data))
    done = resumed(host, download_id)
    assert (done["state"], done["error"]["kind"]) == ("failed", "remoteChanged")
    assert "overlapDiffers" in done["error"]["message"]
    assert (work / "f.towline").read_bytes()[: held.after] == held.data[: held.after]
    # The received bytes were kept: with the old file back, it resumes.
    held.resource.data = held.data
    assert began(resumed(host, download_id)) == ("resumed", None, "probed")
    assert (work / "f").read_bytes() == held.data


def test_two_versions_that_share_the_overlap_are_what_probe_cannot_tell(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    """The documented limit of `probe`; `strict` would have restarted at 0."""
    held = unvalidated(server)
    download_id = pause_midway(host, held, work / "f", resumePolicy="probe")
    new = bytearray(held.data)
    new[0] ^= 1
    held.resource.data = bytes(new)
    done = resumed(host, download_id)
    assert began(done) == ("resumed", None, "probed")
    assert (work / "f").read_bytes() == held.data


def test_probe_does_not_join_what_has_another_length(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = unvalidated(server)
    download_id = pause_midway(host, held, work / "f", resumePolicy="probe")
    held.resource.data = held.data + b"more"
    done = resumed(host, download_id)
    assert began(done) == ("restarted", "totalChanged", None)
    assert (work / "f").read_bytes() == held.data + b"more"


@pytest.mark.parametrize("cut", [0, 1, PROBE - 1, PROBE, PROBE + 1, 300_000])
def test_a_probe_that_is_cut_off_is_tried_again(
    host: Towline, server: ScriptedServer, work: Path, cut: int
) -> None:
    held = unvalidated(server)
    download_id = pause_midway(host, held, work / "f", resumePolicy="probe", retry=QUICK_RETRY)
    held.resource.then(Behaviour(drop_after=cut))
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    assert began(done) == ("resumed", None, "probed")
    assert (work / "f").read_bytes() == held.data
    received = [e["params"]["receivedBytes"] for e in host.events if e["method"] == "progress"]
    assert received == sorted(received)


def test_a_pause_during_the_comparison_loses_nothing(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = unvalidated(server)
    download_id = pause_midway(host, held, work / "f", resumePolicy="probe")
    held.gate.clear()
    held.resource.default = Behaviour(hold_after=PROBE - 1, gate=held.gate)
    host.call("resume", id=download_id)
    server.wait(lambda: len(server.requests()) == 2 and server.requests()[1].body_sent == PROBE - 1)
    paused = host.call("pause", id=download_id)["download"]
    assert paused["receivedBytes"] == held.after
    held.release()
    done = resumed(host, download_id)
    assert began(done) == ("resumed", None, "probed")
    assert (work / "f").read_bytes() == held.data


def test_probe_starts_over_where_ranges_are_ignored(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = unvalidated(server)
    download_id = pause_midway(host, held, work / "f", resumePolicy="probe")
    held.resource.default = Behaviour(ranges="ignored")
    done = resumed(host, download_id)
    assert done["transfer"]["mode"] == "restarted"
    assert (work / "f").read_bytes() == held.data


def test_a_part_that_starts_early_is_compared_and_used(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    """Block caches answer from the start of a block."""
    held = Held(server)
    download_id = pause_midway(host, held, work / "f")
    start, last, total = held.after - 40_000, len(held.data) - 1, len(held.data)
    held.resource.then(
        Behaviour(
            status=206,
            body=held.data[start:],
            content_range=f"bytes {start}-{last}/{total}",
        )
    )
    done = resumed(host, download_id)
    assert began(done) == ("resumed", None, "validated")
    assert done["transfer"]["offset"] == held.after
    assert (work / "f").read_bytes() == held.data


# Trust


@pytest.mark.parametrize("etag", [None, 'W/"v1"'], ids=["no validator", "a weak one"])
def test_trust_goes_on_when_nothing_speaks_against_it(
    host: Towline, server: ScriptedServer, work: Path, etag: str | None
) -> None:
    held = unvalidated(server)
    held.resource.etag = etag
    download_id = pause_midway(host, held, work / "f", resumePolicy="trust")
    done = resumed(host, download_id)
    assert began(done) == ("resumed", None, "trusted")
    assert server.requests()[1].range_start == resume_start(held.after)
    assert (work / "f").read_bytes() == held.data


@pytest.mark.parametrize("what", ["validatorChanged", "totalChanged"])
def test_trust_does_not_join_what_is_plainly_another_file(
    host: Towline, server: ScriptedServer, work: Path, what: str
) -> None:
    held = unvalidated(server)
    held.resource.etag = 'W/"v1"'
    download_id = pause_midway(host, held, work / "f", resumePolicy="trust")
    held.resource.data = content(99, len(held.data) + (what == "totalChanged"))
    if what == "validatorChanged":
        held.resource.etag = 'W/"v2"'
    done = resumed(host, download_id)
    assert began(done) == ("restarted", what, None)
    assert (work / "f").read_bytes() == held.resource.data


# A checksum


@pytest.mark.parametrize("policy", ["strict", "probe", "trust"])
def test_a_checksum_outranks_the_policy(
    host: Towline, server: ScriptedServer, work: Path, policy: str
) -> None:
    held = unvalidated(server)
    checksum = {"algorithm": "sha256", "value": sha256(held.data)}
    download_id = pause_midway(host, held, work / "f", resumePolicy=policy, checksum=checksum)
    done = resumed(host, download_id)
    assert began(done) == ("resumed", None, "checksum")
    assert server.requests()[1].range_start == resume_start(held.after)
    assert (work / "f").read_bytes() == held.data


def test_strict_and_restart_are_what_holds_unasked(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = unvalidated(server, size=2 * MIB)
    download_id = pause_midway(host, held, work / "f")
    assert began(resumed(host, download_id)) == ("restarted", "noValidator", None)


@pytest.mark.parametrize("honest", ["If-Range", "no If-Range"])
def test_a_checksum_outranks_validators_that_change_by_themselves(
    host: Towline, server: ScriptedServer, work: Path, honest: str
) -> None:
    """Servers behind one name often give different ETags for the same file."""
    held = Held(server)
    checksum = {"algorithm": "sha256", "value": sha256(held.data)}
    download_id = pause_midway(host, held, work / "f", checksum=checksum)
    held.resource.etag = '"the other server\'s"'
    if honest == "no If-Range":
        # This server checks only Range.
        tail = held.data[resume_start(held.after) :]
        named = f"bytes {resume_start(held.after)}-{len(held.data) - 1}/{len(held.data)}"
        held.resource.then(Behaviour(status=206, body=tail, content_range=named))
    done = resumed(host, download_id)
    assert began(done) == ("resumed", None, "checksum")
    assert (work / "f").read_bytes() == held.data
    assert host.call("inspect", id=download_id)["wastedBytes"] == OVERLAP


def test_validators_that_change_by_themselves_are_another_file_without_a_checksum(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = Held(server)
    download_id = pause_midway(host, held, work / "f")
    held.resource.etag = '"v2"'
    assert began(resumed(host, download_id)) == ("restarted", "validatorChanged", None)
    assert (work / "f").read_bytes() == held.data


def test_a_resume_that_makes_a_wrong_file_is_fetched_anew_once(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    """Part of the old version was received, the checksum is the new one's, the overlap is equal in both."""
    held = unvalidated(server)
    new = content(99, held.after - OVERLAP) + held.data[held.after - OVERLAP :]
    checksum = {"algorithm": "sha256", "value": sha256(new)}
    download_id = pause_midway(host, held, work / "f", checksum=checksum)
    held.resource.data = new
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    assert began(done) == ("restarted", "checksumMismatch", None)
    assert (work / "f").read_bytes() == new
    assert done["attempt"] == 2
    assert [r.range_start for r in server.requests()] == [0, resume_start(held.after), 0]
    assert host.call("inspect", id=download_id)["wastedBytes"] == len(new) + OVERLAP


def test_a_resume_that_would_make_a_wrong_file_is_fetched_anew_before_it_does(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = unvalidated(server)
    new = content(99, len(held.data))
    checksum = {"algorithm": "sha256", "value": sha256(new)}
    download_id = pause_midway(host, held, work / "f", checksum=checksum)
    held.resource.data = new
    done = resumed(host, download_id)
    assert began(done) == ("restarted", "overlapDiffers", None)
    assert (work / "f").read_bytes() == new
    assert [r.range_start for r in server.requests()] == [0, resume_start(held.after), 0]


def test_all_of_an_old_version_whose_length_nobody_knew_is_fetched_anew_once(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    """Only the end was missing, and the overlap is equal in both versions."""
    held = unvalidated(server, size=MIB, after=MIB)
    held.resource.default = Behaviour(hold_after=MIB, gate=held.gate, chunked=True)
    new = content(99, MIB - OVERLAP) + held.data[-OVERLAP:]
    checksum = {"algorithm": "sha256", "value": sha256(new)}
    download_id = pause_midway(host, held, work / "f", checksum=checksum)
    held.resource.data = new
    done = resumed(host, download_id)
    assert done["state"] == "completed"
    assert began(done) == ("restarted", "checksumMismatch", None)
    assert (work / "f").read_bytes() == new
    assert [r.range_start for r in server.requests()] == [0, MIB - OVERLAP, 0]


def test_a_checksum_that_no_version_has_fails_after_one_more_fetch(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    held = unvalidated(server)
    checksum = {"algorithm": "sha256", "value": "0" * 64}
    download_id = pause_midway(host, held, work / "f", checksum=checksum)
    done = resumed(host, download_id)
    assert (done["state"], done["error"]["kind"]) == ("failed", "checksumMismatch")
    assert [r.range_start for r in server.requests()] == [0, resume_start(held.after), 0]
    assert not (work / "f").exists()


def test_a_fresh_file_with_a_wrong_checksum_is_not_fetched_again(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", content(1, MIB))
    checksum = {"algorithm": "sha256", "value": "0" * 64}
    started = host.call("start", url=server.url("/f"), path=str(work / "f"), checksum=checksum)
    assert finish(host, started["download"]["id"])["error"]["kind"] == "checksumMismatch"
    assert len(server.requests()) == 1
