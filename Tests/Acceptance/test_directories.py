"""`createDirectories` creates the directories of a destination, and nothing outside `--root`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer, content
from support import finish
from towline_client import JSON, Towline

DATA = content(7, 5_000)


def finished(host: Towline, **params: Any) -> JSON:
    return finish(host, host.call("start", **params)["download"]["id"])


def test_missing_directories_of_a_path_are_made(host: Towline, server: ScriptedServer, work: Path) -> None:
    server.add("/f", DATA)
    path = work / "a" / "b b" / "ü" / "f"
    umask = os.umask(0)
    os.umask(umask)
    done = finished(host, url=server.url("/f"), path=str(path), createDirectories=True)
    assert (done["state"], done["path"]) == ("completed", str(path))
    assert path.read_bytes() == DATA
    for directory in path.parents[:3]:
        assert directory.stat().st_mode & 0o7777 == 0o777 & ~umask


def test_missing_directories_are_made_for_a_name_that_the_response_gives(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/named.bin", DATA)
    done = finished(
        host, url=server.url("/named.bin"), directory=str(work / "a" / "b"), createDirectories=True
    )
    assert done["path"] == str(work / "a" / "b" / "named.bin")


def test_by_default_nothing_is_made(host: Towline, server: ScriptedServer, work: Path) -> None:
    for options in ({}, {"createDirectories": False}, {"createDirectories": None}):
        error = host.error("start", url=server.url("/f"), path=str(work / "a" / "f"), **options)
        assert (error.kind, error.data["reason"]) == ("destinationConflict", "directoryMissing")
        assert not (work / "a").exists()


def test_the_default_can_be_set_and_a_start_can_say_otherwise(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    server.add("/f", DATA)
    assert host.call("configure")["defaults"]["createDirectories"] is False
    assert (
        host.call("configure", defaults={"createDirectories": True})["defaults"]["createDirectories"] is True
    )
    host.error("start", url=server.url("/f"), path=str(work / "no" / "f"), createDirectories=False)
    assert not (work / "no").exists()
    assert finished(host, url=server.url("/f"), path=str(work / "yes" / "f"))["state"] == "completed"


def test_a_file_or_a_dead_link_in_the_way_is_told_and_kept(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    (work / "file").write_bytes(b"precious")
    (work / "dead").symlink_to(work / "nowhere" / "else")
    for name in ("file", "dead"):
        error = host.error(
            "start", url=server.url("/f"), path=str(work / name / "b" / "f"), createDirectories=True
        )
        assert error.names(str(work / name)), error.error
        assert (error.kind, error.data["reason"]) == ("destinationConflict", "directoryMissing"), error.error
    assert (work / "file").read_bytes() == b"precious"
    assert not (work / "nowhere").exists()


def test_a_name_that_is_too_long_is_told_with_its_limit(
    host: Towline, server: ScriptedServer, work: Path
) -> None:
    error = host.error(
        "start", url=server.url("/f"), path=str(work / ("x" * 300) / "f"), createDirectories=True
    )
    assert (error.kind, error.data["maximum"]) == ("invalidParams", 255)


@pytest.mark.parametrize("target", ["outside", "outside/there"])
def test_with_a_root_nothing_is_made_outside(
    launch: Launcher, server: ScriptedServer, work: Path, target: str
) -> None:
    server.add("/f", DATA)
    root, outside = work / "root", work / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "there").mkdir()
    (root / "link").symlink_to(work / target)
    host = launch("--root", str(root))
    for path in (
        outside / "new" / "f",
        root / "link" / "new" / "f",
        root / "a" / ".." / ".." / "outside" / "new" / "f",
    ):
        error = host.error("start", url=server.url("/f"), path=str(path), createDirectories=True)
        assert error.kind == "permissionDenied", (path, error.error)
    assert sorted(path.name for path in outside.rglob("*")) == ["there"]
    path = root / "a" / "b" / "f"
    assert (
        finished(host, url=server.url("/f"), path=str(path), createDirectories=True)["state"] == "completed"
    )


def test_a_name_that_comes_late_finds_its_directory_made_again(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    server.add("/f.bin", DATA)
    directory = work / "a" / "b"
    host = launch()
    host.call(
        "start",
        url=server.url("/f.bin"),
        directory=str(directory),
        createDirectories=True,
        startPaused=True,
        id="late",
    )
    directory.rmdir()
    host.close_stdin()
    host.wait_exit()
    host = launch()
    host.call("resume", id="late")
    assert finish(host, "late")["state"] == "completed"
    assert (directory / "f.bin").read_bytes() == DATA
