"""The asynchronous face: the service as a child of an asyncio program."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Generator, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Optional, TypeVar, Union

from . import calls
from .binary import PathLike
from .calls import Call, EventNames, ShutdownMode, StartOptions, Target, Until
from .child import Child, drain_reader, read_lines
from .core import Core, EndOfEvents, service_died
from .errors import AnswerTimedOut, ClientClosed, RPCError, TowlineError
from .models import (
    BulkOutcome,
    Download,
    Event,
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
from .process import EXIT_TIMEOUT, GOODBYE, Command, ErrorLog, check_process

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from .calls import ConfigureOptions, UpdateOptions

T = TypeVar("T")


class AsyncEvents(AsyncIterator[Event]):
    """A stream of events; it ends with the client, or with its download. Events come from its making on."""

    def __init__(self, client: AsyncTowline, target: Optional[str]) -> None:
        self._client = client
        self._awake = asyncio.Event()
        self._buffer = client._core.buffer(self._awake.set, target)
        self._asked = target is None

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


class AsyncTowline:
    """A download service of this program's own, as an asynchronous context manager.

    ```
    async with AsyncTowline() as client:
        download = await client.fetch("https://example.org/file.iso", directory="~/Downloads")
    ```

    `app` keeps this program's downloads apart from others'; `state_dir` names the place itself.
    With `respawn` a crash of the service is mended: interrupted downloads go on, and requests that are safe
    to repeat are. Leaving the block ends the service within about a second; unfinished downloads are kept
    and go on by the same `start`, by `resume`, or with `resume_interrupted`. To be used from one event loop.
    """

    def __init__(
        self,
        binary: Optional[PathLike] = None,
        *,
        app: Optional[str] = None,
        state_dir: Optional[PathLike] = None,
        roots: Iterable[PathLike] = (),
        on_host_exit: Optional[Literal["finish", "suspend"]] = None,
        args: Iterable[str] = (),
        env: Optional[Mapping[str, str]] = None,
        events: EventNames = "all",
        progress_interval_ms: Optional[int] = None,
        resume_interrupted: bool = False,
        respawn: bool = True,
        answer_timeout: Optional[float] = 60.0,
    ) -> None:
        self._owner = os.getpid()
        self._command = Command.build(binary, app, state_dir, roots, on_host_exit, args, env)
        self._core = Core(events, progress_interval_ms, resume_interrupted)
        self._on_host_exit = on_host_exit
        self._respawn = respawn
        self._answer_timeout = answer_timeout
        self._child: Optional[Child] = None
        self._keeper: Optional[asyncio.Task[None]] = None
        self._failure: Optional[TowlineError] = None
        self._closing = self._leaving = False

    # Life

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Starts the service; the context manager does it by itself. May be called once."""
        if self._keeper is not None or self._closing:
            raise ClientClosed("a client is opened once; make another")
        self._write_lock = asyncio.Lock()
        self._ready = asyncio.Event()
        self._keeper = asyncio.ensure_future(self._keep())
        try:
            await self._ready.wait()
            if self._failure is not None:
                raise self._failure
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Ends the service. Unfinished downloads stay as they are and can go on later. Safe to repeat.

        A service with `on_host_exit="finish"`, or with background downloads, finishes those by itself.
        """
        if os.getpid() != self._owner:
            return  # a forked copy: the service is the other process's
        self._closing = True
        keeper = self._keeper
        if keeper is None:
            return
        while self._child is None and not keeper.done():
            await asyncio.wait([keeper], timeout=0.01)
        if self._core.leaves_work(self._on_host_exit):
            await self._leave(keeper)
        else:
            await self._end(keeper)
        self._fail(ClientClosed("the client is closed"))

    async def _end(self, keeper: asyncio.Task[None]) -> None:
        """Asks the service to end and closes its input; kills it only if it heeds neither."""
        child = self._child
        drains: list[asyncio.Future[None]] = []
        try:
            if child is not None:
                child.send(GOODBYE)
                child.close_input()
            await asyncio.wait([keeper], timeout=EXIT_TIMEOUT)
            if child is not None and keeper.done() and child.status is None:
                # The reader was cancelled before us, as asyncio.run does it before Python 3.11.
                drains = [asyncio.ensure_future(drain_reader(s)) for s in (child.stdout, child.stderr)]
                await asyncio.wait(drains, timeout=EXIT_TIMEOUT)
                await asyncio.wait_for(child.wait(), EXIT_TIMEOUT)
        finally:
            for left in (child, self._child):
                if left is not None and left.status is None:
                    left.kill()
            for task in drains:
                task.cancel()
            await asyncio.wait([keeper, *drains], timeout=EXIT_TIMEOUT)
            if child is not None:
                child.close_pipes()

    async def _leave(self, keeper: asyncio.Task[None]) -> None:
        """Goes without the service, which finishes its downloads."""
        keeper.cancel()
        await asyncio.wait([keeper])
        if self._child is not None:
            self._child.detach()

    async def shutdown(self, mode: ShutdownMode = "suspend") -> None:
        """Brings the work to an end first: `finish` waits for all downloads, `cancel` gives them up."""
        if not self._closing:
            self._leaving = True
            await self._perform(calls.shutdown(mode), leaving=True)

    @property
    def process_id(self) -> Optional[int]:
        """Of the service that runs now."""
        return None if self._child is None else self._child.pid

    # Downloads

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

        Idempotent: the same start finds the same download, and an interrupted one goes on. With `resume_data`
        the URL and the destination may be left out: they are those of the exported download.
        """
        return await self._perform(calls.start(url, path, directory, file_name, **options))

    async def fetch(
        self,
        url: str,
        path: Optional[PathLike] = None,
        *,
        directory: Optional[PathLike] = None,
        file_name: Optional[str] = None,
        **options: Unpack[StartOptions],
    ) -> Download:
        """`start`, `wait`, and DownloadFailed unless the file is there at the end."""
        started = await self.start(url, path, directory=directory, file_name=file_name, **options)
        return (await self.wait(started)).raise_unless_completed()

    async def pause(self, target: Target) -> Outcome:
        """Stops a download and keeps what is there. It stays paused until it is resumed."""
        return await self._perform(calls.change("pause", target))

    async def resume(self, target: Target) -> Outcome:
        """Lets a paused, waiting or failed download go on."""
        return await self._perform(calls.change("resume", target))

    async def cancel(self, target: Target, *, delete_partial: bool = True) -> Outcome:
        """Gives a download up for good."""
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
        """Forgets a download in a final state; the file is deleted only if it is still the same."""
        await self._perform(calls.remove(target, delete_file))

    async def wait(
        self, target: Target, *, until: Until = "final", timeout: Optional[float] = None
    ) -> Download:
        """Waits until the download has ended (or `settled`: also paused, or waiting for the user).

        `timeout` is in seconds, and WaitTimedOut comes after it. How the download ended is in the answer.
        """
        return await self._perform(calls.wait(target, until, timeout))

    async def wait_all(
        self,
        targets: Optional[Iterable[Target]] = None,
        *,
        until: Until = "final",
        timeout: Optional[float] = None,
    ) -> StateCounts:
        """Waits for the given downloads (at most 500), or all, and tells how many are in which state."""
        return await self._perform(calls.wait_several(targets, until, timeout))

    async def export(self, target: Target) -> str:
        """What `start(resume_data=…)` continues the download from, with any state directory, once."""
        return await self._perform(calls.export(target))

    async def inspect(self, target: Target) -> Inspection:
        """The download's trail: redirects, validators, ranges, attempts, timings."""
        return await self._perform(calls.inspect(target))

    # Events and the service

    def events(self, target: Optional[Target] = None) -> AsyncEvents:
        """The events from now on: `async for event in client.events()`.

        With a download: its state now as a Changed, then its events, until it is final. Of downloads that
        this client did not start or resume there are events only after `subscribe`.
        """
        self._require()
        return AsyncEvents(self, None if target is None else calls.id_of(target))

    async def subscribe(
        self,
        events: Optional[Iterable[Literal["changed", "progress"]]] = None,
        ids: Optional[Iterable[Target]] = None,
        progress_interval_ms: Optional[int] = None,
    ) -> Subscription:
        """Asks for events of downloads that this client did not start or resume."""
        return await self._perform(calls.subscribe(events, ids, progress_interval_ms))

    async def unsubscribe(self, subscription: Union[Subscription, str]) -> None:
        """Ends a subscription."""
        await self._perform(calls.unsubscribe(subscription))

    async def configure(self, **options: Unpack[ConfigureOptions]) -> Settings:
        """Sets what holds for this client's service, and tells what is in force."""
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

    # Inside

    def _require(self) -> None:
        check_process(self._owner)
        if self._keeper is None:
            raise ClientClosed("the client is not open: use it in `async with`")
        if self._failure is not None:
            raise self._failure

    async def _perform(self, call: Call[T], *, leaving: bool = False) -> T:
        self._require()
        if self._closing or (self._leaving and not leaving):
            raise ClientClosed("the client is closed")
        while True:
            await self._ready.wait()
            async with self._write_lock:
                if self._failure is not None:
                    raise self._failure
                if self._ready.is_set():
                    future = await self._send(call)
                    break
        return await self._answer(call, future)

    async def _send(self, call: Call[Any]) -> asyncio.Future[Any]:
        """Writes a request. Under the lock: before Python 3.11 only one task may await a drain."""
        future = asyncio.get_running_loop().create_future()
        try:
            await self._write(self._core.begin(call, future))
        except BaseException:
            future.cancel()
            raise
        return future

    async def _write(self, line: bytes) -> None:
        if self._child is not None:
            self._child.send(line)
            await self._child.drain()

    async def _answer(self, call: Call[T], future: asyncio.Future[T]) -> T:
        timeout = None if call.long else self._answer_timeout
        try:
            done, _ = await asyncio.wait([future], timeout=timeout)
            if not done:
                raise AnswerTimedOut(f"the service did not answer {call.method} within {timeout} s")
            return future.result()
        except (asyncio.CancelledError, AnswerTimedOut):
            note = self._core.abandon(future)
            future.cancel()
            if note is not None and self._child is not None and not self._closing:
                self._child.send(note)
            raise

    async def _keep(self) -> None:
        """Runs the service, and another one after a crash, until the client is closed."""
        status: Optional[int] = None
        log = ErrorLog()
        try:
            while True:
                try:
                    child = self._child = await Child.spawn(self._command)
                except OSError as error:
                    self._fail(service_died(None, str(error)))
                    return
                plan = self._core.begin_session() if status is None else self._core.recovery(status)
                status, log = await self._attend(child, plan)
                self._ready.clear()
                if self._closing or self._leaving or not self._respawn:
                    break
                if not self._core.may_respawn(status, time.monotonic()):
                    break
                self._core.died(partial(service_died, status, log.tail), respawn=True)
            if self._closing:
                self._fail(ClientClosed("the client was closed before the answer came"))
            else:
                self._fail(service_died(status, log.tail))
        except BaseException:
            self._fail(ClientClosed("the client was cancelled"))
            raise

    async def _attend(self, child: Child, plan: Generator[Call[Any], Any, None]) -> tuple[int, ErrorLog]:
        """Reads a process to its end, and meanwhile carries the plan out and lets requests through."""
        log = ErrorLog()
        errors = asyncio.ensure_future(read_lines(child.stderr, log.line))
        opening = asyncio.ensure_future(self._carry_out(child, plan))
        try:
            if self._closing:
                child.close_input()
            await read_lines(child.stdout, self._core.receive)
            # The output may end before the process does; nothing can be asked of it any more.
            child.close_input()
            status = await child.wait()
            await asyncio.wait([errors], timeout=1)
            child.close_pipes()
            return status, log
        finally:
            opening.cancel()
            errors.cancel()
            await asyncio.gather(opening, errors, return_exceptions=True)

    async def _carry_out(self, child: Child, plan: Generator[Call[Any], Any, None]) -> None:
        try:
            call = next(plan)
            while True:
                async with self._write_lock:
                    future = await self._send(call)
                try:
                    result = await self._answer(call, future)
                except RPCError as error:
                    call = plan.throw(error)
                else:
                    call = plan.send(result)
        except StopIteration:
            async with self._write_lock:
                for line in self._core.take_repeats():
                    await self._write(line)
                self._ready.set()
        except TowlineError as error:
            self._fail(error)
            child.close_input()

    def _fail(self, error: TowlineError) -> None:
        """The end of everything: whatever waits, and whatever is asked later, gets the error."""
        if self._failure is not None:
            return
        self._failure = error
        self._core.died(lambda: error, respawn=False)
        self._core.end_events(None if self._closing or self._leaving else error)
        if self._keeper is not None:
            self._ready.set()
