"""What the command makes of records that earlier runs left: new links, --forget, remove, clean, Ctrl-C."""

from __future__ import annotations

import hashlib
import json
import signal
from typing import Any

import pytest
from loopback import Resource, Server, content
from test_cli import Runner, asked, run

from towline import Towline

__all__ = ["run"]
PLACES = [("-o", "f"), ("-d", "."), ("-d", "new")]


def records(run: Runner) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("list", "--json").stdout.splitlines()]


def interrupt(run: Runner, resource: Resource, *command: str) -> str:
    """Runs the command until the server holds, then presses Ctrl-C; returns what it said."""
    program = run.begin(*command)
    asked(resource)
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=20)
    assert program.returncode == 130
    resource.held = False
    return said


# A new link


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
def test_a_new_link_continues_the_download(run: Runner, server: Server, place: tuple[str, str]) -> None:
    held = server.add("f?signature=1", content(1, 3_000_000), hold_at=2_000_000)
    interrupt(run, held, "get", server.url("f?signature=1"), *place)
    held.status = 403
    renewed = server.add("f?signature=2", held.body)
    done = run("get", server.url("f?signature=2"), *place)
    path = run.directory / (place[1] if place[0] == "-o" else f"{place[1]}/f")
    assert done.stdout == f"{path}\n"
    assert path.read_bytes() == held.body
    assert [r is not None and r.startswith("bytes=") for r in renewed.ranges][-1], "it started from zero"
    (record,) = records(run)
    assert record["url"] == server.url("f?signature=2")


def test_a_new_link_is_given_to_a_download_that_waits_for_one(run: Runner, server: Server) -> None:
    held = server.add("f?1", content(1, 3_000_000), hold_at=2_000_000)
    interrupt(run, held, "get", server.url("f?1"), "-o", "f")
    held.status = 403
    assert "urlExpired" in run("get", server.url("f?1"), "-o", "f", status=1).stderr
    server.add("f?2", held.body)
    run("get", server.url("f?2"), "-o", "f")
    assert (run.directory / "f").read_bytes() == held.body


def test_another_file_on_the_server_restarts_it(run: Runner, server: Server) -> None:
    held = server.add("f?1", content(1, 3_000_000), hold_at=2_000_000)
    interrupt(run, held, "get", server.url("f?1"), "-o", "f")
    other = server.add("f?2", content(2, 2_900_000))
    run("get", server.url("f?2"), "-o", "f")
    assert (run.directory / "f").read_bytes() == other.body


def test_another_path_of_the_url_is_another_download(run: Runner, server: Server) -> None:
    held = server.add("f", content(1, 3_000_000), hold_at=2_000_000)
    interrupt(run, held, "get", server.url("f"), "-o", "f")
    server.add("g", b"g")
    assert "destinationConflict" in run("get", server.url("g"), "-o", "f", status=1).stderr
    (record,) = records(run)
    assert record["url"] == server.url("f")


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
def test_a_finished_file_is_not_taken_for_that_of_another_query(
    run: Runner, server: Server, place: tuple[str, str]
) -> None:
    body = content(1, 1000)
    server.add("f?1", body)
    server.add("f?2", content(2, 1000))
    run("get", server.url("f?1"), *place)
    assert "destinationConflict" in run("get", server.url("f?2"), *place, status=1).stderr
    # The first link finds it still, and a checksum that was compared says that it is the one.
    run("get", server.url("f?1"), *place)
    digest = hashlib.sha256(body).hexdigest()
    run("get", server.url("f?1"), *place, "--forget")
    (run.directory / (place[1] if place[0] == "-o" else f"{place[1]}/f")).unlink()
    run("get", server.url("f?1"), *place, "--checksum", digest)
    run("get", server.url("f?2"), *place, "--checksum", digest)


def test_two_queries_in_one_command_are_two_downloads(run: Runner, server: Server) -> None:
    first = server.add("f?1", content(1, 300_000), rate=400_000)
    server.add("f?2", content(2, 3_000))
    done = run("get", server.url("f?1"), server.url("f?2"), status=1)
    assert done.stdout in ("", f"{run.directory / 'f'}\n")
    assert (run.directory / "f").read_bytes() in (first.body, content(2, 3_000))
    assert {record["url"] for record in records(run)} == {server.url("f?1"), server.url("f?2")}


def test_headers_of_this_run_replace_those_before(run: Runner, server: Server) -> None:
    held = server.add("f", content(1, 3_000_000), hold_at=2_000_000)
    command = ("get", server.url("f"), "-o", "f", "-H")
    interrupt(run, held, *command, "X-Key: old")
    held.release()
    run(*command, "X-Key: new")
    assert held.headers[0]["X-Key"] == "old"
    assert held.headers[-1]["X-Key"] == "new"


