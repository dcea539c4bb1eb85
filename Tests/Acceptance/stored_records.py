"""Changes stored records as another version or a person could, with correct checksums."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

MASK = (1 << 64) - 1
#: in checksum order
COLUMNS = [
    "id",
    "url",
    "requestedPath",
    "requestedDirectory",
    "requestedFileName",
    "destinationKey",
    "path",
    "partialPath",
    "partialDevice",
    "partialInode",
    "keptPaths",
    "ifExists",
    "checksum",
    "options",
    "headers",
    "metadata",
    "trail",
    "priority",
    "state",
    "reason",
    "intent",
    "owner",
    "entityFlags",
    "entityByteCount",
    "entityETag",
    "entityLastModified",
    "entityDate",
    "entityType",
    "entityEncoding",
    "durable",
    "written",
    "slot",
    "attempt",
    "failureCount",
    "transferMode",
    "transferOffset",
    "transferWhy",
    "transferIdentity",
    "lengthVerified",
    "retryAt",
    "errorKind",
    "errorMessage",
    "errorRetryable",
    "errorStatus",
    "errorCurl",
    "errorErrno",
    "errorHolder",
    "createdAt",
    "updatedAt",
    "completedAt",
    "finalURL",
    "suggestedFileName",
    "contentType",
    "transferredByteCount",
    "wastedByteCount",
    "isFinalizing",
    "finishedDevice",
    "finishedInode",
    "finishedByteCount",
    "sequence",
    "revision",
]
REQUEST = [
    "id",
    "url",
    "requestedPath",
    "requestedDirectory",
    "requestedFileName",
    "destinationKey",
    "path",
    "ifExists",
    "checksum",
    "options",
    "headers",
    "metadata",
    "priority",
    "createdAt",
    "sequence",
]
UNCHECKED = ("owner", "slot", "revision", "errorHolder")


def _mix(hash_: int, word: int) -> int:
    hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15 & MASK
    return hash_ ^ hash_ >> 32


def row_check(*values: Any) -> int:
    """The checksum of a row; the service registers the same function in SQL."""
    hash_ = 0xCBF29CE484222325
    for value in values:
        if value is None:
            hash_ = _mix(hash_, 5 << 56)
        elif isinstance(value, int):
            hash_ = _mix(_mix(hash_, 1 << 56), value & MASK)
        else:
            data, kind = (value.encode(), 3) if isinstance(value, str) else (value, 4)
            hash_ = _mix(hash_, kind << 56 | len(data))
            for offset in range(0, len(data), 8):
                hash_ = _mix(hash_, int.from_bytes(data[offset : offset + 8], "little"))
    hash_ = hash_ or 1
    return hash_ - (1 << 64) if hash_ >> 63 else hash_


def store(directory: Path, download_id: str, /, **columns: Any) -> None:
    """Changes columns of a record; no process may have the state open."""
    with sqlite3.connect(directory / "towline.db") as database:
        database.create_function("row_check", -1, row_check, deterministic=True)
        groups = {
            "requestCheck": [n for n in COLUMNS if n in REQUEST],
            "progressCheck": [n for n in COLUMNS if n not in REQUEST and n not in UNCHECKED],
        }
        checks = {name: f"row_check({', '.join(group)})" for name, group in groups.items()}
        # Fails if the column lists above differ from the service's.
        intact = " AND ".join(f"{name} = {check}" for name, check in checks.items())
        found = database.execute(f"SELECT {intact} FROM download WHERE id = ?", (download_id,)).fetchone()
        assert found == (1,), found
        for name, value in columns.items():
            database.execute(f"UPDATE download SET {name} = ? WHERE id = ?", (value, download_id))
        changes = ", ".join(f"{name} = {check}" for name, check in checks.items())
        database.execute(f"UPDATE download SET {changes} WHERE id = ?", (download_id,))
    database.close()
