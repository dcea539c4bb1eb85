"""The client for asyncio programs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Literal, Optional, Union

from . import calls
from .aio_connection import AsyncConnection
from .binary import PathLike
from .calls import Target, Until
from .compat import Self, Unpack
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


class AsyncEvents(AsyncIterator[Event]):
    """A stream of the events from its creation on. It ends with the client, or with its download."""

    def __init__(self, client: AsyncTowline, target: Optional[str], *, begin_with_now: bool = True) -> None:
        self._client = client
        self._awake = asyncio.Event()
        self._buffer = client._core.buffer(self._awake.set, target)
        self._asked = target is None or not begin_with_now

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if not self._asked:
            self._asked = True
            await self._client._perform(self._client._core.current(self._buffer))
        while True:
            self._awake.clear()
            try:
                event = self._buffer.take()
            except EndOfEvents:
                raise StopAsyncIteration from None
            if event is not None:
                return event
            await self._awake.wait()


class AsyncTowline(AsyncConnection):
    """A download service of this program's own, as an asynchronous context manager.

    ```
    async with AsyncTowline() as client:
        download = await client.fetch("https://example.org/file.iso", directory="~/Downloads")
    ```

    `app` keeps this program's downloads apart from those of others; `state_dir` names their directory itself.
    After a crash of the service the client starts it again, resumes the interrupted downloads, and repeats
    the requests that are safe to repeat (`respawn=False`: it does not). Leaving the block ends the service
    within about a second. Unfinished downloads are kept; the same `start`, `resume`, or
    `resume_interrupted=True` continues them. To be used from one event loop.
    """

    # Downloads

    @documented(StartOptions)
    async def start(
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
        return await self._perform(calls.start(url, path, directory, file_name, **options))

    @documented(StartOptions)
    async def fetch(
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
        started = await self.start(url, path, directory=directory, file_name=file_name, **options)
        download = started.download
        try:
            if is_stopped(download):
                download = (await self.resume(download)).download
            download = await self._follow(download, progress, deadline)
            while download.is_interrupted:  # the other process that had it ended
                download = await self._follow((await self.resume(download)).download, progress, deadline)
        except BaseException:
            with contextlib.suppress(TowlineError):
                if on_cancel == "pause":
                    await self.pause(started)
                elif on_cancel == "cancel":
                    await self.cancel(started)
            raise
        finished = download.raise_unless_completed()
        if forget:
            with contextlib.suppress(DownloadNotFound):
                await self.remove(finished)
        return finished

    async def _follow(
        self, download: Download, progress: Optional[ProgressCallback], deadline: Deadline
    ) -> Download:
        """Waits until it is settled, and calls `progress` meanwhile."""
        call = calls.wait(download, "settled", deadline.left(), deadline.timeout)
        if progress is None:
            return await self._perform(call)
        if download.owner == "other":
            await self.subscribe(ids=[download])
        events = AsyncEvents(self, download.id, begin_with_now=False)
        waiting = asyncio.ensure_future(self._perform(call))
        showing = asyncio.ensure_future(_show(events, progress))
        try:
            await asyncio.wait({waiting, showing}, return_when=asyncio.FIRST_COMPLETED)
            if showing.done():
                showing.result()
            ended = await waiting
        finally:
            for task in (waiting, showing):
                task.cancel()
            await asyncio.gather(waiting, showing, return_exceptions=True)
        progress(Progress.of(ended, self._core.session, self._core.seq))
        return ended

    async def pause(self, target: Target) -> Outcome:
        """Stops a download and keeps what was received. It stays paused until it is resumed."""
        return await self._perform(calls.change("pause", target))

    async def resume(self, target: Target) -> Outcome:
        """Continues a paused, waiting or failed download at once."""
        return await self._perform(calls.change("resume", target))

    async def cancel(self, target: Target, *, delete_partial: bool = True) -> Outcome:
        """Ends a download for good, and deletes what was received unless told not to."""
        return await self._perform(calls.change("cancel", target, delete_partial))

    async def pause_all(self, targets: Optional[Iterable[Target]] = None) -> BulkOutcome:
        """Pauses the given downloads (at most 500), or all."""
        return await self._perform(calls.change_several("pause", targets))

    async def resume_all(self, targets: Optional[Iterable[Target]] = None) -> BulkOutcome:
        """Resumes the given downloads (at most 500), or all."""
        return await self._perform(calls.change_several("resume", targets))

    async def cancel_all(
        self, targets: Optional[Iterable[Target]] = None, *, delete_partial: bool = True
    ) -> BulkOutcome:
        """Cancels the given downloads (at most 500), or all."""
        return await self._perform(calls.change_several("cancel", targets, delete_partial))

    @documented(UpdateOptions)
    async def update(self, target: Target, **options: Unpack[UpdateOptions]) -> Download:
        """Changes a download; a new URL keeps the bytes when size and validator agree."""
        return await self._perform(calls.update(target, **options))

    async def get(self, target: Target) -> Download:
        """Reads one download."""
        return await self._perform(calls.get(target))

    async def list(
        self,
        *,
        states: Optional[Iterable[State]] = None,
        ids: Optional[Iterable[Target]] = None,
        changed_since: Optional[int] = None,
    ) -> AsyncIterator[Download]:
        """All downloads, page after page: `async for download in client.list()`."""
        params = calls.list_params(states, ids, changed_since)
        cursor: Optional[str] = None
        while True:
            page = await self._perform(calls.list_page(calls.with_cursor(params, cursor)))
            for download in page.downloads:
                yield download
            cursor = page.next_cursor
            if cursor is None:
                return

    async def list_page(
        self,
        *,
        states: Optional[Iterable[State]] = None,
        ids: Optional[Iterable[Target]] = None,
        changed_since: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Page:
        """One page, with the revision for the next `changed_since` and what was removed."""
        return await self._perform(
            calls.list_page(calls.list_params(states, ids, changed_since, limit, cursor))
        )

    async def list_values(
        self,
        *fields: str,
        states: Optional[Iterable[State]] = None,
        ids: Optional[Iterable[Target]] = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """All downloads as plain dictionaries with wire names; with `fields`, those members only."""
        params = calls.list_params(states, ids, fields=fields or None)
        cursor: Optional[str] = None
        while True:
            values, cursor = await self._perform(calls.list_values(calls.with_cursor(params, cursor)))
            for value in values:
                yield value
            if cursor is None:
                return

    async def remove(self, target: Target, *, delete_file: bool = False) -> None:
        """Removes the record of a completed, failed or canceled download.

        The finished file stays, unless `delete_file` is true and it is still the file that was downloaded.
        """
        await self._perform(calls.remove(target, delete_file))

    async def wait(
        self, target: Target, *, until: Until = "final", timeout: Optional[float] = None
    ) -> Download:
        """Waits until the download is completed, failed or canceled, and returns it; see its `state`.

        With `until="settled"` also until it is paused or needs user action. After `timeout` seconds it raises
        WaitTimedOut.
        """
        return await self._perform(calls.wait(target, until, timeout))

    async def wait_all(
        self,
        targets: Optional[Iterable[Target]] = None,
        *,
        until: Until = "final",
        timeout: Optional[float] = None,
    ) -> StateCounts:
        """Waits for the given downloads (at most 500), or all, and returns how many are in which state."""
        return await self._perform(calls.wait_several(targets, until, timeout))

    async def export(self, target: Target) -> str:
        """A text with which `start(resume_data=…)` continues the download, with any state directory, once."""
        return await self._perform(calls.export(target))

    async def inspect(self, target: Target) -> Inspection:
        """The history of a download: redirects, validators, ranges, attempts, timings."""
        return await self._perform(calls.inspect(target))

    # Events and the service

    def events(self, target: Optional[Target] = None) -> AsyncEvents:
        """The events from now on: `async for event in client.events()`.

        With a download: a Changed with its state now, then its events until it is final. Downloads that this
        client did not start or resume have events only after `subscribe`.
        """
        self._require()
        return AsyncEvents(self, None if target is None else calls.id_of(target))

    async def subscribe(
        self,
        events: Optional[Iterable[Literal["changed", "progress"]]] = None,
        ids: Optional[Iterable[Target]] = None,
        progress_interval: Optional[float] = None,
    ) -> Subscription:
        """Asks for events of downloads that this client did not start or resume; of all without `ids`."""
        return await self._perform(calls.subscribe(events, ids, progress_interval))

    async def unsubscribe(self, subscription: Union[Subscription, str]) -> None:
        """Ends a subscription."""
        await self._perform(calls.unsubscribe(subscription))

    @documented(ConfigureOptions)
    async def configure(self, **options: Unpack[ConfigureOptions]) -> Settings:
        """Changes settings of this client's service, and returns those in force."""
        return await self._perform(calls.configure(**options))

    async def info(self) -> ServiceInfo:
        """What the service is and can do."""
        return await self._perform(calls.info())

    async def ping(self) -> None:
        """Returns when the service has answered."""
        await self._perform(calls.ping())

    async def call(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Any:
        """Any method by its wire name, for what this package does not know; returns the plain result."""
        return await self._perform(calls.other(method, params))


async def _show(events: AsyncEvents, progress: ProgressCallback) -> None:
    async for event in events:
        if isinstance(event, Progress):
            progress(event)
