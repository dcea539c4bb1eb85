"""Damage to a file of the state or to a partial file: chosen at random, with a description."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from mutations.base_states import KeptFile, Snapshot

FUTURE = "future schema"
#: Columns that say which bytes are received, of which file, and where they are.
VITAL = [
    "durable",
    "written",
    "entityETag",
    "entityByteCount",
    "entityLastModified",
    "attempt",
    "url",
    "path",
]
VITAL += [
    "partialPath",
    "partialInode",
    "state",
    "isFinalizing",
    "finishedInode",
    "owner",
    "slot",
    "sequence",
]
#: Families: what a mutation can affect.
DATABASE, SESSION, PARTIAL, LOCK = "database", "session", "partial", "lock"
#: Where SQLite stores which program owns the database (sqlite.org/fileformat2.html, 1.3).
IDENTITY_BYTES = (range(18, 20), range(60, 64), range(68, 72))


@dataclass
class Mutation:
    """One change to one file."""

    family: str
    target: str
    kind: str
    detail: str = ""
    #: Downloads that it may damage; None: any.
    harmed: frozenset[str] | None = None
    #: It may have changed the bytes that say which program owns the database.
    is_identity_hit: bool = False

    def __str__(self) -> str:
        return f"{self.kind} of {self.target}{f' ({self.detail})' if self.detail else ''}"


class Outside:
    """Files outside the state and the downloads, which nobody may change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.file, self.empty, self.directory = folder / "file", folder / "empty", folder / "directory"
        self.database = folder / "database"
        self.dangling = folder / "nothing-here"
        self.directory.mkdir()
        self.file.write_bytes(b"not yours\n" * 20_000)
        self.empty.touch()
        with sqlite3.connect(self.database) as database:
            database.execute("CREATE TABLE theirs(a)")
        self.before = self.look()

    def look(self) -> list[tuple[str, int, int, int, bytes]]:
        found = []
        for path in sorted([self.folder, *self.folder.rglob("*")]):
            status = path.lstat()
            data = path.read_bytes() if path.is_file() else b""
            found.append((str(path), status.st_mode, status.st_nlink, status.st_mtime_ns, data))
        return found


