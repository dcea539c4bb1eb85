"""The synchronous face: the service as a child of a program with threads, or without."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import select
import subprocess
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from functools import partial
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Callable, Literal, Optional, TypeVar, Union

from . import calls
from .binary import PathLike
from .calls import Call, EventNames, ShutdownMode, StartOptions, Target, Until
from .core import Core, EndOfEvents, LineSplitter, service_died
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
from .process import CHUNK, EXIT_TIMEOUT, GOODBYE, Command, ErrorLog, check_process, keep_detached, spawn

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from .calls import ConfigureOptions, UpdateOptions

T = TypeVar("T")


class Events(Iterator[Event]):
    """A stream of events; it ends with the client, or with its download. Events come from its making on."""

    def __init__(self, client: Towline, target: Optional[str]) -> None:
        self._client = client
        with client._changed:
            self._buffer = client._core.buffer(client._changed.notify_all, target)
        self._asked = target is None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        event = self._take(None)
        assert event is not None
        return event

    def poll(self, timeout: float = 0.0) -> Optional[Event]:
        """The next event, or None if none comes within so many seconds or the stream has ended."""
        try:
            return self._take(timeout)
        except StopIteration:
            return None

    def _take(self, timeout: Optional[float]) -> Optional[Event]:
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
                if event is not None or (left is not None and left <= 0):
                    return event
                self._client._changed.wait(left)


class Towline:
    """A download service of this program's own, as a context manager. Thread-safe.

    ```
    with Towline() as client:
        download = client.fetch("https://example.org/file.iso", directory="~/Downloads")
    ```

    `app` keeps this program's downloads apart from others'; `state_dir` names the place itself.
    With `respawn` a crash of the service is mended: interrupted downloads go on, and requests that are safe
    to repeat are. Leaving the block ends the service within about a second; unfinished downloads are kept
    and go on by the same `start`, by `resume`, or with `resume_interrupted`.
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
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._keeper: Optional[threading.Thread] = None
        self._failure: Optional[TowlineError] = None
        self._closing = self._leaving = self._ready = False
        #: Guards the core and all of the above; told of events, readiness and the end.
        self._changed = threading.Condition(threading.RLock())
        #: Held while a line is written, so that lines do not mix. Taken before `_changed`, never after it.
        self._write_lock = threading.Lock()
        self._torn = False

    # Life

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def open(self) -> None:
        """Starts the service; the context manager does it by itself. May be called once."""
        check_process(self._owner)
        with self._changed:
            if self._keeper is not None or self._closing:
                raise ClientClosed("a client is opened once; make another")
            self._keeper = threading.Thread(target=self._keep, name="towline", daemon=True)
            self._keeper.start()
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._ready or self._failure is not None)
                if self._failure is not None:
                    raise self._failure
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the service. Unfinished downloads stay as they are and can go on later. Safe to repeat.

        A service with `on_host_exit="finish"`, or with background downloads, finishes those by itself.
        """
        if os.getpid() != self._owner:
            return  # a forked copy: the service is the other process's
        with self._changed:
            self._closing = True
            keeper, process = self._keeper, self._process
            leave = self._core.leaves_work(self._on_host_exit)
        if keeper is None:
            return
        try:
            if process is not None:
                if not leave:
                    self._say_goodbye(process)
                self._close_input(process)
            if not leave:
                keeper.join(EXIT_TIMEOUT)
        finally:
            process = self._process
            if process is not None and leave:
                keep_detached(process)
            elif process is not None and keeper.is_alive():
                process.terminate()
                keeper.join(EXIT_TIMEOUT / 2)
                process.kill()
            if not leave:
                keeper.join(EXIT_TIMEOUT)
            self._fail(ClientClosed("the client is closed"))

    def shutdown(self, mode: ShutdownMode = "suspend") -> None:
        """Brings the work to an end first: `finish` waits for all downloads, `cancel` gives them up."""
        if not self._closing:
            self._leaving = True
            self._perform(calls.shutdown(mode), leaving=True)

    @property
    def process_id(self) -> Optional[int]:
        """Of the service that runs now."""
        process = self._process
        return None if process is None else process.pid

    # Downloads

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

        Idempotent: the same start finds the same download, and an interrupted one goes on. With `resume_data`
        the URL and the destination may be left out: they are those of the exported download.
        """
        return self._perform(calls.start(url, path, directory, file_name, **options))

    def fetch(
        self,
        url: str,
        path: Optional[PathLike] = None,
        *,
        directory: Optional[PathLike] = None,
        file_name: Optional[str] = None,
        **options: Unpack[StartOptions],
    ) -> Download:
        """`start`, `wait`, and DownloadFailed unless the file is there at the end."""
        started = self.start(url, path, directory=directory, file_name=file_name, **options)
        return (self.wait(started)).raise_unless_completed()

    def pause(self, target: Target) -> Outcome:
        """Stops a download and keeps what is there. It stays paused until it is resumed."""
        return self._perform(calls.change("pause", target))

    def resume(self, target: Target) -> Outcome:
        """Lets a paused, waiting or failed download go on."""
        return self._perform(calls.change("resume", target))

    def cancel(self, target: Target, *, delete_partial: bool = True) -> Outcome:
        """Gives a download up for good."""
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
        """Forgets a download in a final state; the file is deleted only if it is still the same."""
        self._perform(calls.remove(target, delete_file))

    def wait(self, target: Target, *, until: Until = "final", timeout: Optional[float] = None) -> Download:
        """Waits until the download has ended (or `settled`: also paused, or waiting for the user).

        `timeout` is in seconds, and WaitTimedOut comes after it. How the download ended is in the answer.
        """
        return self._perform(calls.wait(target, until, timeout))

    def wait_all(
        self,
        targets: Optional[Iterable[Target]] = None,
        *,
        until: Until = "final",
        timeout: Optional[float] = None,
    ) -> StateCounts:
        """Waits for the given downloads (at most 500), or all, and tells how many are in which state."""
        return self._perform(calls.wait_several(targets, until, timeout))

    def export(self, target: Target) -> str:
        """What `start(resume_data=…)` continues the download from, with any state directory, once."""
        return self._perform(calls.export(target))

    def inspect(self, target: Target) -> Inspection:
        """The download's trail: redirects, validators, ranges, attempts, timings."""
        return self._perform(calls.inspect(target))

    # Events and the service

    def events(self, target: Optional[Target] = None) -> Events:
        """The events from now on: `for event in client.events()`.

        With a download: its state now as a Changed, then its events, until it is final. Of downloads that
        this client did not start or resume there are events only after `subscribe`.
        """
        self._require()
        return Events(self, None if target is None else calls.id_of(target))

    def subscribe(
        self,
        events: Optional[Iterable[Literal["changed", "progress"]]] = None,
        ids: Optional[Iterable[Target]] = None,
        progress_interval_ms: Optional[int] = None,
    ) -> Subscription:
        """Asks for events of downloads that this client did not start or resume."""
        return self._perform(calls.subscribe(events, ids, progress_interval_ms))

    def unsubscribe(self, subscription: Union[Subscription, str]) -> None:
        """Ends a subscription."""
        self._perform(calls.unsubscribe(subscription))

    def configure(self, **options: Unpack[ConfigureOptions]) -> Settings:
        """Sets what holds for this client's service, and tells what is in force."""
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

    # Inside

    def _require(self) -> None:
        check_process(self._owner)
        if self._keeper is None:
            raise ClientClosed("the client is not open: use it in `with`")
        if self._failure is not None:
            raise self._failure

    def _perform(self, call: Call[T], *, leaving: bool = False) -> T:
        self._require()
        if self._closing or (self._leaving and not leaving):
            raise ClientClosed("the client is closed")
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ready or self._failure is not None)
            with self._write_lock:
                with self._changed:
                    if self._failure is not None:
                        raise self._failure
                    if not self._ready:
                        continue
                    line, process = self._core.begin(call, future), self._process
                self._write(process, line)
            return self._answer(call, future)

    def _write(self, process: Optional[subprocess.Popen[bytes]], line: bytes) -> None:
        """Writes a whole line. The reader thread never waits for us, so neither does the service for long."""
        if process is None or process.stdin is None:
            return
        view = memoryview(b"\n" + line if self._torn else line)
        self._torn = True  # until all is out: a KeyboardInterrupt may come between
        with contextlib.suppress(OSError, ValueError):  # the reader notices the end and settles the calls
            while view:
                view = view[process.stdin.write(view) or 0 :]
        self._torn = False

    def _say_goodbye(self, process: subprocess.Popen[bytes]) -> None:
        """Asks the service to end. Not where its pipe is full: then only a signal reaches it."""
        if not self._write_lock.acquire(timeout=1):
            return
        try:
            with contextlib.suppress(OSError, ValueError):
                if process.stdin is not None and select.select([], [process.stdin], [], 0)[1]:
                    self._write(process, GOODBYE)
        finally:
            self._write_lock.release()

    def _close_input(self, process: subprocess.Popen[bytes]) -> None:
        """Closes the service's input, but not under the hands of a thread that writes to it."""
        if not self._write_lock.acquire(timeout=1):
            process.kill()  # it reads no more, and the writer hangs in a full pipe until it is gone
            self._write_lock.acquire()
        try:
            _close(process.stdin)
        finally:
            self._write_lock.release()

    def _answer(self, call: Call[T], future: concurrent.futures.Future[T]) -> T:
        timeout = None if call.long else self._answer_timeout
        try:
            return future.result(timeout)
        except concurrent.futures.TimeoutError:
            if future.done():
                raise  # the answer itself: a wait that timed out
            raise AnswerTimedOut(f"the service did not answer {call.method} within {timeout} s") from None
        finally:
            if not future.done():
                self._abandon(future)

    def _abandon(self, future: concurrent.futures.Future[Any]) -> None:
        """Nobody waits for the answer any more: a Ctrl-C, or it took too long."""
        with self._changed:
            note, process = self._core.abandon(future), self._process
            future.cancel()
        if note is not None and not self._closing and self._write_lock.acquire(timeout=0.1):
            try:
                self._write(process, note)
            finally:
                self._write_lock.release()

    def _keep(self) -> None:
        """Runs the service, and another one after a crash, until the client is closed."""
        status: Optional[int] = None
        log = ErrorLog()
        try:
            while True:
                process = self._spawn()
                plan = self._core.begin_session() if status is None else self._core.recovery(status)
                status, log = self._attend(process, plan)
                with self._changed:
                    self._ready = False
                    if self._closing or self._leaving or not self._respawn:
                        break
                    if not self._core.may_respawn(status, time.monotonic()):
                        break
                    self._core.died(partial(service_died, status, log.tail), respawn=True)
        except OSError as error:
            self._fail(service_died(None, str(error)))
            return
        if self._closing:
            self._fail(ClientClosed("the client was closed before the answer came"))
        else:
            self._fail(service_died(status, log.tail))

    def _spawn(self) -> subprocess.Popen[bytes]:
        process = spawn(self._command)
        with self._changed:
            self._process, self._torn = process, False
            closing = self._closing
        if closing:
            self._close_input(process)
        return process

    def _attend(
        self, process: subprocess.Popen[bytes], plan: Generator[Call[Any], Any, None]
    ) -> tuple[int, ErrorLog]:
        """Reads a process to its end, while another thread carries the plan out and lets requests through."""
        log = ErrorLog()
        errors = threading.Thread(
            target=_read_lines, args=(process.stderr, log.line), name="towline-stderr", daemon=True
        )
        opening = threading.Thread(
            target=self._carry_out, args=(process, plan), name="towline-opening", daemon=True
        )
        errors.start()
        opening.start()
        _read_lines(process.stdout, self._receive)
        # The output may end before the process does; nothing can be asked of it any more.
        with self._changed:
            self._ready = False
        self._close_input(process)
        status = process.wait()
        with self._changed:
            self._core.drop_opening()
        opening.join()
        errors.join(1)
        _close(process.stdout)
        if not errors.is_alive():
            _close(process.stderr)
        return status, log

    def _receive(self, line: bytes) -> None:
        with self._changed:
            self._core.receive(line)

    def _carry_out(self, process: subprocess.Popen[bytes], plan: Generator[Call[Any], Any, None]) -> None:
        try:
            with self._changed:
                call = next(plan)
            while True:
                future: concurrent.futures.Future[Any] = concurrent.futures.Future()
                with self._write_lock:
                    with self._changed:
                        line = self._core.begin(call, future, opening=True)
                    self._write(process, line)
                try:
                    result = self._answer(call, future)
                except RPCError as error:
                    with self._changed:
                        call = plan.throw(error)
                else:
                    with self._changed:
                        call = plan.send(result)
        except StopIteration:
            with self._write_lock:
                with self._changed:
                    lines = self._core.take_repeats()
                for line in lines:
                    self._write(process, line)
                with self._changed:
                    self._ready = process.poll() is None
                    self._changed.notify_all()
        except concurrent.futures.CancelledError:
            pass  # the process died meanwhile
        except TowlineError as error:
            self._fail(error)
            self._close_input(process)

    def _fail(self, error: TowlineError) -> None:
        """The end of everything: whatever waits, and whatever is asked later, gets the error."""
        with self._changed:
            if self._failure is None:
                self._failure = error
                self._core.died(lambda: error, respawn=False)
                self._core.end_events(None if self._closing or self._leaving else error)
            self._changed.notify_all()


def _read_lines(stream: Optional[IO[bytes]], take: Callable[[bytes], None]) -> None:
    assert stream is not None
    splitter = LineSplitter()
    with contextlib.suppress(OSError, ValueError):
        while chunk := os.read(stream.fileno(), CHUNK):
            for line in splitter.feed(chunk):
                take(line)


def _close(stream: Optional[IO[bytes]]) -> None:
    if stream is not None:
        with contextlib.suppress(OSError):
            stream.close()
