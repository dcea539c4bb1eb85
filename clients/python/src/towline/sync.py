"""The client for programs with threads, or without."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Callable, Literal, Optional, Union

from . import calls
from .binary import PathLike
from .calls import Target, Until
from .compat import Self, Unpack
from .connection import Connection
from .core import EndOfEvents
from .errors import DownloadNotFound, TowlineError
from .events import Event, Progress
from .fetching import Deadline, ProgressCallback, check_on_cancel, is_stopped
from .models import (
    BulkOutcome,
    Download,
    FinishedDownload,
    Inspection,
    Outcome,
    Page,
    ServiceInfo,
    Settings,
    Started,
    State,
    StateCounts,
    Subscription,
)
from .options import ConfigureOptions, OnCancel, StartOptions, UpdateOptions, documented
from .process import check_process


class Events(Iterator[Event]):
    """A stream of the events from its creation on. It ends with the client, or with its download."""

    def __init__(self, client: Towline, target: Optional[str], *, begin_with_now: bool = True) -> None:
        self._client = client
        with client._changed:
            self._buffer = client._core.buffer(client._changed.notify_all, target)
        self._asked = target is None or not begin_with_now

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        event = self._take(None)
        assert event is not None
        return event

    def poll(self, timeout: float = 0.0) -> Optional[Event]:
        """The next event, or None if there is none within so many seconds or the stream has ended."""
        try:
            return self._take(timeout)
        except StopIteration:
            return None

    def take_until(self, stopped: Callable[[], bool]) -> Optional[Event]:
        """The next event, or None once `stopped` returns true or the stream has ended."""
        try:
            return self._take(None, stopped)
        except StopIteration:
            return None

    def _take(self, timeout: Optional[float], stopped: Callable[[], bool] = lambda: False) -> Optional[Event]:
        check_process(self._client._owner)
        if not self._asked:
            self._asked = True
            self._client._perform(self._client._core.current(self._buffer))
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._client._changed:
            while True:
                try:
                    event = self._buffer.take()
                except EndOfEvents:
                    raise StopIteration from None
                left = None if deadline is None else deadline - time.monotonic()
                if event is not None or (left is not None and left <= 0) or stopped():
                    return event
                self._client._changed.wait(left)


class Towline(Connection):
    """A download service of this program's own, as a context manager. Thread-safe.

    ```
    with Towline() as client:
        download = client.fetch("https://example.org/file.iso", directory="~/Downloads")
    ```

    `app` keeps this program's downloads apart from those of others; `state_dir` names their directory itself.
    After a crash of the service the client starts it again, resumes the interrupted downloads, and repeats
    the requests that are safe to repeat (`respawn=False`: it does not). Leaving the block ends the service
    within about a second. Unfinished downloads are kept; the same `start`, `resume`, or
    `resume_interrupted=True` continues them.
    """

    # Downloads

    @documented(StartOptions)
    def start(
        self,
        url: Optional[str] = None,
        path: Optional[PathLike] = None,
        *,
        directory: Optional[PathLike] = None,
        file_name: Optional[str] = None,
        **options: Unpack[StartOptions],
    ) -> Started:
        """Starts a download to `path`, or into `directory` (the working directory if neither is given).

        Returns at once. The same `start` again finds the same download, and resumes it if it was interrupted.
        With `resume_data` the URL and the destination may be left out: the exported text has them.
        """
        return self._perform(calls.start(url, path, directory, file_name, **options))

    @documented(StartOptions)
    def fetch(
        self,
        url: str,
        path: Optional[PathLike] = None,
        *,
        directory: Optional[PathLike] = None,
        file_name: Optional[str] = None,
        progress: Optional[ProgressCallback] = None,
        timeout: Optional[float] = None,
        on_cancel: OnCancel = "pause",
        forget: bool = False,
        **options: Unpack[StartOptions],
    ) -> FinishedDownload:
        """Downloads a file and returns when it is finished; raises DownloadFailed when it cannot be.

        A download that was paused, interrupted or failed before is resumed. DownloadFailed is also raised
        when it needs somebody: it was paused, the link has expired, the disk is full, or the network was
        missing for a minute.

        progress: called with a Progress while bytes arrive, and once at the end
        timeout: seconds after which WaitTimedOut is raised
        on_cancel: what becomes of the download when this call is left before the end, by the timeout, by
            Ctrl-C, a cancelled task or an exception in `progress`: "pause" (the same fetch resumes it),
            "cancel" (what was received is deleted) or "continue" (until the client is closed)
        forget: remove the record, not the file, when it is finished, so that records do not pile up
        """
        check_on_cancel(on_cancel)
        deadline = Deadline(timeout)
        if progress is not None:
            options = {"events": "all", **options}
        started = self.start(url, path, directory=directory, file_name=file_name, **options)
        download = started.download
        try:
            if is_stopped(download):
                download = self.resume(download).download
            download = self._follow(download, progress, deadline)
            while download.is_interrupted:  # the other process that had it ended
                download = self._follow(self.resume(download).download, progress, deadline)
        except BaseException:
            with contextlib.suppress(TowlineError):
                if on_cancel == "pause":
                    self.pause(started)
                elif on_cancel == "cancel":
                    self.cancel(started)
            raise
        finished = download.raise_unless_completed()
        if forget:
            with contextlib.suppress(DownloadNotFound):
                self.remove(finished)
        return finished

    def _follow(
        self, download: Download, progress: Optional[ProgressCallback], deadline: Deadline
    ) -> Download:
        """Waits until it is settled, and calls `progress` meanwhile."""
        call = calls.wait(download, "settled", deadline.left(), deadline.timeout)
        if progress is None:
            return self._perform(call)
        if download.owner == "other":
            self.subscribe(ids=[download])
        events = Events(self, download.id, begin_with_now=False)
        future = self._submit(call)
        future.add_done_callback(lambda _: self._wake())
        try:
            while (event := events.take_until(future.done)) is not None:
                if isinstance(event, Progress):
                    progress(event)
        except BaseException:
            self._abandon(future)
            raise
        ended = self._answer(call, future)
        progress(Progress.of(ended, self._core.session, self._core.seq))
        return ended

    def pause(self, target: Target) -> Outcome:
        """Stops a download and keeps what was received. It stays paused until it is resumed."""
        return self._perform(calls.change("pause", target))

    def resume(self, target: Target) -> Outcome:
        """Continues a paused, waiting or failed download at once."""
        return self._perform(calls.change("resume", target))

    def cancel(self, target: Target, *, delete_partial: bool = True) -> Outcome:
        """Ends a download for good, and deletes what was received unless told not to."""
        return self._perform(calls.change("cancel", target, delete_partial))

    def pause_all(self, targets: Optional[Iterable[Target]] = None) -> BulkOutcome:
        """Pauses the given downloads (at most 500), or all."""
        return self._perform(calls.change_several("pause", targets))

    def resume_all(self, targets: Optional[Iterable[Target]] = None) -> BulkOutcome:
        """Resumes the given downloads (at most 500), or all."""
        return self._perform(calls.change_several("resume", targets))

    def cancel_all(
        self, targets: Optional[Iterable[Target]] = None, *, delete_partial: bool = True
    ) -> BulkOutcome:
        """Cancels the given downloads (at most 500), or all."""
        return self._perform(calls.change_several("cancel", targets, delete_partial))

    @documented(UpdateOptions)
    def update(self, target: Target, **options: Unpack[UpdateOptions]) -> Download:
        """Changes a download; a new URL keeps the bytes when size and validator agree."""
        return self._perform(calls.update(target, **options))

    def get(self, target: Target) -> Download:
        """Reads one download."""
        return self._perform(calls.get(target))

    def list(
        self,
        *,
        states: Optional[Iterable[State]] = None,
        ids: Optional[Iterable[Target]] = None,
        changed_since: Optional[int] = None,
    ) -> Iterator[Download]:
        """All downloads, page after page: `for download in client.list()`."""
        params = calls.list_params(states, ids, changed_since)
        cursor: Optional[str] = None
        while True:
            page = self._perform(calls.list_page(calls.with_cursor(params, cursor)))
            yield from page.downloads
            cursor = page.next_cursor
            if cursor is None:
                return

    def list_page(
        self,
        *,
        states: Optional[Iterable[State]] = None,
        ids: Optional[Iterable[Target]] = None,
        changed_since: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Page:
        """One page, with the revision for the next `changed_since` and what was removed."""
        return self._perform(calls.list_page(calls.list_params(states, ids, changed_since, limit, cursor)))

    def list_values(
        self,
        *fields: str,
        states: Optional[Iterable[State]] = None,
        ids: Optional[Iterable[Target]] = None,
    ) -> Iterator[dict[str, Any]]:
        """All downloads as plain dictionaries with wire names; with `fields`, those members only."""
        params = calls.list_params(states, ids, fields=fields or None)
        cursor: Optional[str] = None
        while True:
            values, cursor = self._perform(calls.list_values(calls.with_cursor(params, cursor)))
            yield from values
            if cursor is None:
                return

    def remove(self, target: Target, *, delete_file: bool = False) -> None:
        """Removes the record of a completed, failed or canceled download.

        The finished file stays, unless `delete_file` is true and it is still the file that was downloaded.
        """
        self._perform(calls.remove(target, delete_file))

    def wait(self, target: Target, *, until: Until = "final", timeout: Optional[float] = None) -> Download:
        """Waits until the download is completed, failed or canceled, and returns it; see its `state`.

        With `until="settled"` also until it is paused or needs user action. After `timeout` seconds it raises
        WaitTimedOut.
        """
        return self._perform(calls.wait(target, until, timeout))

    def wait_all(
        self,
        targets: Optional[Iterable[Target]] = None,
        *,
        until: Until = "final",
        timeout: Optional[float] = None,
    ) -> StateCounts:
        """Waits for the given downloads (at most 500), or all, and returns how many are in which state."""
        return self._perform(calls.wait_several(targets, until, timeout))

    def export(self, target: Target) -> str:
        """A text with which `start(resume_data=…)` continues the download, with any state directory, once."""
        return self._perform(calls.export(target))

    def inspect(self, target: Target) -> Inspection:
        """The history of a download: redirects, validators, ranges, attempts, timings."""
        return self._perform(calls.inspect(target))

    # Events and the service

    def events(self, target: Optional[Target] = None) -> Events:
        """The events from now on: `for event in client.events()`.

        With a download: a Changed with its state now, then its events until it is final. Downloads that this
        client did not start or resume have events only after `subscribe`.
        """
        self._require()
        return Events(self, None if target is None else calls.id_of(target))

    def subscribe(
        self,
        events: Optional[Iterable[Literal["changed", "progress"]]] = None,
        ids: Optional[Iterable[Target]] = None,
        progress_interval: Optional[float] = None,
    ) -> Subscription:
        """Asks for events of downloads that this client did not start or resume; of all without `ids`."""
        return self._perform(calls.subscribe(events, ids, progress_interval))

    def unsubscribe(self, subscription: Union[Subscription, str]) -> None:
        """Ends a subscription."""
        self._perform(calls.unsubscribe(subscription))

    @documented(ConfigureOptions)
    def configure(self, **options: Unpack[ConfigureOptions]) -> Settings:
        """Changes settings of this client's service, and returns those in force."""
        return self._perform(calls.configure(**options))

    def info(self) -> ServiceInfo:
        """What the service is and can do."""
        return self._perform(calls.info())

    def ping(self) -> None:
        """Returns when the service has answered."""
        self._perform(calls.ping())

    def call(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Any:
        """Any method by its wire name, for what this package does not know; returns the plain result."""
        return self._perform(calls.other(method, params))
