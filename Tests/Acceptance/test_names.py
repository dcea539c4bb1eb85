"""Names that the file system refuses, and unsafe names from servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer
from support import NO_RETRY, Held, finish
from towline_client import JSON, Towline

LONG = "d" * 300


def deep(work: Path, byte_count: int) -> str:
    """A path of this many bytes, made of short names."""
    text = str(work)
    while (rest := byte_count - len(text)) > 0:
        # Never leave exactly one byte, which would be a slash without a name.
        text += "/" + "x" * (rest - 1 if rest <= 200 else 150)
    return text


def refused(host: Towline, url: str, member: str, **params: object) -> JSON:
    error = host.error("start", url=url, **params)
    assert (error.code, error.kind) == (-32602, "invalidParams"), error
    assert error.data["path"] == f"params.{member}"
    assert error.data["retryable"] is False
    assert host.call("list")["downloads"] == []
    return error.data


def test_a_name_in_a_path_that_is_too_long_is_a_wrong_parameter(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    url = server.url("/f")
    path = str(work / LONG / "f")
    assert refused(host, url, "path", path=path)["maximum"] == 255
    assert refused(host, url, "directory", directory=str(work / LONG))["maximum"] == 255
    assert refused(host, url, "directory", directory=str(work / LONG), fileName="f")["maximum"] == 255
    assert refused(host, url, "path", path=path, ifExists="rename")["maximum"] == 255


#: Longest name in bytes that a client may give: 240 minus the suffix of the partial file.
NAME_LIMIT = 232


@pytest.mark.parametrize("byte_count", [233, 240, 241, 255, 300])
@pytest.mark.parametrize("unit", ["n", "é"])
def test_a_file_name_that_is_too_long_tells_the_limit(
    host: Towline, server: ScriptedServer, work: Path, byte_count: int, unit: str
) -> None:
    url, width = server.url("/f"), len(unit.encode())
    name = "n" * (byte_count % width) + unit * (byte_count // width)
    for member, params in [
        ("path", {"path": str(work / name)}),
        ("fileName", {"directory": str(work), "fileName": name}),
        ("fileName", {"fileName": name}),
    ]:
        data = refused(host, url, member, **params)
        assert (data.get("limit"), data.get("maximum")) == ("fileNameBytes", NAME_LIMIT)


@pytest.mark.parametrize("member", ["path", "fileName"])
def test_the_longest_name_there_is_can_be_downloaded_to(
    host: Towline, server: ScriptedServer, work: Path, member: str
) -> None:
    server.add("/f", b"x")
    name = "n" * NAME_LIMIT
    where = {"path": str(work / name)} if member == "path" else {"directory": str(work), "fileName": name}
    started = host.call("start", url=server.url("/f"), **where)
    assert finish(host, started["download"]["id"])["path"] == str(work / name)
    assert (work / name).read_bytes() == b"x"


@pytest.mark.parametrize("byte_count", [4096, 4095, 4090])
def test_a_path_that_is_too_long_with_its_suffix_is_a_wrong_parameter(
    host: Towline, server: ScriptedServer, work: Path, byte_count: int
) -> None:
    path = deep(work, byte_count)
    Path(path).parent.parent.mkdir(parents=True)
    if len(str(Path(path).parent)) < 4090:
        Path(path).parent.mkdir()
    assert refused(host, server.url("/f"), "path", path=path)["maximum"] == 4095


def test_the_longest_path_there_is_can_be_downloaded_to(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", b"x")
    path = deep(work, 4095 - len(".towline"))
    Path(path).parent.mkdir(parents=True)
    started = host.call("start", url=server.url("/f"), path=path, retry=NO_RETRY)
    assert finish(host, started["download"]["id"])["state"] == "completed"


@pytest.mark.parametrize(
    ("given", "name"),
    [("-rf", "_-rf"), ("--help", "_--help"), (" -x.zip", "_-x.zip"), ("a-b", "a-b"), ("-", "_-")],
)
@pytest.mark.parametrize("source", ["header", "URL"])
def test_a_servers_name_is_never_an_option(
    host: Towline, server: ScriptedServer, work: Path, given: str, name: str, source: str
) -> None:
    fields = [("Content-Disposition", f'attachment; filename="{given}"')] if source == "header" else []
    path = "/f" if source == "header" else "/" + given.replace(" ", "%20")
    server.add(path, b"x", default=Behaviour(headers=fields))
    started = host.call("start", url=server.url(path), directory=str(work))
    end = finish(host, started["download"]["id"])
    assert (end["state"], end["path"]) == ("completed", str(work / name))
    assert (work / name).read_bytes() == b"x"


def test_a_clients_own_name_may_begin_as_it_likes(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", b"x")
    started = host.call("start", url=server.url("/f"), directory=str(work), fileName="-rf")
    assert finish(host, started["download"]["id"])["path"] == str(work / "-rf")


NUMBERED = [
    ("a.tar.gz", "a (1).tar.gz"),
    ("a.TAR.zst", "a (1).TAR.zst"),
    ("a.b.gz", "a.b (1).gz"),
    ("a", "a (1)"),
    ("a (1).txt", "a (1) (1).txt"),
    (".hidden", ".hidden (1)"),
    ("a.not an extension at all", "a.not an extension at all (1)"),
    ("n" * 225 + ".tar.gz", "n" * 221 + " (1).tar.gz"),
    ("é.tar.xz", "é (1).tar.xz"),
]


@pytest.mark.parametrize(("name", "numbered"), NUMBERED)
@pytest.mark.parametrize("way", ["path", "fileName"])
def test_rename_counts_before_the_whole_ending(
    host: Towline, server: ScriptedServer, work: Path, name: str, numbered: str, way: str
) -> None:
    server.add("/f", b"new")
    (work / name).write_bytes(b"old")
    where = {"path": str(work / name)} if way == "path" else {"directory": str(work), "fileName": name}
    started = host.call("start", url=server.url("/f"), ifExists="rename", **where)
    done = finish(host, started["download"]["id"])
    if len(name) > 200:
        # A name that is too long is cut before the number.
        assert Path(done["path"]).name.endswith(" (1).tar.gz")
    else:
        assert Path(done["path"]).name == numbered
    assert Path(done["path"]).read_bytes() == b"new"


@pytest.mark.parametrize("name", ["a.tar.gz", "a.b.gz", "a", "data.tar.bz2"])
def test_so_does_the_name_that_the_server_gives(
    host: Towline, server: ScriptedServer, work: Path, name: str
) -> None:
    server.add(f"/{name}", b"new")
    paths = []
    for _ in range(3):
        started = host.call("start", url=server.url(f"/{name}"), directory=str(work), ifExists="rename")
        paths.append(Path(finish(host, started["download"]["id"])["path"]).name)
        (work / "sub").mkdir(exist_ok=True)
    (work / "sub" / name).write_bytes(b"old")
    for _ in range(2):
        started = host.call(
            "start", url=server.url(f"/{name}"), path=str(work / "sub" / name), ifExists="rename"
        )
        paths.append(Path(finish(host, started["download"]["id"])["path"]).name)
    # The numbers are the same, whether the server or the client gave the name.
    assert paths[1:3] == paths[3:5]
    assert paths[0] == name


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_name_that_another_download_has_is_told_with_its_id(
    launch: Launcher, server: ScriptedServer, work: Path, is_restarted: bool
) -> None:
    held = Held(server, path="/1/a.bin")
    server.add("/2/a.bin", b"other")
    host = launch()
    first = host.call("start", url=held.url, path=str(work / "a.bin"))["download"]["id"]
    started = host.call("start", url=server.url("/2/a.bin"), directory=str(work))
    failed = finish(host, started["download"]["id"])
    if is_restarted:
        host.kill()
        host = launch()
        failed = host.call("get", id=started["download"]["id"])["download"]
    assert (failed["error"]["kind"], failed["error"]["holderId"]) == ("destinationConflict", first)
    assert f"the download {first} already uses " in failed["error"]["message"]