def flip(data: bytearray, random: Random) -> str:
    places = sorted(random.randrange(len(data) * 8) for _ in range(random.choice((1, 1, 1, 2, 8))))
    for place in places:
        data[place // 8] ^= 1 << place % 8
    return "bits " + ", ".join(f"{p // 8}.{p % 8}" for p in places)


def overwrite(data: bytearray, random: Random) -> str:
    start = random.randrange(len(data))
    count = min(random.choice((1, 2, 4, 8, 40)), len(data) - start)
    data[start : start + count] = random.randbytes(count)
    return f"{count} bytes from {start}"


def zero_block(data: bytearray, random: Random) -> str:
    size = random.choice((512, 4096))
    start = random.randrange(0, len(data), size)
    end = min(start + size, len(data))
    data[start:end] = bytes(end - start)
    return f"{start} to {end}"


def garbage_block(data: bytearray, random: Random) -> str:
    size = random.choice((512, 4096))
    start = random.randrange(0, len(data), size)
    end = min(start + size, len(data))
    data[start:end] = random.randbytes(end - start)
    return f"{start} to {end}"


def huge_length(data: bytearray, random: Random) -> str:
    size = random.choice((2, 4, 8))
    start = random.randrange(0, max(1, len(data) - size), 2)
    value = random.choice((b"\xff" * size, b"\x7f" + b"\xff" * (size - 1), b"\xff" * (size - 1) + b"\x7f"))
    data[start : start + size] = value
    return f"{value.hex()} at {start}"


def cut(data: bytearray, random: Random) -> str:
    length = random.randrange(len(data))
    del data[length:]
    return f"to {length}"


def grow(data: bytearray, random: Random) -> str:
    extra = random.randbytes(random.choice((1, 100, 4096, 9_000)))
    data += extra
    return f"by {len(extra)}"


def zero_all(data: bytearray, _: Random) -> str:
    data[:] = bytes(len(data))
    return ""


def empty(data: bytearray, _: Random) -> str:
    data.clear()
    return ""


def swap_blocks(data: bytearray, random: Random) -> str:
    count = len(data) // 4096
    if count < 2:
        return flip(data, random)
    one, two = (4096 * n for n in random.sample(range(count), 2))
    data[one : one + 4096], data[two : two + 4096] = data[two : two + 4096], data[one : one + 4096]
    return f"{one} and {two}"


CONTENT: list[tuple[int, str, Callable[[bytearray, Random], str]]] = [
    (24, "bit flip", flip),
    (12, "overwriting", overwrite),
    (10, "cutting", cut),
    (8, "zeroed block", zero_block),
    (5, "block of garbage", garbage_block),
    (6, "huge length", huge_length),
    (3, "swapped blocks", swap_blocks),
    (2, "zeroing", zero_all),
    (3, "emptying", empty),
    (4, "growth", grow),
]
REPLACEMENT = ["removal", "directory", "link", "FIFO", "wrong mode", "swap"]


def choose_content(random: Random) -> tuple[str, Callable[[bytearray, Random], str]]:
    weights = [weight for weight, _, _ in CONTENT]
    _, kind, change = random.choices(CONTENT, weights)[0]
    return kind, change


def mutate_state(state: Path, snapshot: Snapshot, outside: Outside, random: Random) -> Mutation:
    """Damages one file of a state directory."""
    files = [n for n in ("towline.db", "towline.db-wal", "towline.db-shm") if (state / n).exists()]
    sessions = [n for n in snapshot.sessions() if (state / n).exists()]
    choices = [(30, files[0])] if files else []
    choices += [(20 if name.endswith("wal") else 4, name) for name in files[1:]]
    choices += [(6, name) for name in sessions]
    choices += [(3, "state.lock"), (2, "sessions")]
    name = random.choices([n for _, n in choices], [w for w, _ in choices])[0]
    family = DATABASE if name.startswith("towline.db") else LOCK if name == "state.lock" else SESSION
    harmed: frozenset[str] | None = None
    if family == SESSION:
        owned = [snapshot.owned(s) for s in (sessions if name == "sessions" else [name])]
        harmed = frozenset().union(*owned)
    elif family == LOCK:
        harmed = frozenset()
    path = state / name
    is_database = name == "towline.db" and path.is_file() and not path.is_symlink()
    if is_database and random.random() < 0.08:
        return make_future(path, random)
    if is_database and random.random() < 0.35 and (change := change_value(path, random)):
        return change
    if name != "sessions" and path.is_file() and path.stat().st_size > 0 and random.random() < 0.7:
        kind, change = choose_content(random)
        before = path.read_bytes()
        data = bytearray(before)
        detail = change(data, random)
        path.write_bytes(data)
        return Mutation(family, name, kind, detail, harmed, is_identity_hit(name, before, data))
    kind = random.choice(REPLACEMENT)
    if kind == "swap":
        others = [n for n in [*files, *sessions, "state.lock"] if n != name and (state / n).exists()]
        other = random.choice(others)
        if name == "sessions" or not others:
            kind = "removal"
        else:
            swap(path, state / other)
            harmed = None if other.startswith("towline") or family == DATABASE else harmed
            if harmed is not None and other.startswith("sessions/"):
                harmed |= snapshot.owned(other)
            family = DATABASE if harmed is None else family
            return Mutation(family, name, "swap", other, harmed, "towline.db" in (name, other))
    return Mutation(family, name, kind, replace(path, kind, outside, random), harmed, name == "towline.db")


def is_identity_hit(name: str, before: bytes, after: bytes) -> bool:
    if name == "towline.db-wal":
        return True  # it may hold the first page
    spans = [(before[r.start : r.stop], after[r.start : r.stop]) for r in IDENTITY_BYTES]
    return name == "towline.db" and any(old != new for old, new in spans)


def swap(one: Path, two: Path) -> None:
    aside = one.with_name("swapping")
    one.rename(aside)
    two.rename(one)
    aside.rename(two)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def replace(path: Path, kind: str, outside: Outside, random: Random) -> str:
    """Replaces the file by something else."""
    # The file may be missing, or be a link after an earlier mutation: then chmod would fail or change another
    # file.
    if kind == "wrong mode" and path.exists() and not path.is_symlink():
        mode = random.choice((0o000, 0o444, 0o777))
        path.chmod(mode)
        return oct(mode)
    remove(path)
    if kind == "directory":
        if random.random() < 0.5:
            path.mkdir()
            return "empty"
        path.mkdir()
        (path / "something").touch()
        return "with a file"
    if kind == "link":
        targets = [outside.file, outside.empty, outside.directory, outside.dangling, outside.database]
        target = random.choice(targets)
        path.symlink_to(target)
        return target.name
    if kind == "FIFO":
        os.mkfifo(path)
    return ""


def make_future(path: Path, random: Random) -> Mutation:
    version = random.choice((1_000, 2**31 - 1))
    database = sqlite3.connect(path)
    try:
        database.execute(f"PRAGMA user_version={version}")
        database.commit()
    except sqlite3.Error:
        # Already damaged, so the version cannot be changed.
        return Mutation(DATABASE, "towline.db", "future schema of a harmed file", is_identity_hit=True)
    finally:
        database.close()
    return Mutation(DATABASE, "towline.db", FUTURE, str(version))


def change_value(path: Path, random: Random) -> Mutation | None:
    """Flips a bit of one value of one record; the pages stay valid. None if there is no record."""
    database = sqlite3.connect(path)
    try:
        columns = [row[1] for row in database.execute("PRAGMA table_info(download)")]
        rows = [row[0] for row in database.execute("SELECT sequence FROM download ORDER BY sequence")]
        if not rows:
            return None
        # In half of the cases, a column that could lead to a wrong file.
        column = random.choice(VITAL if random.random() < 0.5 else columns)
        row = random.choice(rows)
        text = f"SELECT {column} FROM download WHERE sequence=?"
        value = flipped(database.execute(text, (row,)).fetchone()[0], random)
        if isinstance(value, bytes) and column != "written":
            value = sqlite3.Binary(value)
            setting = f"{column}=CAST(? AS TEXT)"
        else:
            setting = f"{column}=?"
        database.execute(f"UPDATE download SET {setting} WHERE sequence=?", (value, row))
        database.commit()
    except (sqlite3.Error, UnicodeDecodeError):
        # Already damaged, possibly in the names of columns.
        return None
    finally:
        database.close()
    return Mutation(DATABASE, "towline.db", "changed value", f"{column} of row {row}")


def flipped(value: object, random: Random) -> object:
    """The value with one bit changed: text as bytes; NULL becomes a small number."""
    if value is None:
        return random.randrange(3)
    if isinstance(value, int):
        changed = (value & (2**64 - 1)) ^ 1 << random.randrange(64)
        return changed - 2**64 if changed >= 2**63 else changed
    data = bytearray(value.encode() if isinstance(value, str) else value)
    if not data:
        return b"0-60000"
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(data)


def mutate_partial(file: KeptFile, outside: Outside, aside: Path, random: Random) -> Mutation:
    """Damages one partial file in place; a file that it moves goes to `aside`."""
    path = file.path
    name = path.name.removesuffix(".towline")
    harmed = frozenset({name})
    kinds = ["cut", "growth", "removal", "link", "FIFO", "directory", "other inode", "second name"]
    kinds += ["wrong mode", "file at the final name", "bit flip"]
    kind = random.choice(kinds)
    detail = ""
    if kind == "cut":
        length = random.randrange(len(file.data))
        os.truncate(path, length)
        detail = f"to {length}"
    elif kind == "growth":
        with path.open("ab") as stream:
            stream.write(random.randbytes(random.randrange(1, 300_000)))
    elif kind == "bit flip":
        data = bytearray(file.data)
        detail = flip(data, random)
        with path.open("r+b") as stream:
            stream.write(data)
    elif kind == "second name":
        os.link(path, path.with_name(f"second-name-of-{name}"))
    elif kind == "file at the final name":
        path.with_name(name).write_bytes(b"somebody else's")
    elif kind == "wrong mode":
        path.chmod(random.choice((0o000, 0o444, 0o666)))
    else:
        path.rename(aside / path.name)
        if kind == "other inode":
            path.write_bytes(bytes(len(file.data)))
            path.chmod(0o600)
        elif kind == "link":
            target = random.choice([outside.file, outside.directory, outside.dangling, aside / path.name])
            path.symlink_to(target)
            detail = target.name
        elif kind == "FIFO":
            os.mkfifo(path)
        elif kind == "directory":
            path.mkdir()
    return Mutation(PARTIAL, path.name, kind, detail, harmed)
