"""The service as a child of an asyncio program: its process, its pipes, and requests over them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Generator, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Literal, Optional, TypeVar

from . import calls
from .binary import PathLike
from .calls import Call, ShutdownMode
from .child import Child, drain_reader, read_lines
from .compat import Self
from .core import Core, service_died
from .errors import AnswerTimedOut, ClientClosed, RPCError, TowlineError
from .options import EventNames
from .process import EXIT_TIMEOUT, GOODBYE, Command, ErrorLog, check_process

T = TypeVar("T")


class AsyncConnection:
    """The service's process, another one after a crash, and requests from one event loop."""

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
        progress_interval: Optional[float] = None,
        resume_interrupted: bool = False,
        respawn: bool = True,
        answer_timeout: Optional[float] = 60.0,
    ) -> None:
        """Takes its settings; the service is started by `open`, or by the `with` block.

        binary: the service to run (default: `TOWLINE` in the environment, the one in the wheel, or in PATH)
        app: keep these downloads apart from those of other names
        state_dir: where records are kept, instead of the place that `app` has
        roots: directories outside which nothing is written
        on_host_exit: "finish" lets downloads continue after the client is closed
        args: more options of the service's command line
        env: the service's environment (default: this program's)
        events: which events to send of downloads unless `start` says otherwise
        progress_interval: seconds between two Progress events of a download (default: 0.25)
        resume_interrupted: resume all that was interrupted
        respawn: start the service again after a crash
        answer_timeout: seconds after which a request that is not answered raises AnswerTimedOut
        """
        self._owner = os.getpid()
        self._command = Command.build(binary, app, state_dir, roots, on_host_exit, args, env)
        self._core = Core(events, progress_interval, resume_interrupted)
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
        """Ends the service. Unfinished downloads are kept and can be resumed later. Safe to repeat.

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
        """Asks the service to end and closes its input; kills it only if it reacts to neither."""
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
        """Leaves the service, which finishes its downloads."""
        keeper.cancel()
        await asyncio.wait([keeper])
        if self._child is not None:
            self._child.detach()

    async def shutdown(self, mode: ShutdownMode = "suspend") -> None:
        """Ends the service; unfinished downloads are kept, first finished, or canceled."""
        if not self._closing:
            self._leaving = True
            await self._perform(calls.shutdown(mode), leaving=True)

    @property
    def process_id(self) -> Optional[int]:
        """The process id of the service that runs now; None before and after."""
        return None if self._child is None else self._child.pid

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
                self._fail(ClientClosed("the client was closed before the answer arrived"))
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
