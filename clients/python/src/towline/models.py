"""What the service says, as frozen dataclasses; wire.py says how they are read."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Optional

from .errors import DownloadFailed
from .wire import Model

State = Literal["queued", "active", "waiting", "paused", "failed", "completed", "canceled"]
FINAL_STATES: frozenset[str] = frozenset({"completed", "failed", "canceled"})


def without_userinfo(url: str) -> str:
    """The URL as the service shows it: without name and password."""
    return re.sub(r"^([^/?#]*//)[^/?#]*@", r"\1", url)


@dataclass(frozen=True)
class Checksum(Model):
    """A digest: algorithm `sha256`, `sha512`, `sha1` or `md5`, value in hexadecimal."""

    algorithm: str
    value: str

    @staticmethod
    def parse(text: str) -> Checksum:
        """Reads `sha256:HEX`; hexadecimal alone is taken for the algorithm of that length."""
        algorithm, colon, value = text.strip().rpartition(":")
        if not colon:
            lengths = {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}
            algorithm = lengths.get(len(value), "")
        if not algorithm or not value or set(value.lower()) - set("0123456789abcdef"):
            raise ValueError(f"not a checksum, which looks like sha256:HEX: {text!r}")
        return Checksum(algorithm.lower(), value.lower())


@dataclass(frozen=True)
class Transfer(Model):
    """How the last transfer began: `fresh`, `resumed`, `restarted` or `unchanged`, where and why."""

    mode: str
    offset: int
    why: Optional[str]
    #: What says that the bytes joined are of one file: `validated`, `checksum`, `probed` or `trusted`.
    identity: Optional[str]


@dataclass(frozen=True)
class DownloadError(Model):
    """Why a download failed, as data. `kind` is the stable key; `retryable`: a later attempt may succeed."""

    kind: str
    message: str
    retryable: bool
    http_status: Optional[int]
    curl_code: Optional[int]
    errno: Optional[int]
    #: With destinationConflict: the download that has the destination.
    holder_id: Optional[str]


@dataclass(frozen=True)
class Download(Model):
    """One download as it was when the service wrote the message."""

    id: str
    url: str
    final_url: Optional[str]
    #: The finished file, absolute; None until it is named.
    path: Optional[Path]
    partial_path: Optional[Path]
    #: With `on_change="keepBoth"`: partial files of versions that the server no longer has; the oldest first.
    kept_paths: tuple[Path, ...]
    suggested_file_name: Optional[str]
    content_type: Optional[str]
    #: queued, active, waiting, paused, failed, completed or canceled
    state: str
    reason: Optional[str]
    phase: Optional[str]
    #: self: this client's service runs it; other: another process does; none: nobody
    owner: str
    received_bytes: int
    total_bytes: Optional[int]
    transferred_bytes: int
    contiguous_bytes: int
    bytes_per_second: Optional[int]
    #: Seconds to the last byte at this speed.
    eta: Optional[float]
    connections: int
    attempt: int
    resumable: Optional[bool]
    #: False when the server gave no length: the file may have been cut off.
    length_verified: Optional[bool]
    transfer: Optional[Transfer]
    retry_at: Optional[datetime]
    checksum: Optional[Checksum]
    error: Optional[DownloadError]
    priority: int
    metadata: Optional[Mapping[str, Any]]
    created_at: datetime
    updated_at: datetime
    completed_at: Optional[datetime]
    revision: int

    @property
    def label(self) -> str:
        """Its name in messages: its file's, else its URL without userinfo, query and fragment."""
        if self.path is not None:
            return self.path.name
        return without_userinfo(self.url).partition("#")[0].partition("?")[0]

    @property
    def is_final(self) -> bool:
        """True when it is completed, failed or canceled."""
        return self.state in FINAL_STATES

    @property
    def is_interrupted(self) -> bool:
        """True when its process ended before it was done; `resume` or the same `start` continues it."""
        return self.state == "paused" and self.reason == "interrupted"

    @property
    def fraction(self) -> Optional[float]:
        """How much of the file was received, 0 to 1; None while its size is unknown."""
        if self.total_bytes is None:
            return None
        return self.received_bytes / self.total_bytes if self.total_bytes else 1.0

    def raise_unless_completed(self) -> FinishedDownload:
        """Returns it as a FinishedDownload if it is completed; else raises DownloadFailed."""
        if self.state != "completed" or self.path is None:
            raise DownloadFailed(self)
        made = FinishedDownload(**{f.name: getattr(self, f.name) for f in dataclasses.fields(self)})
        object.__setattr__(made, "_unknown", self._unknown)
        return made


