"""`--root`: nothing outside is touched, whether a path, a link, a record or resume data leads there."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer, content
from support import Held, fetch, finish, poll
from test_kill_points import died, killed_at
from towline_client import RPCError, Towline

#: The content of a file outside, which must not change.
PRECIOUS = b"precious" * 1_000
#: As in sys/syscall.h: the same number on every architecture.
OPENAT2 = 437
AT_FDCWD, RENAME_EXCHANGE = -100, 2


@pytest.fixture
def root(work: Path) -> Path:
    path = work / "root"
    path.mkdir()
    return path


@pytest.fixture
def outside(work: Path) -> Path:
    path = work / "outside"
    path.mkdir()
    return path


@pytest.fixture
def rooted(launch: Launcher, root: Path) -> Callable[..., Towline]:
    return lambda *args, **options: launch("--root", str(root), *args, **options)


def picture(directory: Path) -> dict[str, Any]:
    """The contents of a directory: names, inodes and bytes."""
    return {
        str(path.relative_to(directory)): (path.lstat().st_ino, path.is_file() and path.read_bytes())
        for path in directory.rglob("*")
    }


def refused(host: Towline, method: str, where: Path, /, **params: Any) -> None:
    """Checks that the request is refused because of this path, which the error names."""
    error = host.error(method, **params)
    assert (error.code, error.kind, error.data["path"]) == (1008, "permissionDenied", str(where))
    assert "--root" in error.message


LINKS = {
    "absolute": lambda root, outside: outside,
    "relative": lambda root, outside: Path("..") / outside.name,
    "chained": lambda root, outside: Path("sub") / "up",
}


def link(root: Path, outside: Path, kind: str) -> Path:
    """A symbolic link in the root that leads out of it."""
    (root / "sub").mkdir()
    (root / "sub" / "up").symlink_to(Path("..") / ".." / outside.name)
    (root / "link").symlink_to(LINKS[kind](root, outside))
    return root / "link"


@pytest.fixture(params=["path", *LINKS])
def there(request: pytest.FixtureRequest, root: Path, outside: Path) -> Path:
    """The directory outside, by its real path or by one that looks as if it were inside."""
    return outside if request.param == "path" else link(root, outside, request.param)


@pytest.fixture
def strange(launch: Launcher, server: ScriptedServer, outside: Path, there: Path) -> Iterator[Held]:
    """Files of a process without roots, outside: partial files of three downloads, and a finished file."""
    held = Held(server)
    host = launch()
    first = Held(server, "/first")
    first.started(host, there / "failed", id="failed")
    (outside / "failed").write_bytes(PRECIOUS)
    first.release()
    assert finish(host, "failed")["error"]["kind"] == "destinationConflict"
    server.add("/file", content(3, 5_000))
    fetch(host, server.url("/file"), there / "completed", id="completed")
    for name in ("canceled", "paused"):
        held.started(host, there / name, id=name)
    host.call("cancel", id="canceled", deletePartial=False)
    host.kill()
    yield held
    held.release()


REQUESTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "update": ("update", "paused", {"priority": 5}),
    "update-url": ("update", "paused", {"url": "http://127.0.0.1:1/else"}),
    "pause": ("pause", "paused", {}),
    "resume": ("resume", "paused", {}),
    "resume-failed": ("resume", "failed", {}),
    "cancel": ("cancel", "paused", {}),
    "cancel-failed": ("cancel", "failed", {}),
    "remove-failed": ("remove", "failed", {}),
    "remove-canceled": ("remove", "canceled", {}),
    "remove": ("remove", "completed", {}),
    "remove-file": ("remove", "completed", {"deleteFile": True}),
    "export": ("export", "paused", {}),
}


def test_a_record_of_a_file_outside_can_be_read_and_nothing_else(
    strange: Held, rooted: Callable[..., Towline], outside: Path, there: Path
) -> None:
    host = rooted()
    before = (picture(outside), host.call("list"))
    assert len(before[1]["downloads"]) == 4
    missed = {}
    for name, (method, download_id, params) in REQUESTS.items():
        try:
            refused(host, method, there / download_id, id=download_id, **params)
        except (AssertionError, RPCError) as error:
            missed[name] = str(error)
    for params in ({"id": "paused"}, {}):
        error = host.error("start", url=strange.url, path=str(there / "paused"), **params)
        assert (error.code, error.kind) == (1008, "permissionDenied")
    assert missed == {}
    assert host.call("get", id="paused")["download"]["state"] == "paused"
    assert host.call("inspect", id="paused")["download"]["owner"] == "none"
    for method in ("pause", "resume", "cancel"):
        many = host.call(method, ids=["paused", "failed"])
        assert many["changed"] == 0
        assert {entry["error"]["data"]["kind"] for entry in many["errors"]} == {"permissionDenied"}
        assert host.call(method, all=True) == {"matched": 0, "changed": 0, "errors": []}
    assert (picture(outside), host.call("list")["downloads"]) == (before[0], before[1]["downloads"])


@pytest.mark.parametrize("how", ["--resume-on-start", "initialize", "all"])
def test_what_was_interrupted_outside_stays_so_and_the_rest_goes_on(
    strange: Held,
    launch: Launcher,
    rooted: Callable[..., Towline],
    root: Path,
    outside: Path,
    how: str,
) -> None:
    first = launch()
    strange.started(first, root / "inside", id="inside")
    first.kill()
    strange.release()
    before = picture(outside)
    host = rooted(*(["--resume-on-start"] if how == "--resume-on-start" else []))
    if how == "initialize":
        host.call("initialize", processId=None, resumeInterrupted=True)
    if how == "all":
        assert host.call("resume", all=True)["changed"] == 1
    assert finish(host, "inside")["state"] == "completed"
    assert (root / "inside").read_bytes() == strange.data
    assert host.call("get", id="paused")["download"]["reason"] == "interrupted"
    assert picture(outside) == before


def test_what_a_killed_process_had_still_to_delete_outside_is_left_to_others(
    launch: Launcher, server: ScriptedServer, rooted: Callable[..., Towline], root: Path, there: Path
) -> None:
    partial = there / "f.towline"
    host = killed_at(launch, "unlink,unlinkat", path=partial)
    Held(server).started(host, there / "f", id="f")
    host.send("cancel", {"id": "f"})
    died(host)
    host = rooted()
    # A later request is handled after everything the process does at its start.
    host.call("start", url=server.url("/held"), path=str(root / "g"), startPaused=True)
    assert partial.exists()
    launch()
    poll(lambda: not partial.exists(), what="the end of the partial")


@pytest.mark.parametrize("kind", ["absolute", "relative", "chained"])
@pytest.mark.parametrize("has_openat2", [True, False], ids=["openat2", "none"])
def test_a_link_that_leads_out_is_refused(
    rooted: Callable[..., Towline],
    server: ScriptedServer,
    root: Path,
    outside: Path,
    kind: str,
    has_openat2: bool,
) -> None:
    server.add("/file", PRECIOUS)
    path = link(root, outside, kind)
    host = rooted(prefix=() if has_openat2 else without(OPENAT2))
    url = server.url("/file")
    refused(host, "start", path, url=url, path=str(path / "f"))
    refused(host, "start", path, url=url, path=str(path / "f"), ifExists="overwrite")
    refused(host, "start", path, url=url, directory=str(path))
    refused(host, "start", path, url=url, directory=str(path), fileName="f")
    assert host.call("list")["downloads"] == []
    # A link at the name itself is never followed.
    (root / "f").symlink_to(outside / "f")
    assert (
        host.error("start", url=url, path=str(root / "f"), ifExists="overwrite").kind == "destinationConflict"
    )
    assert list(outside.iterdir()) == []
    assert fetch(host, url, root / "sub" / "g")["state"] == "completed"
    assert (root / "sub" / "g").read_bytes() == PRECIOUS


def without(number: int) -> tuple[str, ...]:
    return (sys.executable, str(Path(__file__).with_name("without_call.py")), str(number))


def test_a_link_that_stays_inside_is_followed(
    rooted: Callable[..., Towline], server: ScriptedServer, root: Path
) -> None:
    server.add("/file", PRECIOUS)
    (root / "a" / "b").mkdir(parents=True)
    (root / "link").symlink_to(Path("a") / ".." / "a" / "b")
    host = rooted()
    assert fetch(host, server.url("/file"), root / "link" / "f")["path"] == str(root / "link" / "f")
    assert (root / "a" / "b" / "f").read_bytes() == PRECIOUS


def test_resume_data_moves_nothing_in_through_a_link(
    launch: Launcher, rooted: Callable[..., Towline], server: ScriptedServer, root: Path, outside: Path
) -> None:
    held = Held(server)
    path = link(root, outside, "relative")
    first = launch()
    held.started(first, path / "f", id="f")
    first.call("pause", id="f")
    text = first.call("export", id="f")["resumeData"]
    before = picture(outside)
    assert list(before) == ["f.towline"]
    host = rooted(state=root / "state")
    refused(host, "start", path / "f.towline", resumeData=text, path=str(root / "mine"))
    refused(host, "start", path, resumeData=text)
    first.call("shutdown")
    first.kill()
    # The shared state has the record; its path looks as if it were inside.
    refused(rooted(), "resume", path / "f", id="f")
    assert picture(outside) == before
    held.release()


def test_a_finished_file_behind_a_link_is_not_deleted(
    launch: Launcher, rooted: Callable[..., Towline], server: ScriptedServer, root: Path, outside: Path
) -> None:
    server.add("/file", PRECIOUS)
    path = link(root, outside, "relative")
    first = launch()
    fetch(first, server.url("/file"), path / "f", id="f")
    first.kill()
    host = rooted()
    before = picture(outside)
    for deletes in (True, False):
        refused(host, "remove", path / "f", id="f", deleteFile=deletes)
    assert host.call("get", id="f")["download"]["state"] == "completed"
    assert picture(outside) == before


@pytest.mark.parametrize("ending", ["finish", "cancel", "restart", "overwrite"])
def test_a_directory_that_is_swapped_while_a_download_runs_leads_nowhere(
    rooted: Callable[..., Towline], server: ScriptedServer, root: Path, outside: Path, ending: str
) -> None:
    held = Held(server)
    (root / "d").mkdir()
    host = rooted()
    params = {"ifExists": "overwrite"} if ending == "overwrite" else {}
    held.started(host, root / "d" / "f", id="f", **params)
    # The same inode, so its identity proves nothing.
    os.link(root / "d" / "f.towline", outside / "f.towline")
    (root / "d").rename(root / "away")
    (root / "d").symlink_to(outside)
    if ending == "overwrite":
        (outside / "f").write_bytes(PRECIOUS)
    before = set(outside.iterdir())
    if ending == "cancel":
        host.call("cancel", id="f")
    elif ending == "restart":
        host.kill()
        host = rooted("--resume-on-start")
        refused(host, "resume", root / "d" / "f", id="f")
        assert host.call("get", id="f")["download"]["reason"] == "interrupted"
    else:
        held.release()
        assert finish(host, "f")["error"]["kind"] == "permissionDenied"
    host.call("shutdown")
    assert set(outside.iterdir()) == before
    if ending == "overwrite":
        assert (outside / "f").read_bytes() == PRECIOUS
    held.release()


def exchange(a: Path, b: Path) -> None:
    """Swaps two names atomically with renameat2(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@contextmanager
def swapping(a: Path, b: Path) -> Iterator[Callable[[], int]]:
    """Swaps two names again and again; calling the result returns how often."""
    is_over = threading.Event()
    count = 0

    def swap() -> None:
        nonlocal count
        while not is_over.is_set():
            exchange(a, b)
            count += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield lambda: count
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize("which", ["directory", "root"])
def test_two_hundred_races_with_a_directory_swapped_for_a_link_write_nothing_outside(
    rooted: Callable[..., Towline], server: ScriptedServer, root: Path, outside: Path, work: Path, which: str
) -> None:
    server.add("/small", content(1, 4_096))
    server.add("/large", content(2, 300_000))
    place = root / "d"
    place.mkdir()
    (outside / "d").mkdir()
    if which == "root":
        (work / "swap").symlink_to(outside)
    else:
        (root / "swap").symlink_to(outside / "d")
    host = rooted()
    host.call("configure", maxActive=16, maxActivePerHost=16)
    swapped = (root, work / "swap") if which == "root" else (place, root / "swap")
    states: dict[str, int] = {}
    with swapping(*swapped) as count:
        for batch in range(10):
            begun = []
            for number in range(20):
                params = {
                    "url": server.url("/large" if number % 2 else "/small"),
                    "path": str(place / f"f{batch}-{number}"),
                    "id": f"d{batch}-{number}",
                    "ifExists": ("error", "overwrite", "rename")[number % 3],
                    "retry": {"maxAttempts": 1, "initialDelayMs": 1, "maxDelayMs": 1},
                }
                begun.append(host.send("start", params))
            for request in begun:
                answer = host.response(request)
                if "error" in answer:
                    kind = answer["error"]["data"]["kind"]
                    states[kind] = states.get(kind, 0) + 1
                    continue
                download = answer["result"]["download"]
                state = finish(host, download["id"])["state"]
                states[state] = states.get(state, 0) + 1
                removal = host.send("remove", {"id": download["id"], "deleteFile": batch % 2 == 0})
                assert "error" not in (removed := host.response(removal)) or removed["error"]["code"] == 1008
        assert count() > 200
    assert sum(states.values()) == 200
    # The swaps produced both outcomes.
    assert states.get("completed", 0) > 0
    assert states.get("permissionDenied", 0) + states.get("failed", 0) > 0
    assert set(states) <= {"completed", "failed", "permissionDenied", "destinationConflict", "storageFailure"}
    host.call("shutdown")
    assert [path for path in outside.rglob("*") if path != outside / "d"] == []


def test_a_root_that_is_a_link_is_known_by_both_names_and_stays_what_it_was(
    launch: Launcher, server: ScriptedServer, root: Path, outside: Path, work: Path
) -> None:
    server.add("/file", PRECIOUS)
    name = work / "name"
    name.symlink_to(root)
    host = launch("--root", str(name))
    for number, directory in enumerate((name, root)):
        assert fetch(host, server.url("/file"), directory / str(number))["state"] == "completed"
        assert (root / str(number)).read_bytes() == PRECIOUS
    name.unlink()
    name.symlink_to(outside)
    assert fetch(host, server.url("/file"), name / "later")["state"] == "completed"
    root.rename(work / "away")
    root.symlink_to(outside)
    refused(host, "start", root, url=server.url("/file"), path=str(root / "f"))
    assert list(outside.iterdir()) == []


def test_a_root_comes_and_goes(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    server.add("/file", PRECIOUS)
    root = work / "later"
    host = launch("--root", str(root))
    error = host.error("start", url=server.url("/file"), path=str(root / "f"))
    assert error.data["reason"] == "directoryMissing"
    assert str(root) in host.stderr
    for _ in range(2):
        root.mkdir()
        assert fetch(host, server.url("/file"), root / "f")["state"] == "completed"
        (root / "f").unlink()
        root.rmdir()


def test_a_root_that_is_no_directory_is_told_of(launch: Launcher, work: Path) -> None:
    (work / "file").write_bytes(b"")
    host, status = launch.pipe(args=("--root", str(work / "file")))
    assert status == 64
    assert "--root" in host.stderr
    assert os.strerror(errno.ENOTDIR) in host.stderr


def test_the_deepest_of_several_roots_holds(
    launch: Launcher, server: ScriptedServer, root: Path, outside: Path
) -> None:
    server.add("/file", PRECIOUS)
    (root / "in").mkdir()
    (root / "in" / "up").symlink_to(Path("..") / "in2")
    (root / "in2").mkdir()
    host = launch("--root", str(root / "in"), "--root", str(root), "--root", str(outside))
    refused(host, "start", root / "in" / "up", url=server.url("/file"), path=str(root / "in" / "up" / "f"))
    for directory in (root, root / "in", root / "in2", outside):
        assert fetch(host, server.url("/file"), directory / "f")["state"] == "completed"


def test_dots_and_neighbours_are_outside(
    rooted: Callable[..., Towline], server: ScriptedServer, root: Path, outside: Path
) -> None:
    host = rooted()
    neighbour = root.with_name("root2")
    neighbour.mkdir()
    url = server.url("/file")
    for path in (f"{root}/../outside/f", f"{root}2/f", f"{root}/x/../../outside/f", "/f", "outside/f"):
        assert host.error("start", url=url, path=path).kind == "permissionDenied"
    assert host.error("start", url=url).kind == "permissionDenied"
    assert list(outside.iterdir()) == list(neighbour.iterdir()) == []
