"""The state directory: what other users put there has no effect; what they take away is noticed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from fixtures import Launcher
from scripted_server import ScriptedServer, content
from support import MIB, Held, fetch, finish, line, poll
from towline_client import Towline

NOBODY = 65_534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")


def recorded(launch: Launcher, server: ScriptedServer, work: Path) -> None:
    """A state with two downloads: `done` completed, `left` paused after its process was killed."""
    server.add("/file", content(1, 5_000))
    host = launch()
    fetch(host, server.url("/file"), work / "done", id="done")
    host.call("start", url=server.url("/file"), path=str(work / "left"), id="left", startPaused=True)
    host.kill()


def ids(host: Towline) -> set[str]:
    return {download["id"] for download in host.call("list")["downloads"]}


def refused(launch: Launcher, path: Path) -> str:
    """Checks that the process exits with 73 and names the path; returns its stderr."""
    process, status = launch.pipe(line("list", 1))
    assert (status, process.messages) == (73, [])
    assert str(path) in process.stderr
    return process.stderr


# Owner and permissions


@as_root
def test_a_directory_of_another_user_is_refused_before_anything_is_made_in_it(launch: Launcher) -> None:
    launch.state.mkdir(mode=0o700)
    os.chown(launch.state, NOBODY, NOBODY)
    assert "another user" in refused(launch, launch.state)
    assert list(launch.state.iterdir()) == []


@as_root
@pytest.mark.parametrize(
    "name", ["towline.db", "towline.db-wal", "towline.db-shm", "state.lock", "sessions", "sessions/*"]
)
def test_a_file_of_another_user_is_refused(
    launch: Launcher, server: ScriptedServer, work: Path, name: str
) -> None:
    recorded(launch, server, work)
    path = next(launch.state.glob(name))
    os.chown(path, NOBODY, -1)
    before = sorted(launch.state.rglob("*"))
    assert "another user" in refused(launch, path)
    assert sorted(launch.state.rglob("*")) == before
    os.chown(path, 0, -1)
    assert ids(launch()) == {"done", "left"}


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702, 0o723])
def test_a_directory_that_others_may_write_to_is_refused_until_they_may_not(
    launch: Launcher, server: ScriptedServer, work: Path, mode: int
) -> None:
    recorded(launch, server, work)
    launch.state.chmod(mode)
    said = refused(launch, launch.state)
    assert f"{mode:04o}" in said
    assert "chmod go-w" in said
    launch.state.chmod(mode & ~0o022)
    assert ids(launch()) == {"done", "left"}


@as_root
def test_a_directory_that_a_group_of_others_may_write_to_is_refused(launch: Launcher) -> None:
    launch.state.mkdir()
    launch.state.chmod(0o770)
    # The user's own group, without other members, is accepted.
    assert launch.pipe(line("list", 1))[1] == 0
    os.chown(launch.state, -1, 100)
    refused(launch, launch.state)


@pytest.mark.parametrize("name", ["towline.db", "towline.db-wal", "state.lock", "sessions", "sessions/*"])
def test_a_file_that_others_may_write_to_is_refused_where_they_can_reach_it(
    launch: Launcher, server: ScriptedServer, work: Path, name: str
) -> None:
    recorded(launch, server, work)
    path = next(launch.state.glob(name))
    path.chmod(path.stat().st_mode | 0o002)
    launch().call("shutdown")
    launch.state.chmod(0o711)
    if path.exists():
        assert "others can write" in refused(launch, path)


# Hostile database contents

#: Never ends.
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c"
PLANTED = {
    "a trigger that never ends": f"CREATE TRIGGER t BEFORE INSERT ON download BEGIN {ENDLESS}; END",
    "a trigger on updates": f"CREATE TRIGGER t AFTER UPDATE ON download BEGIN {ENDLESS}; END",
    "a trigger on the counters": f"CREATE TRIGGER t BEFORE UPDATE ON meta BEGIN {ENDLESS}; END",
    "a trigger that deletes": "CREATE TRIGGER t AFTER INSERT ON download BEGIN DELETE FROM download; END",
    "a trigger that redirects": "CREATE TRIGGER t AFTER INSERT ON download BEGIN "
    "UPDATE download SET path='/tmp/elsewhere'; END",
    "a trigger that refuses": "CREATE TRIGGER t BEFORE DELETE ON download BEGIN SELECT RAISE(ABORT,''); END",
    "a view": f"CREATE VIEW v AS {ENDLESS}",
    "a view in the place of a table": f"DROP TABLE handover; CREATE VIEW handover(id) AS {ENDLESS}",
    "a view in the place of the sessions": f"DROP TABLE yielding; CREATE VIEW yielding(session) AS {ENDLESS}",
    "an index": "CREATE UNIQUE INDEX i ON download(state)",
    "an index in the place of ours": "DROP INDEX downloadState; "
    "CREATE UNIQUE INDEX downloadState ON download(state)",
    "a computed column": "ALTER TABLE download ADD COLUMN g AS (length(hex(zeroblob(8000000))))",
    "a rule": "ALTER TABLE yielding ADD COLUMN c CHECK (c > 5)",
    "a virtual table": "CREATE VIRTUAL TABLE f USING fts5(x)",
}


@pytest.mark.parametrize("sql", PLANTED.values(), ids=PLANTED.keys())
def test_what_was_planted_in_the_database_does_nothing_and_records_stay(
    launch: Launcher, server: ScriptedServer, work: Path, sql: str
) -> None:
    recorded(launch, server, work)
    launch.pipe(line("list", 1))
    with closing(sqlite3.connect(launch.state / "towline.db")) as database:
        database.executescript(sql)
    host = launch()
    assert ids(host) == {"done", "left"}
    assert fetch(host, server.url("/file"), work / "new", id="new")["state"] == "completed"
    host.call("remove", id="done", deleteFile=True)
    assert ids(host) == {"left", "new"}
    assert {d["path"] for d in host.call("list")["downloads"]} == {str(work / "left"), str(work / "new")}
    assert host.call("shutdown") is None
    # It does not exist for the next process either.
    with closing(sqlite3.connect(launch.state / "towline.db")) as database:
        kinds = database.execute(
            "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger','view')"
        ).fetchone()
    assert kinds == (0,)


#: Constraints that were added: the table, the original SQL text, and its replacement.
RULES = {
    "the newest replaces all": ("download", ")", ", UNIQUE(state) ON CONFLICT REPLACE)"),
    "a name in capitals is the same": (
        "download",
        "id TEXT NOT NULL UNIQUE",
        "id TEXT NOT NULL COLLATE NOCASE UNIQUE",
    ),
    "a second one of an id replaces": (
        "download",
        "id TEXT NOT NULL UNIQUE",
        "id TEXT NOT NULL UNIQUE ON CONFLICT REPLACE",
    ),
    "a null is ignored": ("download", "state TEXT NOT NULL", "state TEXT NOT NULL ON CONFLICT IGNORE"),
    "a condition": ("download", ")", ", CHECK (attempt > 5))"),
    "a place of another": ("download", ")", ", FOREIGN KEY(id) REFERENCES removed(id) ON DELETE CASCADE)"),
    "one counter": ("meta", ") WITHOUT", ", UNIQUE(value) ON CONFLICT IGNORE) WITHOUT"),
    "one removed": ("removed", ")", ", CHECK (revision < 0))"),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_was_planted_in_a_table_does_nothing_and_records_stay(
    launch: Launcher, server: ScriptedServer, work: Path, rule: str
) -> None:
    recorded(launch, server, work)
    launch.pipe(line("list", 1))
    table, ours, others = RULES[rule]
    with closing(sqlite3.connect(launch.state / "towline.db")) as database:
        made = database.execute(
            "SELECT sql FROM sqlite_schema WHERE tbl_name=? AND sql IS NOT NULL ORDER BY type DESC", (table,)
        ).fetchall()
        text, *indexes = [row[0] for row in made]
        assert text.startswith("CREATE TABLE"), text
        assert ours in text
        rest = text.rpartition(ours)
        database.execute("PRAGMA ignore_check_constraints=ON")
        database.executescript(f"CREATE TABLE zz AS SELECT * FROM {table}; DROP TABLE {table};")
        database.execute(rest[0] + others + rest[2])
        database.executescript(f"INSERT INTO {table} SELECT * FROM zz; DROP TABLE zz; {'; '.join(indexes)}")
    host = launch()
    assert ids(host) == {"done", "left"}
    for name in ("new", "LEFT"):
        assert fetch(host, server.url("/file"), work / name, id=name)["state"] == "completed"
    host.call("remove", id="done")
    assert ids(host) == {"left", "new", "LEFT"}
    assert host.call("shutdown") is None
    assert "was damaged" in host.stderr
    again = launch()
    assert ids(again) == {"left", "new", "LEFT"}
    assert again.stderr == ""


def test_a_trigger_that_is_planted_under_a_living_process_does_nothing(
    launch: Launcher, server: ScriptedServer, work: Path
) -> None:
    server.add("/file", content(1, 5_000))
    host = launch()
    host.call("list")
    with closing(sqlite3.connect(launch.state / "towline.db")) as database:
        database.executescript(PLANTED["a trigger that never ends"].replace("TRIGGER t", "TRIGGER a"))
        database.executescript(PLANTED["a trigger that deletes"])
    assert fetch(host, server.url("/file"), work / "f", id="f")["state"] == "completed"
    assert ids(host) == {"f"}


# Files that are truncated or deleted while a process uses them


@pytest.mark.parametrize("length", [0, 1, 90, 100, 136, 4_095, 4_096, 8_200, 20_000, 32_767])
def test_an_index_that_is_cut_kills_nobody_and_loses_nothing(
    launch: Launcher, server: ScriptedServer, work: Path, length: int
) -> None:
    server.add("/file", content(1, 5_000))
    one, two = launch(), launch()
    fetch(one, server.url("/file"), work / "a", id="a")
    assert ids(two) == {"a"}
    for number in range(3):
        os.truncate(launch.state / "towline.db-shm", length)
        first, second = (one, two) if number % 2 else (two, one)
        assert ids(first) >= {"a"}
        started = f"{number}"
        assert fetch(second, server.url("/file"), work / started, id=started)["state"] == "completed"
        assert ids(first) == ids(second) == {"a", *map(str, range(number + 1))}
    for host in (one, two):
        host.kill()
    third = launch()
    assert ids(third) == {"a", "0", "1", "2"}
    assert third.stderr == ""


#: What a host may leave to its children: SIGBUS, the signal for access to a truncated file, blocked and
#: ignored.
DEAF = "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGBUS]); "
DEAF += "signal.signal(signal.SIGBUS, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"


@pytest.mark.parametrize("cut", ["truncate", "unlink", "truncate, the signal blocked"])
def test_an_index_that_is_cut_all_the_time_kills_nobody(
    launch: Launcher, server: ScriptedServer, work: Path, cut: str
) -> None:
    held = Held(server)
    host = launch(prefix=(sys.executable, "-c", DEAF) if cut.endswith("blocked") else ())
    held.started(host, work / "f", id="f")
    is_over = threading.Event()
    index = launch.state / "towline.db-shm"

    def harm() -> None:
        while not is_over.wait(0.001):
            if index.exists():
                index.unlink() if cut == "unlink" else os.truncate(index, 0)

    thread = threading.Thread(target=harm)
    thread.start()
    try:
        for number in range(40):
            request = host.send(
                "start", {"url": server.url("/x"), "path": str(work / "x"), "startPaused": True}
            )
            host.response(request)
            host.response(host.send("list", {"limit": 100 - number}))
    finally:
        is_over.set()
        thread.join()
    held.release()
    assert finish(host, "f")["state"] == "completed"
    assert (work / "f").read_bytes() == held.data
    assert host.call("shutdown") is None


@pytest.mark.parametrize("name", ["towline.db", "state.lock", "sessions/*"])
def test_another_file_that_is_cut_kills_nobody(
    launch: Launcher, server: ScriptedServer, work: Path, name: str
) -> None:
    held = Held(server)
    host = launch()
    held.started(host, work / "f", id="f")
    os.truncate(next(launch.state.glob(name)), 100)
    host.response(host.send("list", {}))
    host.response(host.send("start", {"url": server.url("/x"), "path": str(work / "x"), "startPaused": True}))
    held.release()
    poll(lambda: (work / "f").exists(), what="the finished file")
    assert (work / "f").read_bytes() == held.data
    assert host.call("ping") == {}


def delete(state: Path) -> None:
    shutil.rmtree(state)


def move(state: Path) -> None:
    state.rename(state.with_name("moved"))


def replace(state: Path) -> None:
    state.rename(state.with_name("moved"))
    shutil.copytree(state.with_name("moved"), state)


def delete_database(state: Path) -> None:
    (state / "towline.db").unlink()


def delete_log(state: Path) -> None:
    (state / "towline.db-wal").unlink()


def cut_log(state: Path) -> None:
    os.truncate(state / "towline.db-wal", 5_000)


def delete_sessions(state: Path) -> None:
    shutil.rmtree(state / "sessions")


def replace_lock(state: Path) -> None:
    (state / "state.lock").unlink()
    (state / "state.lock").touch(0o600)


TAKEN = [delete, move, replace, delete_database, delete_log, cut_log, delete_sessions, replace_lock]


@pytest.mark.parametrize("take", TAKEN)
def test_a_state_that_is_taken_away_is_noticed_and_said(
    launch: Launcher, server: ScriptedServer, work: Path, take: Callable[[Path], None]
) -> None:
    server.add("/file", content(2, MIB))
    host = launch()
    host.call("start", url=server.url("/file"), path=str(work / "a"), id="a", startPaused=True)
    take(launch.state)
    error = host.error("start", url=server.url("/file"), path=str(work / "b"), id="b")
    assert (error.code, error.kind) == (1009, "storageFailure")
    assert str(launch.state) in error.message
    assert host.error("get", id="nosuch").kind == "storageFailure"
    poll(lambda: str(launch.state) in host.stderr, what="the line on standard error")
    assert host.stderr.count("was deleted, replaced or truncated") == 1
    assert not (work / "b").exists()
    assert host.call("ping") == {}
    host.kill()
    if not launch.state.exists():
        launch.state = launch.state.with_name("fresh")
    again = launch()
    again.call("start", url=server.url("/file"), path=str(work / "b"), id="b")
    assert finish(again, "b")["state"] == "completed"