@dataclass(frozen=True)
class FinishedDownload(Download):
    """A completed download; its `path` is the finished file."""

    path: Path


@dataclass(frozen=True)
class Started(Model):
    """The answer to `start`: `created`: the record is new; `resumed`: an interrupted download continues."""

    download: Download
    #: The number of the last event before the answer.
    seq: int
    created: bool
    resumed: bool

    @property
    def id(self) -> str:
        return self.download.id


@dataclass(frozen=True)
class Outcome(Model):
    """What `pause`, `resume` or `cancel` did to one download; `changed` is false if it was so already."""

    download: Download
    #: The number of the last event before the answer.
    seq: int
    changed: bool


@dataclass(frozen=True)
class TargetError(Model):
    """Why one download of several was left as it is; `error` is the JSON-RPC error object."""

    id: str
    error: Mapping[str, Any]


@dataclass(frozen=True)
class BulkOutcome(Model):
    """What `pause`, `resume` or `cancel` did to several downloads. `errors` has at most 20."""

    matched: int
    changed: int
    errors: tuple[TargetError, ...]


@dataclass(frozen=True)
class Page(Model):
    """One page of `list`. `revision` is what `changed_since` takes; `seq` the last event that it contains."""

    downloads: tuple[Download, ...]
    removed: tuple[str, ...]
    next_cursor: Optional[str]
    revision: int
    session: str
    seq: int


@dataclass(frozen=True)
class Subscription(Model):
    """What `subscribe` answers. `id` is this client's own and stays valid when the service is respawned."""

    id: str
    session: str
    seq: int


@dataclass(frozen=True)
class RetryOptions(Model):
    """When to give up, and how many seconds to wait before the next try; None leaves the default.

    `max_attempts` (10) counts failures in a row without a new byte. Each wait is twice the one before, from
    `initial_delay` (0.5) to `max_delay` (60).
    """

    max_attempts: Optional[int] = None
    initial_delay: Optional[float] = None
    max_delay: Optional[float] = None


@dataclass(frozen=True)
class Defaults(Model):
    """What downloads of this process start with unless `start` says otherwise."""

    headers: Optional[Mapping[str, str]]
    user_agent: Optional[str]
    connect_timeout: Optional[float]
    stall_timeout: Optional[float]
    create_directories: Optional[bool]
    retry: Optional[RetryOptions]


@dataclass(frozen=True)
class Settings(Model):
    """The settings in force for this process."""

    max_active: int
    max_active_per_host: int
    progress_interval: float
    defaults: Defaults


@dataclass(frozen=True)
class ServiceInfo(Model):
    """What the service is and can do."""

    name: str
    version: str
    protocol: str
    capabilities: Mapping[str, Any]
    limits: Mapping[str, int]
    state_directory: str
    libraries: Mapping[str, str]
    process_id: int
    uptime: float
    session: str


@dataclass(frozen=True)
class ByteRange(Model):
    """Bytes of the file from `start` up to but not including `end`."""

    start: int = field(metadata={"wire": "from"})
    end: int = field(metadata={"wire": "to"})


@dataclass(frozen=True)
class Attempt(Model):
    """One attempt of a download; spans in seconds, None where not measured."""

    started_at: datetime
    ended_at: Optional[datetime]
    transfer: Optional[Transfer]
    requested_range: Optional[str]
    received_bytes: int
    error: Optional[DownloadError]
    name_lookup: Optional[float]
    connect: Optional[float]
    tls: Optional[float]
    first_byte: Optional[float]


@dataclass(frozen=True)
class Hop(Model):
    """One response on the way to the file: its URL (secrets left out) and status."""

    url: str
    status: int
    remote_address: Optional[str]
    at: datetime


@dataclass(frozen=True)
class Inspection(Model):
    """The history of a download, to find out why something went wrong."""

    download: Download
    etag: Optional[str]
    last_modified: Optional[str]
    consecutive_failures: int
    wasted_bytes: int
    attempts: tuple[Attempt, ...]
    hops: tuple[Hop, ...]
    durable_ranges: tuple[ByteRange, ...]
    written_ranges: tuple[ByteRange, ...]


@dataclass(frozen=True)
class StateCounts(Model):
    """How many downloads are in which state; `wait` for several answers it."""

    queued: int
    active: int
    waiting: int
    paused: int
    failed: int
    completed: int
    canceled: int
