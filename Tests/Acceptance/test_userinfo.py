"""Credentials in a URL: they are removed from it, stored like headers, and never shown."""

from __future__ import annotations

import base64
import json
import sqlite3
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer
from support import Held, fetch, finish, sha256
from towline_client import Towline

SECRET = "hunter2"


def with_userinfo(url: str, userinfo: str) -> str:
    return url.replace("://", f"://{userinfo}@", 1)


def basic(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return "Basic " + base64.b64encode(data).decode()


def sent(server: ScriptedServer, path: str) -> list[str | None]:
    return [request.headers.get("authorization") for request in server.requests(path)]


@pytest.mark.parametrize(
    ("userinfo", "credentials"),
    [
        (f"user:{SECRET}", f"user:{SECRET}"),
        (f"us%40er:{SECRET}%3A%2F%3F%23", f"us@er:{SECRET}:/?#"),
        (SECRET, f"{SECRET}:"),
        (f":{SECRET}", f":{SECRET}"),
        (f"user:{SECRET}:more", f"user:{SECRET}:more"),
        ("caf%C3%A9:" + SECRET, "caf\u00e9:" + SECRET),
        (f"u%20s:{SECRET}!$&'()*+,;=", f"u s:{SECRET}!$&'()*+,;="),
    ],
)
def test_it_is_sent_and_shown_nowhere(
    launch: Launcher, server: ScriptedServer, work: Path, userinfo: str, credentials: str
) -> None:
    host = launch("--log-level", "debug")
    held = Held(server)
    given = with_userinfo(held.url, userinfo) + "#part"
    started = host.call("start", id="d", url=given, path=str(work / "f"))
    assert started["download"]["url"] == held.url + "#part"
    host.wait_received("d", held.after)
    for answer in (
        host.call("get", id="d"),
        host.call("list"),
        host.call("inspect", id="d"),
        host.call("export", id="d"),
        host.call("update", id="d", priority=1),
        host.call("pause", id="d"),
        host.call("resume", id="d"),
    ):
        assert SECRET not in json.dumps(answer)
    held.release()
    assert finish(host, "d")["state"] == "completed"
    assert set(sent(server, "/held")) == {basic(credentials)}
    assert SECRET not in json.dumps(host.messages)
    assert SECRET not in host.stderr
    assert sha256(work / "f") == sha256(held.data)


def test_the_userinfo_is_no_part_of_the_identity(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    first = held.started(host, work / "f", id="d")
    for url in (held.url, with_userinfo(held.url, f"user:{SECRET}"), with_userinfo(held.url, "")):
        again = host.call("start", id="d", url=url, path=str(work / "f"))
        assert (again["created"], again["download"]["id"]) == (False, first["id"])
        assert host.call("start", url=url, path=str(work / "f"))["download"]["id"] == first["id"]
    held.release()


def test_it_outlives_the_process(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    first = launch()
    first.call("start", id="d", url=with_userinfo(held.url, f"user:{SECRET}"), path=str(work / "f"))
    first.wait_received("d", held.after)
    first.kill()
    held.release()
    second = launch()
    second.call("resume", id="d")
    assert finish(second, "d")["state"] == "completed"
    assert sent(server, "/held") == [basic(f"user:{SECRET}")] * 2
    assert SECRET not in json.dumps(second.messages)


def test_the_record_keeps_it_with_the_headers(launch: Launcher, work: Path) -> None:
    host = launch()
    url = with_userinfo("http://127.0.0.1:1/f", f"user:{SECRET}")
    host.call("start", id="d", url=url, path="f", startPaused=True, headers={"X-Key": "k"})
    host.finish()
    with sqlite3.connect(launch.state / "towline.db") as database:
        ((stored, headers),) = database.execute("SELECT url, headers FROM download").fetchall()
    assert stored == "http://127.0.0.1:1/f"
    assert SECRET in headers


def test_a_record_of_an_earlier_version_shows_it_no_more(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    """Such records contain the URL as it was given."""
    server.add("/f", b"x")
    host = launch()
    bare = server.url("/f")
    host.call("start", id="d", url=bare, path=str(work / "f"), startPaused=True)
    host.finish()
    given = with_userinfo(bare, f"user:{SECRET}")
    with sqlite3.connect(launch.state / "towline.db") as database:
        # A database from before the checksums, whose rows are trusted.
        database.execute("UPDATE download SET url = ?", [given])
        for column in ("requestCheck", "progressCheck", "errorHolder"):
            database.execute(f"ALTER TABLE download DROP COLUMN {column}")
        database.execute("DROP INDEX downloadFinished")
        database.execute("PRAGMA user_version = 2")
    later = launch()
    assert later.call("get", id="d")["download"]["url"] == bare
    again = later.call("start", url=given, path=str(work / "f"))
    assert (again["created"], again["download"]["id"]) == (False, "d")
    assert later.call("start", id="d", url=given, path=str(work / "f"))["created"] is False
    later.call("resume", id="d")
    assert finish(later, "d")["state"] == "completed"
    assert sent(server, "/f") == [basic(f"user:{SECRET}")]
    assert SECRET not in json.dumps(later.messages)


def test_a_header_of_the_client_wins(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    url = with_userinfo(server.url("/f"), f"user:{SECRET}")
    fetch(host, url, work / "f", headers={"Authorization": "Bearer t"})
    assert sent(server, "/f") == ["Bearer t"]


def test_it_stays_with_its_origin(
    host: Towline, server: ScriptedServer, other_server: ScriptedServer, work: Path
) -> None:
    server.add("/same", b"", default=Behaviour(location="/other"))
    server.add("/other", b"", default=Behaviour(location=other_server.url("/f")))
    other_server.add("/f", b"x")
    done = fetch(host, with_userinfo(server.url("/same"), f"user:{SECRET}"), work / "f")
    assert done["state"] == "completed"
    assert sent(server, "/same") + sent(server, "/other") == [basic(f"user:{SECRET}")] * 2
    assert sent(other_server, "/f") == [None]


def test_a_redirect_with_userinfo_shows_none_either(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x")
    server.add("/r", b"", default=Behaviour(location=with_userinfo(server.url("/f"), f"user:{SECRET}")))
    done = fetch(host, server.url("/r"), work / "f")
    assert (done["state"], done["finalUrl"]) == ("completed", server.url("/f"))
    assert SECRET not in json.dumps(host.messages)


@pytest.mark.parametrize(
    ("userinfo", "other_host", "expected"),
    [
        (f"new:{SECRET}", False, f"new:{SECRET}"),
        (None, False, f"user:{SECRET}"),
        ("", False, None),
        (None, True, None),
        (f"new:{SECRET}", True, f"new:{SECRET}"),
    ],
)
def test_update_changes_it_and_never_takes_it_elsewhere(
    host: Towline,
    server: ScriptedServer,
    other_server: ScriptedServer,
    work: Path,
    userinfo: str | None,
    other_host: bool,
    expected: str | None,
) -> None:
    held = Held(server)
    host.call("start", id="d", url=with_userinfo(held.url, f"user:{SECRET}"), path=str(work / "f"))
    host.wait_received("d", held.after)
    target = other_server if other_host else server
    target.add("/new", held.data)
    url = target.url("/new")
    given = url if userinfo is None else with_userinfo(url, userinfo)
    assert host.call("update", id="d", url=given)["download"]["url"] == url
    assert finish(host, "d")["state"] == "completed"
    assert sent(target, "/new") == [expected and basic(expected)]
    assert SECRET not in json.dumps(host.messages)
    held.release()


def test_other_credentials_alone_end_a_wait(host: Towline, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    host.call("start", id="d", url=with_userinfo(held.url, "user:old"), path=str(work / "f"))
    host.wait_received("d", held.after)
    held.resource.default = Behaviour(status=401)
    held.gate.set()
    host.call("pause", id="d")
    host.call("resume", id="d")
    waiting = host.call("wait", id="d", until="settled")["download"]
    assert (waiting["state"], waiting["reason"]) == ("waiting", "needsUrl")
    held.resource.default = Behaviour()
    host.call("update", id="d", url=with_userinfo(held.url, f"user:{SECRET}"))
    assert finish(host, "d")["state"] == "completed"
    assert sent(server, "/held")[-1] == basic(f"user:{SECRET}")


def test_headers_of_an_update_leave_it_alone(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    url = with_userinfo(server.url("/f"), f"user:{SECRET}")
    host.call("start", id="d", url=url, path=str(work / "f"), startPaused=True, headers={"A": "b"})
    host.call("update", id="d", headers=None)
    host.call("resume", id="d")
    assert finish(host, "d")["state"] == "completed"
    assert sent(server, "/f") == [basic(f"user:{SECRET}")]


def test_resume_data_has_it_given_again(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    held = Held(server)
    first = launch()
    given = with_userinfo(held.url, f"user:{SECRET}")
    first.call("start", id="d", url=given, path=str(work / "f"))
    first.wait_received("d", held.after)
    first.call("pause", id="d")
    text = first.call("export", id="d")["resumeData"]
    assert SECRET not in text
    held.release()
    second = launch(state=work / "b")
    error = second.error("start", resumeData=text)
    assert (error.code, error.data["path"]) == (-32602, "params.url")
    answer = second.call("start", resumeData=text, url=given)
    assert (answer["resumed"], answer["download"]["url"]) == (True, held.url)
    assert finish(second, answer["download"]["id"])["state"] == "completed"
    assert sent(server, "/held")[-1] == basic(f"user:{SECRET}")


def test_an_at_sign_elsewhere_is_none(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/a@b", b"x")
    for number, rest in enumerate(["/a@b", "/a@b?c@d=e@f", "/a@b#x@y"]):
        url = server.url() + rest if not server.url().endswith("/") else server.url()[:-1] + rest
        done = fetch(host, url, work / f"f{number}")
        assert (done["state"], done["url"]) == ("completed", url)
    assert set(sent(server, "/a@b")) == {None}


@pytest.mark.parametrize("userinfo", ["a@b", "a@b:c", "a%00b:c", "a%0ab:c"])
def test_what_could_be_read_in_two_ways_is_refused_or_split_at_the_last(
    host: Towline, server: ScriptedServer, work: Path, userinfo: str
) -> None:
    server.add("/f", b"x")
    given = with_userinfo(server.url("/f"), userinfo)
    request = host.send("start", {"url": given, "path": str(work / "f")})
    answer = host.response(request)
    if "error" in answer:
        assert answer["error"]["code"] == 1005
    else:
        assert answer["result"]["download"]["url"] == server.url("/f")
        assert finish(host, answer["result"]["download"]["id"])["state"] == "completed"
