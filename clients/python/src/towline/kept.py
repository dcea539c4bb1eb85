"""How the command and `download` find what an earlier one left: the same download, perhaps by a new link.

A new link is a URL that differs in its query only, as a signed one does after it expired. To the same
destination it means the same download.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Optional
from urllib.parse import unquote

from .binary import PathLike
from .calls import absolute, file_path
from .errors import DestinationConflict, DownloadNotFound, IdConflict, LockedElsewhere, RPCError
from .models import Checksum, Download, Started, without_userinfo
from .options import StartOptions, UpdateOptions
from .sync import Towline


def bare(url: str) -> str:
    """The URL without userinfo, query and fragment."""
    return without_userinfo(url).partition("#")[0].partition("?")[0]


def query(url: str) -> str:
    return url.partition("#")[0].partition("?")[2]


def still_there(download: Download) -> bool:
    """Whether the file of a completed download is where it was put, as long as it was."""
    with contextlib.suppress(OSError):
        if download.path is not None:
            present = os.stat(download.path).st_size
            return download.total_bytes is None or present == download.total_bytes
    return False


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    url: str
    #: The file, or the directory.
    place: str
    is_file: bool
    checksum: Optional[Checksum]
    options: StartOptions

    @staticmethod
    def build(
        url: str,
        output: Optional[PathLike],
        directory: PathLike,
        checksum: Optional[Checksum],
        options: StartOptions,
    ) -> Wanted:
        is_file = output is not None
        place = absolute(directory) if output is None else file_path(output)
        # The same command means the same download.
        identity = "\0".join(
            (url, place, str(output is None), str(checksum), options.get("if_exists", "error"))
        )
        number = hashlib.sha256(identity.encode()).hexdigest()[:32]
        options = {**options, "id": f"get-{number}", "create_directories": not is_file}
        if checksum is not None:
            options["checksum"] = checksum
        return Wanted(url, place, is_file, checksum, options)

    @property
    def id(self) -> str:
        return self.options["id"]

    @property
    def name(self) -> str:
        """What to call it as long as nobody knows better."""
        return Path(self.place).name if self.is_file else unquote(bare(self.url).rpartition("/")[2])

    def start(self, service: Towline) -> Started:
        if self.is_file:
            return service.start(self.url, self.place, **self.options)
        return service.start(self.url, directory=self.place, **self.options)

    def is_same_file(self, download: Download) -> bool:
        """Whether it is of this URL, the query aside, and has the checksum that is given now."""
        given = self.checksum is None or self.checksum == download.checksum
        return given and bare(download.url) == bare(self.url)

    def is_at_place(self, download: Download) -> bool:
        if self.is_file or download.path is None:
            return str(download.path) == self.place
        return str(download.path.parent) == self.place


def begin(service: Towline, wanted: Wanted, taken: Container[str] = ()) -> Download:
    """Starts a download or resumes it, so that the same command can be given again at any time.

    `taken` are the downloads of other URLs of this command: none of them is this one.
    """
    if "headers" in wanted.options:
        # A record that is there would be resumed with the headers of its first start.
        with contextlib.suppress(RPCError):
            service.update(wanted.id, headers=wanted.options["headers"])
    try:
        started = wanted.start(service)
        if started.created:
            return started.download
        found = started.download
    except (DestinationConflict, IdConflict, LockedElsewhere) as conflict:
        kept = in_the_way(service, wanted, conflict, taken)
        if kept is None:
            raise
        found = kept
    return continue_with(service, wanted, found)


def in_the_way(
    service: Towline, wanted: Wanted, conflict: RPCError, taken: Container[str] = ()
) -> Optional[Download]:
    """The download that the conflict is with, if it is the wanted one."""
    holder = conflict.data.get("id")
    if not isinstance(holder, str):
        return kept_at(service, wanted, conflict.data.get("path"), taken)
    # A record of the very same file is as good, even one of another program or process.
    found = service.get(holder)
    return found if holder not in taken and wanted.is_same_file(found) else None


def kept_at(service: Towline, wanted: Wanted, path: object, taken: Container[str]) -> Optional[Download]:
    """The record of the wanted file at that path, by this link or another one."""
    found = None
    for download in service.list():
        usable = download.state != "canceled" and download.id not in taken
        if usable and str(download.path) == str(path) and wanted.is_same_file(download):
            found = download
    if found is not None and found.state == "completed":
        # Nothing compares the two files: another query may name another file.
        alike = wanted.checksum is not None or query(found.url) == query(wanted.url)
        if not alike or not still_there(found):
            return None
    return found


def continue_with(service: Towline, wanted: Wanted, found: Download) -> Download:
    """Lets a record that was there before continue, by the link and the headers that are given now."""
    if found.state == "canceled" or (found.state == "completed" and not still_there(found)):
        service.remove(found)
        return wanted.start(service).download
    if found.owner == "other":
        service.subscribe(ids=[found])
        return service.get(found)  # it may have ended before that
    if found.state == "completed":
        return found
    changes: UpdateOptions = {}
    if query(found.url) != query(wanted.url):
        changes["url"] = wanted.url
    if "headers" in wanted.options:
        changes["headers"] = wanted.options["headers"]
    if changes:
        found = service.update(found, **changes)
    if found.state in ("paused", "failed"):
        found = service.resume(found).download
    return found


def replace_failed(
    service: Towline, wanted: Wanted, failed: Download, taken: Container[str] = ()
) -> Optional[Download]:
    """For a download whose name, known now, is that of another one: the other one, if it is the same file."""
    error = failed.error
    if wanted.is_file or error is None or error.kind != "destinationConflict":
        return None
    if failed.suggested_file_name is None:
        return None
    path = Path(wanted.place) / failed.suggested_file_name
    found = kept_at(service, wanted, path, taken)
    if found is None:
        return None
    service.remove(failed)
    return continue_with(service, wanted, found)


def records_of(service: Towline, wanted: Wanted) -> Iterator[Download]:
    """Every record that a `get` of this would continue, or find finished."""
    with contextlib.suppress(DownloadNotFound):
        yield service.get(wanted.id)
    for download in list(service.list()):
        same = bare(download.url) == bare(wanted.url) and wanted.is_at_place(download)
        if same and download.id != wanted.id:
            yield download


def forget(service: Towline, download: Download) -> None:
    """Removes the record, and what was received unless it is finished."""
    if not download.is_final:
        service.cancel(download)
    service.remove(download)
