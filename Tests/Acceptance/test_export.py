"""Resume data as a host uses it: exported here, started there, once."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer
from support import MIB, Held, finish, forged, resume_start, sha256
from towline_client import JSON, Towline

LIMIT = 32_768


def exported(host: Towline, held: Held, path: Path, **params: object) -> tuple[str, str]:
    """A download that was paused halfway: its id and its resume data."""
    download_id = held.started(host, path, **params)["id"]
    assert host.call("pause", id=download_id)["download"]["receivedBytes"] == held.after
    held.release()
    return download_id, host.call("export", id=download_id)["resumeData"]


@pytest.fixture
def held(server: ScriptedServer) -> Held:
    return Held(server)


def test_a_download_goes_on_in_another_state_directory(
    launch: Launcher, held: Held, server: ScriptedServer, work: Path
) -> None:
    first = launch()
    _, text = exported(first, held, work / "f")
    assert len(text) <= LIMIT
    assert first.call("shutdown") is None
    second = launch(state=work / "other-state")
    answer = second.call("start", resumeData=text)
    assert (answer["created"], answer["resumed"]) == (True, True)
    assert answer["download"]["url"] == server.url("/held")
    assert answer["download"]["receivedBytes"] == held.after
    done = finish(second, answer["download"]["id"])
    assert done["state"] == "completed"
    assert (done["transfer"]["mode"], done["transfer"]["offset"]) == ("resumed", held.after)
    assert sha256(work / "f") == sha256(held.data)
    assert server.requests("/held")[-1].range_start == resume_start(held.after)
    assert sorted(p.name for p in work.iterdir() if p.name.startswith("f")) == ["f"]


def test_used_twice_is_told(launch: Launcher, held: Held, work: Path) -> None:
    first = launch()
    _, text = exported(first, held, work / "f")
    second = launch(state=work / "b")
    second.call("start", resumeData=text, startPaused=True)
    third = launch(state=work / "c")
    error = third.error("start", resumeData=text)
    assert (error.code, error.kind, error.data["reason"]) == (1013, "resumeDataUnusable", "partialMissing")
    # In the state directory that already used it, the same start finds the same download.
    assert second.call("start", resumeData=text)["created"] is False


def test_in_use_is_told_and_can_be_tried_again(launch: Launcher, held: Held, work: Path) -> None:
    first = launch()
    download_id = held.started(first, work / "f")["id"]
    text = first.call("export", id=download_id)["resumeData"]
    second = launch(state=work / "b")
    error = second.error("start", resumeData=text)
    assert (error.kind, error.data["reason"]) == ("resumeDataUnusable", "partialInUse")
    first.kill()
    held.release()
    answer = second.call("start", resumeData=text)
    assert answer["resumed"] is True
    assert finish(second, answer["download"]["id"])["state"] == "completed"
    assert sha256(work / "f") == sha256(held.data)


def test_a_damaged_text_names_the_param(launch: Launcher, held: Held, work: Path) -> None:
    host = launch()
    _, text = exported(host, held, work / "f")
    for damaged in (text[:-1], text[1:], text.replace("url", "URL", 1), "x", text + " "):
        error = host.error("start", resumeData=damaged, path=str(work / "g"), url="http://h/")
        assert (error.code, error.data["path"]) == (-32602, "params.resumeData")


@pytest.mark.parametrize("loss", ["deleted", "replaced", "link", "fifo"])
def test_a_partial_that_is_not_there_any_more_is_told(
    launch: Launcher, held: Held, work: Path, loss: str
) -> None:
    host = launch()
    download_id, text = exported(host, held, work / "f")
    partial = Path(host.call("get", id=download_id)["download"]["partialPath"])
    copy = work / "copy"
    copy.write_bytes(partial.read_bytes())
    partial.unlink()
    if loss == "replaced":
        partial.write_bytes(copy.read_bytes())
    elif loss == "link":
        partial.symlink_to(copy)
    elif loss == "fifo":
        os.mkfifo(partial)
    second = launch(state=work / "b")
    error = second.error("start", resumeData=text)
    assert error.kind == "resumeDataUnusable"
    assert error.data["reason"] == ("partialMissing" if loss == "deleted" else "partialReplaced")
    assert error.data["path"] == str(partial)
    fresh = second.call("start", url=held.url, path=str(work / "g"))
    assert finish(second, fresh["download"]["id"])["state"] == "completed"


def test_no_secret_is_in_it(launch: Launcher, held: Held, server: ScriptedServer, work: Path) -> None:
    host = launch()
    url = server.url("/held?token=hush1").replace("://", "://user:hush2@")
    download_id = host.call(
        "start", url=url, path=str(work / "f"), headers={"Authorization": "hush3"}, metadata={"note": "hush4"}
    )["download"]["id"]
    host.wait_received(download_id, held.after)
    host.call("pause", id=download_id)
    held.release()
    text = host.call("export", id=download_id)["resumeData"]
    assert "hush" not in text
    second = launch(state=work / "b")
    error = second.error("start", resumeData=text)
    assert error.data["path"] == "params.url"
    answer = second.call("start", resumeData=text, url=url)
    assert answer["resumed"] is True
    assert finish(second, answer["download"]["id"])["state"] == "completed"


def test_another_place_and_a_checksum(launch: Launcher, held: Held, work: Path) -> None:
    host = launch()
    wrong = {"algorithm": "sha256", "value": "0" * 64}
    _, text = exported(host, held, work / "f", checksum=wrong)
    (work / "d").mkdir()
    second = launch(state=work / "b")
    answer = second.call("start", resumeData=text, directory=str(work / "d"))
    assert answer["download"]["path"] == str(work / "d" / "f")
    assert answer["download"]["checksum"] == wrong
    done = finish(second, answer["download"]["id"])
    assert done["error"]["kind"] == "checksumMismatch"
    assert not (work / "d" / "f").exists()


def test_what_has_ended_gives_nothing(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    host = launch()
    server.add("/f", b"x" * 100)
    download: JSON = host.call("start", url=server.url("/f"), path=str(work / "f"))["download"]
    finish(host, download["id"])
    assert host.error("export", id=download["id"]).code == 1002
    assert host.error("export", id="none").code == 1001


def test_what_has_not_begun_can_be_moved_too(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x" * MIB)
    first = launch()
    started = first.call("start", url=server.url("/f"), directory=str(work), startPaused=True)
    text = first.call("export", id=started["download"]["id"])["resumeData"]
    assert re.fullmatch(r"[\x21-\x7e]+", text)
    second = launch(state=work / "b")
    answer = second.call("start", resumeData=text)
    assert (answer["created"], answer["resumed"]) == (True, False)
    assert finish(second, answer["download"]["id"])["path"] == str(work / "f")


def birth(path: Path) -> str:
    """The creation time of a file in nanoseconds, as in resume data."""
    run = subprocess.run(["stat", "--format=%.9W", path], capture_output=True, text=True, check=True)
    return run.stdout.strip().replace(".", "")


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {p.name: (p.stat().st_ino, p.read_bytes()) for p in folder.iterdir()}


@pytest.mark.parametrize("name", ["letter.txt", "letter.towline"])
@pytest.mark.parametrize("signature", ["kept", "none", "made up"])
def test_a_forged_text_takes_no_file_over(
    launch: Launcher, held: Held, work: Path, tmp_path: Path, name: str, signature: str
) -> None:
    host = launch()
    _, text = exported(host, held, work / "f")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / name).write_bytes(b"dear diary" * 1_000)
    status = (mine / name).stat()
    values = {
        "partial": str(mine / name),
        "device": str(status.st_dev),
        "inode": str(status.st_ino),
        "birth": birth(mine / name),
        "durable": "0-10000",
        "written": "0-10000",
    }
    if signature != "kept":
        values |= {"mac": None if signature == "none" else "0" * 64}
    before = snapshot(mine)
    second = launch(state=work / "b")
    for params in ({}, {"path": str(mine / "new")}, {"path": str(mine / name), "ifExists": "overwrite"}):
        error = second.error("start", resumeData=forged(text, **values), **params)
        assert error.code in (1013, -32602)
        if error.code == 1013:
            assert error.data["reason"] == "unproven"
    assert snapshot(mine) == before
    assert second.call("list")["downloads"] == []
    assert second.call("start", resumeData=text)["resumed"] is True


@pytest.mark.parametrize("is_held", [True, False])
def test_a_forged_destination_is_not_written_to(
    launch: Launcher, held: Held, server: ScriptedServer, work: Path, is_held: bool
) -> None:
    host = launch()
    _, text = exported(host, held, work / "f")
    (work / "precious").write_bytes(b"mine")
    values = {"path": str(work / "precious"), "ifExists": "overwrite"}
    if not is_held:
        values["partial"] = None
    error = launch(state=work / "b").error("start", resumeData=forged(text, **values))
    assert (error.code, error.data["reason"]) == (1013, "unproven")
    assert (work / "precious").read_bytes() == b"mine"


def test_another_users_text_is_told_and_stays_good(
    launch: Launcher, held: Held, work: Path, tmp_path: Path
) -> None:
    """Another home directory represents another user or machine."""
    host = launch()
    _, text = exported(host, held, work / "f")
    before = (work / "f.towline").read_bytes()
    other = launch(state=work / "b", env={"XDG_STATE_HOME": str(tmp_path / "elsewhere")})
    error = other.error("start", resumeData=text)
    assert (error.code, error.kind, error.data["reason"]) == (1013, "resumeDataUnusable", "unproven")
    assert error.data["path"] == str(work / "f.towline")
    assert (work / "f.towline").read_bytes() == before
    # Nothing has changed: that process can download the file itself, and the text still works for the first
    # user.
    fresh = other.call("start", url=held.url, path=str(work / "g"))
    assert finish(other, fresh["download"]["id"])["state"] == "completed"
    again = launch(state=work / "c").call("start", resumeData=text)
    assert (again["resumed"], again["download"]["receivedBytes"]) == (True, held.after)


def test_many_processes_at_once_make_one_key(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    hosts = [launch(state=work / f"state-{n}") for n in range(8)]
    for n, host in enumerate(hosts):
        host.call("start", id="d", url=server.url("/f"), path=str(work / f"f{n}"), startPaused=True)
    requests = [host.send("export", {"id": "d"}) for host in hosts]
    texts = [host.answer(request)["resumeData"] for host, request in zip(hosts, requests, strict=True)]
    last = launch(state=work / "last")
    for n, text in enumerate(texts):
        assert last.call("start", id=f"d{n}", resumeData=text, startPaused=True)["created"] is True
    key = launch.home / ".local/state/towline/.resume-key"
    assert (key.stat().st_mode & 0o7777, key.stat().st_size) == (0o600, 32)
    assert [p.name for p in key.parent.iterdir()] == [key.name]


@pytest.mark.parametrize("harm", ["open to others", "short", "link", "directory", "no place"])
def test_without_a_key_for_the_user_a_text_serves_its_state_directory(
    launch: Launcher, held: Held, work: Path, harm: str
) -> None:
    key = launch.home / ".local/state/towline/.resume-key"
    if harm == "no place":
        (launch.home / ".local").write_text("")
    else:
        key.parent.mkdir(parents=True)
        if harm == "directory":
            key.mkdir()
        elif harm == "link":
            (work / "known").write_bytes(b"k" * 32)
            (work / "known").chmod(0o600)
            key.symlink_to(work / "known")
        else:
            key.write_bytes(b"k" * (31 if harm == "short" else 32))
            key.chmod(0o644 if harm == "open to others" else 0o600)
    host = launch()
    download_id, text = exported(host, held, work / "f")
    host.call("cancel", id=download_id, deletePartial=False)
    error = launch(state=work / "b").error("start", resumeData=text)
    assert error.data["reason"] == "unproven"
    assert (work / "f.towline").exists()
    answer = host.call("start", resumeData=text)
    assert (answer["resumed"], answer["download"]["receivedBytes"]) == (True, held.after)


def test_the_options_go_along(launch: Launcher, held: Held, work: Path) -> None:
    """All params of `start` except those left out on purpose: headers, metadata and events."""
    options: JSON = {
        "priority": -7,
        "ifExists": "overwrite",
        "checksum": {"algorithm": "sha256", "value": sha256(held.data)},
    }
    _, text = exported(launch(), held, work / "f", **options)
    second = launch(state=work / "b")
    taken = second.call("start", resumeData=text, startPaused=True)["download"]
    assert {name: taken[name] for name in ("priority", "checksum")} == {
        name: options[name] for name in ("priority", "checksum")
    }
    # Exported again, from the second process.
    third = launch(state=work / "c")
    again = second.call("export", id=taken["id"])["resumeData"]
    assert third.call("start", resumeData=again, startPaused=True)["download"]["priority"] == -7


def test_what_is_given_goes_before_what_came_along(launch: Launcher, held: Held, work: Path) -> None:
    _, text = exported(launch(), held, work / "f", priority=9)
    second = launch(state=work / "b")
    assert second.call("start", resumeData=text, priority=0, startPaused=True)["download"]["priority"] == 0


def test_background_goes_along(launch: Launcher, held: Held, server: ScriptedServer, work: Path) -> None:
    _, text = exported(launch(), held, work / "f", background=True)
    other = Held(server, "/other")
    held.resource.default = Behaviour(hold_after=0, gate=other.gate)
    second = launch(state=work / "b")
    second.call("initialize")
    download_id = second.call("start", resumeData=text)["download"]["id"]
    server.wait_requests("/held", 2)
    second.close_stdin()
    other.gate.set()
    # Its host has exited, and the download continues.
    assert second.wait_exit() == 0
    third = launch(state=work / "b")
    assert third.call("get", id=download_id)["download"]["state"] == "completed"
