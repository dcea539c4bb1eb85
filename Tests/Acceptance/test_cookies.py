"""Cookies set on the way to a file: the rules of RFC 6265, separate for each download, never on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer
from support import QUICK_RETRY, fetch
from towline_client import Towline

PAST = "Thu, 01 Jan 1970 00:00:01 GMT"


def sets(location: str, *cookies: str) -> Behaviour:
    return Behaviour(location=location, headers=[("Set-Cookie", cookie) for cookie in cookies])


def walk(
    host: Towline,
    server: ScriptedServer,
    folder: Path,
    hops: Sequence[tuple[str, str, Sequence[str]]],
    **params: object,
) -> list[set[str]]:
    """Follows a chain of (host name, path, cookies set there); returns the cookies of each request."""
    for (_, path, cookies), (name, after, _) in zip(hops, [*hops[1:], hops[-1]]):
        server.add(path, b"x").then(sets(server.url(after, host=name), *cookies))
    name, path, _ = hops[-1]
    server.resources[path].script.clear()
    name, path, _ = hops[0]
    done = fetch(host, server.url(path, host=name), folder / "f", **params)
    assert done["state"] == "completed"
    return [brought(request.headers.get("cookie")) for request in server.requests()]


def brought(field: str | None) -> set[str]:
    return set(field.split("; ")) if field else set()


#: hops of (name, path, cookies set), and the cookies that the last request must send
CHAINS = {
    "the same host": ([("127.0.0.1", "/a", ["s=1"]), ("127.0.0.1", "/f", [])], {"s=1"}),
    "the host alone": ([("a.localhost", "/a", ["s=1"]), ("b.localhost", "/f", [])], set()),
    "not below the host": ([("a.localhost", "/a", ["s=1"]), ("x.a.localhost", "/f", [])], set()),
    "below the domain": (
        [("x.a.localhost", "/a", ["s=1; Domain=a.localhost"]), ("y.a.localhost", "/f", [])],
        {"s=1"},
    ),
    "the domain itself": (
        [("x.a.localhost", "/a", ["s=1; Domain=.a.localhost"]), ("a.localhost", "/f", [])],
        {"s=1"},
    ),
    "no foreign domain": (
        [("a.localhost", "/a", ["s=1; Domain=b.localhost"]), ("b.localhost", "/f", [])],
        set(),
    ),
    "no longer domain": (
        [("a.localhost", "/a", ["s=1; Domain=x.a.localhost"]), ("x.a.localhost", "/f", [])],
        set(),
    ),
    "no domain of an address": ([("127.0.0.1", "/a", ["s=1; Domain=0.0.1"]), ("127.0.0.1", "/f", [])], set()),
    "below the path": ([("127.0.0.1", "/a", ["s=1; Path=/d"]), ("127.0.0.1", "/d/f", [])], {"s=1"}),
    "not beside the path": ([("127.0.0.1", "/a", ["s=1; Path=/d"]), ("127.0.0.1", "/dd/f", [])], set()),
    "the path of the answer": ([("127.0.0.1", "/d/a", ["s=1"]), ("127.0.0.1", "/f", [])], set()),
    "below the path of the answer": ([("127.0.0.1", "/d/a", ["s=1"]), ("127.0.0.1", "/d/e/f", [])], {"s=1"}),
    "the later value": (
        [("127.0.0.1", "/a", ["s=1"]), ("127.0.0.1", "/b", ["s=2"]), ("127.0.0.1", "/f", [])],
        {"s=2"},
    ),
    "taken back by age": (
        [
            ("127.0.0.1", "/a", ["s=1", "t=1"]),
            ("127.0.0.1", "/b", ["s=; Max-Age=0"]),
            ("127.0.0.1", "/f", []),
        ],
        {"t=1"},
    ),
    "taken back by date": (
        [
            ("127.0.0.1", "/a", ["s=1", "t=1"]),
            ("127.0.0.1", "/b", [f"s=; Expires={PAST}"]),
            ("127.0.0.1", "/f", []),
        ],
        {"t=1"},
    ),
    "born too old": ([("127.0.0.1", "/a", [f"s=1; Expires={PAST}"]), ("127.0.0.1", "/f", [])], set()),
    "age before date": (
        [("127.0.0.1", "/a", [f"s=1; Expires={PAST}; Max-Age=60"]), ("127.0.0.1", "/f", [])],
        {"s=1"},
    ),
    "secure ones not in the clear": (
        [("a.localhost", "/a", ["s=1; Secure"]), ("a.localhost", "/f", [])],
        set(),
    ),
    "a value with signs": (
        [("127.0.0.1", "/a", ['s="a=b,c"; HttpOnly']), ("127.0.0.1", "/f", [])],
        {'s="a=b,c"'},
    ),
    "over another host": (
        [("a.localhost", "/a", ["s=1"]), ("b.localhost", "/b", ["t=1"]), ("a.localhost", "/f", [])],
        {"s=1"},
    ),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_cookie_goes_where_it_belongs(
    host: Towline, server: ScriptedServer, work: Path, chain: str
) -> None:
    hops, expected = CHAINS[chain]
    assert walk(host, server, work, hops)[-1] == expected


def test_a_cookie_does_not_mind_the_port(
    host: Towline, server: ScriptedServer, other_server: ScriptedServer, work: Path
) -> None:
    other_server.add("/f", b"x")
    server.add("/a", b"", default=sets(other_server.url("/f"), "s=1"))
    fetch(host, server.url("/a"), work / "f")
    assert other_server.requests()[0].headers.get("cookie") == "s=1"


def test_own_cookies_go_beside_those_of_the_server(host: Towline, server: ScriptedServer, work: Path) -> None:
    hops = [("127.0.0.1", "/a", ["s=1"]), ("127.0.0.1", "/f", [])]
    first, last = walk(host, server, work, hops, headers={"cookie": "own=a; more=b"})
    assert first == {"own=a", "more=b"}
    assert last == {"own=a", "more=b", "s=1"}


def test_own_cookies_stay_with_their_origin_while_the_server_s_go_along(
    host: Towline, server: ScriptedServer, other_server: ScriptedServer, work: Path
) -> None:
    other_server.add("/f", b"x")
    server.add("/a", b"", default=sets(other_server.url("/f"), "s=1"))
    fetch(host, server.url("/a"), work / "f", headers={"Cookie": "own=a"})
    assert server.requests()[0].headers.get("cookie") == "own=a"
    assert other_server.requests()[0].headers.get("cookie") == "s=1"


def test_a_gate_that_wants_its_cookie_back_lets_the_download_in(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    """The first visit sets a cookie and redirects to the same URL, as many download pages do."""
    server.add("/f", b"the file").then(sets("/f", "seen=yes; Path=/"))
    done = fetch(host, server.url("/f"), work / "f")
    assert done["state"] == "completed"
    assert [r.headers.get("cookie") for r in server.requests()] == [None, "seen=yes"]
    assert (work / "f").read_bytes() == b"the file"


def test_cookies_last_over_a_retry_until_they_expire(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    data = b"x" * 100_000
    server.add("/a", b"").then(
        sets("/f", "long=1; Max-Age=600", "gone=1; Max-Age=600"), sets("/f", "gone=; Max-Age=0")
    )
    server.add("/f", data).then(Behaviour(drop_after=50_000))
    done = fetch(host, server.url("/a"), work / "f", retry=QUICK_RETRY)
    assert (done["state"], (work / "f").read_bytes()) == ("completed", data)
    seen = [brought(r.headers.get("cookie")) for r in server.requests()]
    assert seen == [set(), {"long=1", "gone=1"}, {"long=1", "gone=1"}, {"long=1"}]


def test_one_download_s_cookies_are_not_another_s(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/a", b"", default=sets("/f", "s=1; Path=/; Max-Age=600"))
    server.add("/f", b"x")
    fetch(host, server.url("/a"), work / "1")
    fetch(host, server.url("/f"), work / "2")
    assert [r.headers.get("cookie") for r in server.requests("/f")] == ["s=1", None]


def test_cookies_are_written_nowhere(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    secret = "s3cretcookie"
    server.add("/a", b"", default=sets("/f", f"s={secret}; Path=/; Max-Age=600"))
    server.add("/f", b"x", default=Behaviour(headers=[("Set-Cookie", f"t={secret}; Max-Age=600")]))
    host = launch("--log-level", "debug")
    done = fetch(host, server.url("/a"), work / "f")
    assert server.requests("/f")[0].headers.get("cookie") == f"s={secret}"
    assert secret not in str(host.call("inspect", id=done["id"]))
    host.call("shutdown")
    host.close_stdin()
    host.wait_exit(20)
    assert secret not in host.stderr
    files = [file for folder in (launch.home, launch.work, launch.state) for file in folder.rglob("*")]
    assert not [file for file in files if file.is_file() and secret.encode() in file.read_bytes()]
