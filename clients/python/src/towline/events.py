"""What the service sends unasked, and what the client adds to it, as frozen dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

from .models import Download
from .wire import Model


@dataclass(frozen=True)
class Changed(Model):
    """The state, reason, phase or path of a download changed, or an `update` changed it."""

    session: str
    seq: int
    download: Download

    @property
    def id(self) -> str:
        return self.download.id


@dataclass(frozen=True)
class Progress(Model):
    """Bytes were received. Only the newest of each download is kept until it is read."""

    session: str
    #: The number of the last `Changed` or `Removed` before it.
    seq: int
    id: str
    path: Optional[Path]
    phase: Optional[str]
    attempt: int
    received_bytes: int
    contiguous_bytes: int
    total_bytes: Optional[int]
    bytes_per_second: Optional[int]
    #: Seconds to the last byte at this speed.
    eta: Optional[float]
    connections: int

    @staticmethod
    def of(download: Download, session: str, seq: int) -> Progress:
        """What a download says of its progress."""
        names = {f.name for f in dataclasses.fields(Progress)} - {"session", "seq"}
        return Progress(session=session, seq=seq, **{name: getattr(download, name) for name in names})

    @property
    def fraction(self) -> Optional[float]:
        """How much of the file was received, 0 to 1; None while its size is unknown."""
        if self.total_bytes is None:
            return None
        return self.received_bytes / self.total_bytes if self.total_bytes else 1.0


@dataclass(frozen=True)
class Removed(Model):
    """The record of a download was removed."""

    session: str
    seq: int
    id: str
    #: None when another process removed it.
    revision: Optional[int]


@dataclass(frozen=True)
class EventsLost(Model):
    """The program read too slowly and missed `Changed` and `Removed` events: read the state with `list`."""

    session: str
    from_seq: int
    to_seq: int


@dataclass(frozen=True)
class Respawned(Model):
    """The service crashed, and a new process continues its downloads. Made by the client, not by the service.

    `Changed` events follow, with the state that the new process found.
    """

    session: str
    #: The exit status of the process that died; negative: by that signal.
    status: int
    #: Interrupted downloads of this client that are about to continue.
    resumed: tuple[str, ...]


Event = Union[Changed, Removed, Progress, EventsLost, Respawned]

#: Notifications of the service by method.
EVENTS: Mapping[str, type[Union[Changed, Removed, Progress, EventsLost]]] = {
    "changed": Changed,
    "removed": Removed,
    "progress": Progress,
    "eventsLost": EventsLost,
}
