"""URLs: names beyond ASCII, and redirect targets, byte for byte."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer
from support import NO_RETRY, fetch
from towline_client import RPCError, Towline

#: Names under localhost resolve to this machine without DNS.
SPELLINGS = {
    "bücher.localhost": "xn--bcher-kva.localhost",
    "BÜCHER.localhost": "xn--bcher-kva.localhost",
    "bu\u0308cher.localhost": "xn--bcher-kva.localhost",
    "b%C3%BCcher.localhost": "xn--bcher-kva.localhost",
    "xn--bcher-kva.localhost": "xn--bcher-kva.localhost",
    "faß.localhost": "xn--fa-hia.localhost",
    "例え。localhost": "xn--r8jz45g.localhost",
    "💩.localhost": "xn--ls8h.localhost",
    "\uff11\uff12\uff17.0.0.\uff11": "127.0.0.1",
    # From the Web Platform Tests, moved under localhost.
    "GOO\u200b\u2060\ufeffgoo.localhost": "googoo.localhost",
    "www.foo\u3002bar.localhost": "www.foo.bar.localhost",
    "\uff27\uff4f.localhost": "go.localhost",
    "你好你好.localhost": "xn--6qqa088eba.localhost",
    "a\u00adb.localhost": "ab.localhost",
    "a%C2%ADb.localhost": "ab.localhost",
    "\uff10\uff38\uff17\uff46\uff0e\uff11": "127.0.0.1",
}
LOCALES = ({}, {"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"LANG": "de_DE.ISO-8859-1"}, {"LC_CTYPE": "nonsense"})


def wire(text: str) -> str:
    """The UTF-8 bytes as the server passes them on: one character per byte."""
    return text.encode().decode("latin-1")


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_host_beyond_ascii_is_asked_for_by_its_ascii_name(
    host: Towline, server: ScriptedServer, work: Path, name: str
) -> None:
    server.add("/f", b"x")
    url = server.url("/f", host=name)
    done = fetch(host, url, work / "f")
    assert (done["state"], done["url"]) == ("completed", url)
    assert server.requests()[0].headers["host"] == f"{SPELLINGS[name]}:{server.port}"


@pytest.mark.parametrize("locale", LOCALES, ids=str)
def test_a_host_beyond_ascii_needs_no_locale(
    launch: Launcher, server: ScriptedServer, work: Path, locale: dict[str, str]
) -> None:
    server.add("/f", b"x")
    server.add("/one", b"", default=Behaviour(location=wire(server.url("/f", host="bücher.localhost"))))
    host = launch(env=locale)
    assert fetch(host, server.url("/f", host="bücher.localhost"), work / "a")["state"] == "completed"
    done = fetch(host, server.url("/one"), work / "b")
    assert (done["state"], done["finalUrl"]) == (
        "completed",
        server.url("/f", host="xn--bcher-kva.localhost"),
    )


def test_two_spellings_of_a_host_are_one_origin(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    server.add("/one", b"", default=Behaviour(location=server.url("/f", host="xn--bcher-kva.localhost")))
    url = server.url("/one", host="Bücher.localhost")
    done = fetch(host, url, work / "f", headers={"Authorization": "secret"})
    assert done["state"] == "completed"
    assert [r.headers.get("authorization") for r in server.requests()] == ["secret", "secret"]


@pytest.mark.parametrize(
    "name", ["-ü.localhost", "ü..localhost", "℀.localhost", "ü" * 70 + ".localhost", "%FC.localhost"]
)
def test_a_host_that_is_no_name_is_refused_at_once(host: Towline, work: Path, name: str) -> None:
    with pytest.raises(RPCError) as caught:
        host.call("start", url=f"http://{name}/f", path=str(work / "f"))
    assert caught.value.kind == "unsupportedUrl"
    assert caught.value.names("host")


def test_a_redirect_to_a_host_that_is_no_name_is_denied(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"", default=Behaviour(location="http://b\xfccher.localhost/f"))
    done = fetch(host, server.url("/f"), work / "f")
    assert (done["state"], done["error"]["kind"]) == ("failed", "redirectDenied")


#: Location as bytes, relative to /a/b?q, and the target that is requested next.
LOCATIONS = {
    "Latin-1": (b"/caf\xe9", b"/caf\xe9"),
    "UTF-8": ("/é/ü".encode(), "/é/ü".encode()),
    "both": ("/é".encode() + b"\xe9", "/é".encode() + b"\xe9"),
    "no text at all": (b"/\x80\xfe\xff", b"/\x80\xfe\xff"),
    "Shift JIS": ("/日本".encode("shift_jis"), "/日本".encode("shift_jis")),
    "in the query": (b"/f?n=caf\xe9&m=\xc3\xa9", b"/f?n=caf\xe9&m=\xc3\xa9"),
    "relative": (b"\xe9", b"/a/\xe9"),
}


@pytest.mark.parametrize("case", LOCATIONS)
def test_bytes_of_a_location_go_out_as_they_came(
    host: Towline, server: ScriptedServer, work: Path, case: str
) -> None:
    location, expected = LOCATIONS[case]
    server.add("/a/b", b"", default=Behaviour(location=location.decode("latin-1")))
    fetch(host, server.url("/a/b?q"), work / "f", retry=NO_RETRY)
    target = server.requests()[1].target
    assert target.isascii()
    assert unquote_to_bytes(target) == expected


#: Location relative to /b/c/d;p?q, from RFC 3986, 5.4, and cases that it does not cover.
REFERENCES = {
    "#s": "/b/c/d;p?q",
    "#": "/b/c/d;p?q",
    "#/x?y": "/b/c/d;p?q",
    "?": "/b/c/d;p?",
    "?#s": "/b/c/d;p?",
    "?y": "/b/c/d;p?y",
    "?y#s": "/b/c/d;p?y",
    "g": "/b/c/g",
    "./g": "/b/c/g",
    "g/": "/b/c/g/",
    "/g": "/g",
    "g?": "/b/c/g?",
    "g?#x": "/b/c/g?",
    "/?": "/?",
    "g?y": "/b/c/g?y",
    "g#s": "/b/c/g",
    "g?y#s": "/b/c/g?y",
    ";x": "/b/c/;x",
    "g;x": "/b/c/g;x",
    "g;x?y#s": "/b/c/g;x?y",
    ".": "/b/c/",
    "./": "/b/c/",
    "..": "/b/",
    "../": "/b/",
    "../g": "/b/g",
    "../..": "/",
    "../../": "/",
    "../../g": "/g",
    "../../../g": "/g",
    "../../../../g": "/g",
    "/./g": "/g",
    "/../g": "/g",
    "g.": "/b/c/g.",
    ".g": "/b/c/.g",
    "g..": "/b/c/g..",
    "..g": "/b/c/..g",
    "./../g": "/b/g",
    "./g/.": "/b/c/g/",
    "g/./h": "/b/c/g/h",
    "g/../h": "/b/c/h",
    "g;x=1/./y": "/b/c/g;x=1/y",
    "g;x=1/../y": "/b/c/y",
    "g?y/./x": "/b/c/g?y/./x",
    "g?y/../x": "/b/c/g?y/../x",
    "g#s/./x": "/b/c/g",
    "g#s/../x": "/b/c/g",
    "g#http://x/y": "/b/c/g",
    "g?u=http://x/y": "/b/c/g?u=http://x/y",
}


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_reference_is_resolved_as_the_rfc_says(
    host: Towline, server: ScriptedServer, work: Path, reference: str
) -> None:
    path = "/b/c/d;p"
    server.add(path, b"x").then(Behaviour(location=reference))
    fetch(host, server.url(path + "?q"), work / "f", retry=NO_RETRY)
    assert [r.target for r in server.requests()] == [path + "?q", REFERENCES[reference]]


@pytest.mark.parametrize("tail", ["/f?", "/f?#part", "?"])
def test_an_empty_query_keeps_its_mark(host: Towline, server: ScriptedServer, work: Path, tail: str) -> None:
    server.add("/f", b"x")
    server.add("/", b"x")
    url = server.url(tail)
    done = fetch(host, url, work / "f")
    assert (done["state"], done["url"]) == ("completed", url)
    assert server.requests()[0].target == ("/f?" if tail.startswith("/f") else "/?")
