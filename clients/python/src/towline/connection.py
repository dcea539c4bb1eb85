"""The service as a child of a program with threads: its process, its pipes, and requests over them."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import select
import subprocess
import threading
import time
from collections.abc import Generator, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import IO, Any, Callable, Literal, Optional, TypeVar

from . import calls
from .binary import PathLike
from .calls import Call, ShutdownMode
from .compat import Self
from .core import Core, LineSplitter, service_died
from .errors import AnswerTimedOut, ClientClosed, RPCError, TowlineError
from .options import EventNames
from .process import CHUNK, EXIT_TIMEOUT, GOODBYE, Command, ErrorLog, check_process, keep_detached, spawn

T = TypeVar("T")


class Connection:
    """The service's process, another one after a crash, and requests from any thread."""

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
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._keeper: Optional[threading.Thread] = None
        self._failure: Optional[TowlineError] = None
        self._closing = self._leaving = self._ready = False
        #: Guards the core and all of the above; notified of events, readiness and the end.
        self._changed = threading.Condition(threading.RLock())
        #: Locked while a line is written, so that lines do not mix. Before `_changed`, never after it.
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
        """Ends the service. Unfinished downloads are kept and can be resumed later. Safe to repeat.

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
        """Ends the service; unfinished downloads are kept, first finished, or canceled."""
        if not self._closing:
            self._leaving = True
            self._perform(calls.shutdown(mode), leaving=True)

    @property
    def process_id(self) -> Optional[int]:
        """The process id of the service that runs now; None before and after."""
        process = self._process
        return None if process is None else process.pid

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
        return self._answer(call, self._submit(call))

    def _submit(self, call: Call[T]) -> concurrent.futures.Future[T]:
        """Sends a request as soon as the service takes any."""
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
            return future

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _write(self, process: Optional[subprocess.Popen[bytes]], line: bytes) -> None:
        """Writes a whole line. The reader thread never waits for us, so neither does the service for long."""
        if process is None or process.stdin is None:
            return
        view = memoryview(b"\n" + line if self._torn else line)
        self._torn = True  # until all is written: a KeyboardInterrupt may interrupt it
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
        """Closes the service's input, but not while another thread writes to it."""
        if not self._write_lock.acquire(timeout=1):
            process.kill()  # it reads no more, and the writer waits at a full pipe until it exits
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
        """Nobody waits for the answer any more, after a Ctrl-C or a timeout."""
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
            self._fail(ClientClosed("the client was closed before the answer arrived"))
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
