"""Exceptions: they say no secret, and reach another process whole."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from towline import errors, models

URL = "https://user:secret@host.example/files/a.bin?token=secret#secret"


def download(path: str | None = "/home/me/a.bin", **members: Any) -> models.Download:
    values: dict[str, Any] = {
        "id": "d",
        "url": URL,
        "path": path,
        "keptPaths": [],
        "state": "failed",
        "owner": "none",
        "receivedBytes": 1,
        "transferredBytes": 1,
        "contiguousBytes": 1,
        "connections": 0,
        "attempt": 1,
        "error": {"kind": "httpStatus", "message": "404", "retryable": False},
        "priority": 0,
        "metadata": {"a": [1]},
        "createdAt": "2026-11-30T06:47:23.459Z",
        "updatedAt": "2026-11-30T06:47:23.459Z",
        "revision": 1,
    }
    return models.Download.from_wire(values | members)


ERRORS: list[errors.TowlineError] = [
    *(kind(kind.CODE or 0, "message", {"kind": kind.KIND, "retryable": True}) for kind in errors.KINDS),
    errors.RPCError(7, "message", {"kind": "new", "x": 1}),
    errors.BinaryNotFound("message"),
    errors.ClientClosed("message"),
    errors.ProtocolError("message"),
    errors.ServiceDied("message", status=-9, stderr="line\nlast\n"),
    errors.AnswerTimedOut("message"),
    errors.WaitTimedOut("message", download()),
    errors.DownloadFailed(download()),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("way", ["pickle", "copy"])
def test_every_exception_survives_a_round_trip(error: errors.TowlineError, way: str) -> None:
    made = pickle.loads(pickle.dumps(error)) if way == "pickle" else copy.copy(error)
    assert type(made) is type(error)
    assert str(made) == str(error)
    assert vars(made) == vars(error)


def fail() -> None:
    raise errors.DestinationConflict(1003, "exists", {"kind": "destinationConflict", "path": "/f"})


def test_an_error_of_a_process_pool_does_not_break_it() -> None:
    with ProcessPoolExecutor(1) as pool:
        for _ in range(2):
            with pytest.raises(errors.DestinationConflict) as caught:
                pool.submit(fail).result(30)
            assert caught.value.data["path"] == "/f"


@pytest.mark.parametrize("path", ["/home/me/a.bin", None])
def test_messages_name_the_file_and_no_secret(path: str | None) -> None:
    text = str(errors.DownloadFailed(download(path)))
    assert "secret" not in text
    assert text.startswith("a.bin" if path else "https://host.example/files/a.bin failed (")
