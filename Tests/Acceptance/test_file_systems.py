"""Unusual file systems: overlayfs, FAT through FUSE, short names, read-only and full ones."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import Behaviour, ScriptedServer, content
from support import MIB, NO_RETRY, Held, fetch, finish, poll
from towline_client import JSON, Towline


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


@contextmanager
def mounted(place: Path, *options: str, what: str = "none") -> Iterator[Path]:
    """A file system mounted at a new directory; skips if mounting is not allowed."""
    place.mkdir(parents=True, exist_ok=True)
    ran = run("mount", *options, what, place)
    if ran.returncode != 0:
        pytest.skip(f"cannot mount this here: {ran.stderr.strip()}")
    try:
        yield place
    finally:
        run("umount", "-l", place)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def overlay(tmp_path: Path, stack: ExitStack) -> Path:
    """An overlayfs of 24 MiB: as in containers, device numbers of files and their directory differ."""
    lower, upper, place = tmp_path / "lower", tmp_path / "upper", tmp_path / "overlay"
    lower.mkdir()
    stack.enter_context(mounted(upper, "-t", "tmpfs", "-o", "size=24m"))
    (upper / "data").mkdir()
    (upper / "work").mkdir()
    layers = f"lowerdir={lower},upperdir={upper}/data,workdir={upper}/work,xino=off"
    stack.enter_context(mounted(place, "-t", "overlay", "-o", layers))
    (place / "probe").touch()
    assert (place / "probe").stat().st_dev != place.stat().st_dev
    (place / "probe").unlink()
    return place


Disk = Callable[[str], Path]


@pytest.fixture
def odd_disk(tmp_path: Path, stack: ExitStack) -> Disk:
    """Mounts a file system that behaves oddly in the ways that the words name; see odd_disk.c."""
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("needs root and /dev/fuse")
    if shutil.which("gcc") is None or run("pkg-config", "--exists", "fuse3").returncode != 0:
        pytest.skip("needs gcc and libfuse3")
    program, folder, place = (tmp_path / name for name in ("odd_disk", "odd-folder", "odd"))
    flags = run("pkg-config", "--cflags", "--libs", "fuse3").stdout.split()
    source = Path(__file__).with_name("odd_disk.c")
    subprocess.run(["gcc", "-O1", "-o", program, source, *flags], check=True)

    def mount(words: str) -> Path:
        folder.mkdir()
        place.mkdir()
        process = subprocess.Popen([program, folder, place], env={**os.environ, "ODD_DISK": words})

        def unmount() -> None:
            run("umount", "-l", place)
            process.terminate()
            process.wait(10)

        stack.callback(unmount)
        poll(lambda: os.path.ismount(place) or None)
        return place

    return mount


# Files on a different device than their directory


def exported(host: Towline, held: Held, path: Path) -> str:
    """The resume data of a download that was paused halfway; its process has exited."""
    download_id = held.started(host, path)["id"]
    assert host.call("pause", id=download_id)["download"]["receivedBytes"] == held.after
    held.release()
    text: str = host.call("export", id=download_id)["resumeData"]
    host.call("shutdown")
    return text


def test_a_download_moves_on_overlayfs(launch: Launcher, server: ScriptedServer, overlay: Path) -> None:
    held = Held(server)
    (overlay / "other").mkdir()
    text = exported(launch(), held, overlay / "f")
    host = launch(state=overlay / "state")
    answer = host.call("start", resumeData=text, path=str(overlay / "other" / "g"))
    assert (answer["created"], answer["resumed"]) == (True, True)
    end = finish(host, answer["download"]["id"])
    assert (end["state"], end["transfer"]["offset"]) == ("completed", held.after)
    assert (overlay / "other" / "g").read_bytes() == held.data


def refusal(host: Towline, text: str, path: Path) -> JSON:
    error = host.error("start", resumeData=text, path=str(path), id="x")
    assert host.call("list")["downloads"] == []
    return {"code": error.code, "reason": error.data.get("reason")}


@contextmanager
def btrfs(place: Path) -> Iterator[Path]:
    """A small Btrfs mounted there; skips if that is not possible."""
    if shutil.which("mkfs.btrfs") is None:
        pytest.skip("needs mkfs.btrfs")
    image = place.with_name("btrfs.image")
    image.write_bytes(b"")
    os.truncate(image, 128 * MIB)
    subprocess.run(["mkfs.btrfs", "-q", str(image)], check=True)
    with mounted(place, "-o", "loop", what=str(image)):
        yield place


OTHER = {"code": 1013, "reason": "otherFileSystem"}


@pytest.mark.parametrize("kind", ["another disk", "another mount of it", "another subvolume"])
def test_a_partial_that_no_rename_brings_there_is_refused_and_stays(
    launch: Launcher, server: ScriptedServer, tmp_path: Path, stack: ExitStack, kind: str
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    if kind == "another disk":
        stack.enter_context(mounted(target, "-t", "tmpfs"))
    elif kind == "another mount of it":
        stack.enter_context(mounted(target, "--bind", what=str(source)))
        (source / "below").mkdir()
        target = target / "below"
    else:
        stack.enter_context(btrfs(source))
        target = source / "subvolume"
        assert run("btrfs", "subvolume", "create", target).returncode == 0
    held = Held(server)
    text = exported(launch(), held, source / "f")
    host = launch(state=tmp_path / "other-state")
    assert refusal(host, text, target / "g") == OTHER
    assert (source / "f.towline").stat().st_size == held.after
    answer = host.call("start", resumeData=text, path=str(source / "g"), id="x")
    assert answer["resumed"]
    assert finish(host, "x")["transfer"]["offset"] == held.after


def test_a_full_overlayfs_parks_what_goes_there(
    launch: Launcher, server: ScriptedServer, overlay: Path
) -> None:
    data = content(4, 4 * MIB)
    server.add("/f", data).default = Behaviour(chunked=True)
    (overlay / "hog").write_bytes(bytes(22 * MIB))
    host = launch()
    for number in range(3):
        host.call("start", url=server.url("/f"), path=str(overlay / f"f{number}"), id=f"f{number}")
    poll(lambda: host.call("get", id="f2")["download"]["reason"] == "diskFull")
    requests = len(server.requests("/f"))
    # The next check finds it still full.
    looked = host.call("get", id="f2")["download"]["retryAt"]
    poll(lambda: host.call("get", id="f2")["download"]["retryAt"] != looked)
    assert len(server.requests("/f")) == requests
    (overlay / "hog").unlink()
    for number in range(3):
        host.call("resume", id=f"f{number}")
        assert finish(host, f"f{number}")["state"] == "completed"
        assert (overlay / f"f{number}").read_bytes() == data


# Operations that some file systems refuse


@pytest.mark.parametrize("kind", ["small", "large", "of unknown length", "resumed"])
def test_a_disk_that_sets_no_length_takes_files(
    launch: Launcher, server: ScriptedServer, odd_disk: Disk, kind: str
) -> None:
    disk = odd_disk("no-truncate")
    data = content(5, 1000 if kind == "small" else 2 * MIB)
    resource = server.add("/f", data)
    resource.default = Behaviour(chunked=kind == "of unknown length")
    if kind == "resumed":
        resource.then(Behaviour(drop_after=MIB))
    end = fetch(launch(), server.url("/f"), disk / "f", retry={"initialDelayMs": 20})
    assert end["state"] == "completed", end["error"]
    assert (disk / "f").read_bytes() == data


@pytest.mark.parametrize("kind", ["small", "large", "of unknown length"])
def test_fat_by_fuse_takes_files(
    launch: Launcher, server: ScriptedServer, tmp_path: Path, stack: ExitStack, kind: str
) -> None:
    if shutil.which("fusefat") is None or shutil.which("mkfs.vfat", path="/usr/sbin:/sbin:/usr/bin") is None:
        pytest.skip("needs fusefat and mkfs.vfat")
    image, disk = tmp_path / "fat.image", tmp_path / "fat"
    image.write_bytes(bytes(16 * MIB))
    disk.mkdir()
    subprocess.run(["/usr/sbin/mkfs.vfat", str(image)], check=True, capture_output=True)
    ran = run("fusefat", "-o", "rw+", image, disk)
    if ran.returncode != 0 or not os.path.ismount(disk):
        pytest.skip(f"cannot mount this here: {ran.stderr}")
    stack.callback(run, "umount", "-l", disk)
    data = content(8, 1000 if kind == "small" else 2 * MIB)
    server.add("/f", data).default = Behaviour(chunked=kind == "of unknown length")
    end = fetch(launch(), server.url("/f"), disk / "f", retry=NO_RETRY)
    assert end["state"] == "completed", end["error"]
    assert (disk / "f").read_bytes() == data


def test_a_name_that_the_disk_does_not_take_is_a_wrong_parameter(
    launch: Launcher, server: ScriptedServer, odd_disk: Disk
) -> None:
    disk = odd_disk("names=60")
    host = launch()
    for path in (disk / ("n" * 60), disk / ("n" * 61), disk / ("d" * 61) / "f"):
        error = host.error("start", url=server.url("/f"), path=str(path))
        assert (error.kind, error.data["path"], error.data["maximum"]) == ("invalidParams", "params.path", 60)
    error = host.error("start", url=server.url("/f"), directory=str(disk), fileName="n" * 55)
    assert (error.kind, error.data["path"], error.data["maximum"]) == ("invalidParams", "params.fileName", 60)
    assert host.call("list")["downloads"] == []


@pytest.mark.parametrize("if_exists", ["error", "rename"])
def test_a_servers_name_is_cut_to_what_the_disk_takes(
    launch: Launcher, server: ScriptedServer, odd_disk: Disk, if_exists: str
) -> None:
    disk = odd_disk("names=100")
    server.add(f"/{'n' * 150}.tar.gz", b"x")
    host = launch()
    ends = []
    for _ in range(2 if if_exists == "rename" else 1):
        url = server.url(f"/{'n' * 150}.tar.gz")
        started = host.call("start", url=url, directory=str(disk), ifExists=if_exists, retry=NO_RETRY)
        ends.append(finish(host, started["download"]["id"]))
    assert [end["state"] for end in ends] == ["completed"] * len(ends), ends
    names = {Path(end["path"]).name for end in ends}
    assert len(names) == len(ends)
    assert all(name.startswith("n" * 60) and name.endswith(".tar.gz") for name in names)


# Read-only, or full before the first byte


def test_a_read_only_disk_is_no_matter_of_permissions(
    launch: Launcher, server: ScriptedServer, tmp_path: Path, stack: ExitStack
) -> None:
    disk = stack.enter_context(mounted(tmp_path / "disk", "-t", "tmpfs"))
    run("mount", "-o", "remount,ro", disk)
    error = launch().error("start", url=server.url("/f"), path=str(disk / "f"))
    assert (error.code, error.kind) == (1009, "storageFailure")
    assert "read-only" in error.message
    assert str(disk) in error.message


def test_a_disk_that_becomes_read_only_has_failed(
    launch: Launcher, server: ScriptedServer, tmp_path: Path, stack: ExitStack
) -> None:
    disk = stack.enter_context(mounted(tmp_path / "disk", "-t", "tmpfs"))
    data = content(6, MIB)
    server.add("/f", data)
    host = launch()
    host.call("start", id="f", url=server.url("/f"), path=str(disk / "f"), startPaused=True)
    run("mount", "-o", "remount,ro", disk)
    host.call("resume", id="f")
    end = finish(host, "f")
    assert (end["state"], end["error"]["kind"], end["error"]["errno"]) == ("failed", "io", errno.EROFS)
    run("mount", "-o", "remount,rw", disk)
    host.call("resume", id="f")
    assert finish(host, "f")["state"] == "completed"
    assert (disk / "f").read_bytes() == data


@pytest.mark.parametrize("kind", ["small", "large", "of unknown length", "slow"])
def test_a_disk_that_is_full_before_the_first_byte_costs_no_attempt(
    launch: Launcher, server: ScriptedServer, tmp_path: Path, stack: ExitStack, kind: str
) -> None:
    disk = stack.enter_context(mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=4m"))
    (disk / "hog").write_bytes(bytes(4 * MIB))
    data = content(7, 1000 if kind == "small" else MIB)
    rate = 200_000 if kind == "slow" else None
    server.add("/f", data).default = Behaviour(chunked=kind in ("of unknown length", "slow"), rate=rate)
    host = launch()
    host.call("configure", progressIntervalMs=50)
    host.call("start", id="f", url=server.url("/f"), path=str(disk / "f"))
    waiting = poll(lambda: next((d for d in host.changed("f") if d["reason"] == "diskFull"), None))
    assert (waiting["attempt"], waiting["receivedBytes"]) == (1, 0)
    (disk / "hog").unlink()
    server.resources["/f"].default = Behaviour()
    host.call("resume", id="f")
    end = finish(host, "f")
    assert (end["state"], end["attempt"]) == ("completed", 1)
    assert {d["attempt"] for d in [*host.changed("f"), *host.progress("f")]} == {1}
    assert (disk / "f").read_bytes() == data