# Dropping


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
@pytest.mark.parametrize("link", ["f?1", "f?2"])
def test_forget_drops_what_was_received(
    run: Runner, server: Server, place: tuple[str, str], link: str
) -> None:
    held = server.add("f?1", content(1, 3_000_000), hold_at=2_000_000)
    interrupt(run, held, "get", server.url("f?1"), *place)
    done = run("get", "--forget", server.url(link), *place)
    assert done.stdout == ""
    assert "forgot   f (" in done.stderr
    assert "deleted" in done.stderr
    assert records(run) == []
    assert [path for path in run.directory.rglob("*") if path.is_file()] == []
    assert "nothing was kept" in run("get", "--forget", server.url(link), *place).stderr
    assert len(held.ranges) == 1, "it downloaded"


def test_forget_leaves_finished_files_and_other_places_alone(run: Runner, server: Server) -> None:
    server.add("f", b"abc")
    run("get", server.url("f"))
    run("get", server.url("f"), "-d", "other")
    assert "the file stays" in run("get", "--forget", server.url("f")).stderr
    assert (run.directory / "f").read_bytes() == b"abc"
    (record,) = records(run)
    assert record["path"] == str(run.directory / "other/f")


def test_forget_does_not_touch_what_another_process_downloads(run: Runner, server: Server) -> None:
    held = server.add("f", content(1, 3_000_000), hold_at=2_000_000)
    with Towline(env=run.environment) as owner:
        started = owner.start(server.url("f"), run.directory / "f")
        asked(held)
        assert "lockedElsewhere" in run("get", "--forget", server.url("f"), "-o", "f", status=1).stderr
        held.release()
        assert owner.wait(started).state == "completed"


def test_remove_by_url_and_by_id(run: Runner, server: Server) -> None:
    for name in ("a", "b", "c"):
        server.add(name, name.encode())
    run("get", *(server.url(name) for name in ("a", "b", "c")))
    ids = {record["url"].rpartition("/")[2]: record["id"] for record in records(run)}
    assert run("remove", ids["a"], server.url("b")).stdout == f"{ids['a']} removed\n{ids['b']} removed\n"
    assert [record["id"] for record in records(run)] == [ids["c"]]
    run("remove", "--delete-file", ids["c"])
    assert sorted(path.name for path in run.directory.iterdir()) == ["a", "b"]
    assert "there is no download of" in run("remove", server.url("a"), status=1).stderr
    assert "downloadNotFound" in run("remove", ids["a"], status=1).stderr
    assert "usage" in run("remove", status=2).stderr


def test_remove_of_what_is_unfinished_is_refused(run: Runner, server: Server) -> None:
    held = server.add("f", content(1, 3_000_000), hold_at=2_000_000)
    interrupt(run, held, "get", server.url("f"))
    assert "invalidState" in run("remove", server.url("f"), status=1).stderr
    assert len(records(run)) == 1


def test_clean_removes_what_is_over(run: Runner, server: Server) -> None:
    server.add("done", b"abc")
    held = server.add("f", content(1, 3_000_000), hold_at=2_000_000)
    run("get", server.url("done"), server.url("missing"), status=1)
    interrupt(run, held, "get", server.url("f"))
    assert run("clean").stdout.count("removed") == 1
    assert {record["state"] for record in records(run)} == {"failed", "paused"}
    assert run("clean", "--failed").stdout.count("removed") == 1
    assert [record["state"] for record in records(run)] == ["paused"]
    assert run("clean").stdout == ""
    assert (run.directory / "done").read_bytes() == b"abc"


# Ctrl-C


def test_ctrl_c_says_what_is_kept(run: Runner, server: Server) -> None:
    held = server.add("f", content(1, 3_000_000), hold_at=2_000_000)
    said = interrupt(run, held, "get", server.url("f"))
    (record,) = records(run)
    kept = f"{record['receivedBytes'] / 2**20:.1f} MiB of 2.9 MiB"
    assert f"kept     f ({kept})" in said
    assert said.splitlines()[-1] == "the same command resumes"


def test_ctrl_c_with_quiet_says_nothing(run: Runner, server: Server) -> None:
    held = server.add("f", content(1, 3_000_000), hold_at=2_000_000)
    assert interrupt(run, held, "get", "-q", server.url("f")) == ""


def test_help_says_that_a_new_link_resumes(run: Runner) -> None:
    for command in (["get", "--help"], ["--help"]):
        assert "with a new link that" in " ".join(run(*command).stdout.split())
    assert "--forget" in run("get", "--help").stdout
