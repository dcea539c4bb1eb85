"""What both clients share: pending requests, events, what to do after a crash. Does no I/O.

Not thread-safe: the client for threads calls it under a lock, the one for asyncio from its event loop.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections import OrderedDict, deque
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional, Protocol, Union
from weakref import WeakSet

from . import calls
from .calls import Call
from .errors import ProtocolError, RPCError, ServiceDied, TowlineError
from .events import EVENTS, Changed, Event, EventsLost, Progress, Removed, Respawned
from .models import Download, Subscription
from .options import EventNames

#: How many `changed` events wait for a program that does not read them; then they become one EventsLost.
EVENT_LIMIT = 10_000
#: No message of the service is near it; a batch's array may be longer than any other line.
LINE_LIMIT = 64 << 20
#: How many downloads the recovery asks for at once.
RECOVERY_PAGE = 100
#: Crashes within so many seconds after which the client gives up.
CRASH_LIMIT, CRASH_WINDOW = 5, 180.0
#: Exit statuses that a new process would not change: asked to end, usage, state directory, configuration …
LASTING_STATUSES = frozenset({0, 1, 64, 65, 73, 74, 78}) | frozenset(range(128, 256))

logger = logging.getLogger("towline")


class FutureLike(Protocol):
    """What asyncio's and the threads' futures have in common."""

    def done(self) -> bool: ...
    def set_result(self, result: Any, /) -> None: ...
    def set_exception(self, exception: Any, /) -> None: ...
    def cancel(self) -> bool: ...


@dataclass(frozen=True)
class Pending:
    call: Call[Any]
    future: FutureLike
    #: It prepares a process for use: the next process does not need it.
    opening: bool = False


class EndOfEvents(Exception):
    """There are no more events."""


class LineSplitter:
    """Turns chunks into whole lines. One over the limit, which the service never writes, is dropped."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._limit = limit

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._add(line)
            whole, size = b"".join(self._parts), self._size
            self._parts.clear()
            self._size = 0
            if size <= self._limit:
                yield whole
            else:
                logger.error("the service wrote a line of %d bytes; it is not read", size)
        if rest:
            self._add(rest)

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._limit:
            self._parts.append(part)
        else:
            self._parts.clear()


class EventBuffer:
    """The events that wait for one reader: the newest progress of each download, and every change.

    `wake` is called whenever something was put in, or the end was. With a download id it takes the events of
    that download only, and ends after its final one.
    """

    def __init__(
        self, wake: Callable[[], None], target: Optional[str] = None, limit: int = EVENT_LIMIT
    ) -> None:
        self._wake = wake
        self._target = target
        self._limit = limit
        self._events: OrderedDict[Union[int, str], Event] = OrderedDict()
        self._count = 0
        self._lost: Optional[EventsLost] = None
        self._changes = 0
        self._ended = False
        self._error: Optional[TowlineError] = None

    @property
    def target(self) -> Optional[str]:
        return self._target

    def put(self, event: Event) -> None:
        if self._ended:
            return
        if (
            self._target is not None
            and isinstance(event, (Changed, Removed, Progress))
            and event.id != self._target
        ):
            return
        if isinstance(event, Progress):
            self._events.pop(event.id, None)
            self._events[event.id] = event
        else:
            self._changes += 1
            self._count += 1
            self._events[self._count] = event
            if self._changes > self._limit:
                self._lose()
        is_over = isinstance(event, Removed) or (isinstance(event, Changed) and event.download.is_final)
        if self._target is not None and is_over:
            self._ended = True
        self._wake()

    def begin(self, event: Changed) -> None:
        """Makes the present state the first event, and drops older ones."""
        self._events.clear()
        self._changes, self._ended = 0, False
        self.put(event)

    def take(self) -> Optional[Event]:
        """The oldest event; None while there is none. Raises EndOfEvents or an error at the end."""
        if self._lost is not None:
            lost, self._lost = self._lost, None
            return lost
        if self._events:
            _, event = self._events.popitem(last=False)
            self._changes -= not isinstance(event, Progress)
            return event
        if self._error is not None:
            raise self._error
        if self._ended:
            raise EndOfEvents
        return None

    def end(self, error: Optional[TowlineError] = None) -> None:
        """No more events follow; those that wait can still be taken."""
        if not self._ended:
            self._ended, self._error = True, error
        self._wake()

    def _lose(self) -> None:
        """Gives up all that waits, and notes which it was."""
        numbered = [e for e in self._events.values() if isinstance(e, (Changed, Removed))]
        lost = [e.seq for e in numbered]
        session = numbered[-1].session if numbered else ""
        if self._lost:
            session = session or self._lost.session
            lost += [self._lost.from_seq, self._lost.to_seq]
        self._lost = EventsLost(session, min(lost, default=0), max(lost, default=0))
        self._events.clear()
        self._changes = 0


class Core:
    """Everything that a client knows beyond its process and threads or tasks."""

    def __init__(
        self, events: EventNames, progress_interval: Optional[float], resume_interrupted: bool
    ) -> None:
        self._events: EventNames = events
        self._progress_interval = progress_interval
        self._resume_interrupted = resume_interrupted
        self._pending: OrderedDict[int, Pending] = OrderedDict()
        self._repeat: list[Pending] = []
        self._next_id = 1
        self._buffers: WeakSet[EventBuffer] = WeakSet()
        self._own: dict[str, Download] = {}
        self._background: set[str] = set()
        self._configured: dict[str, Any] = {}
        self._subscriptions: dict[str, tuple[Mapping[str, Any], str]] = {}
        self._subscription_count = 0
        self._crashes: deque[float] = deque(maxlen=CRASH_LIMIT)
        self.revision = 0
        self.session = ""
        self.seq = 0

    # Requests

    def begin(self, call: Call[Any], future: FutureLike, *, opening: bool = False) -> bytes:
        """Notes that the call waits, and returns the line to write."""
        number = self._next_id
        self._next_id += 1
        self._pending[number] = Pending(call, future, opening)
        params = dict(call.params)
        if call.method == "unsubscribe":
            known = self._subscriptions.get(params["subscription"])
            params["subscription"] = known[1] if known else params["subscription"]
        return _line({"jsonrpc": "2.0", "id": number, "method": call.method, "params": params})

    def abandon(self, future: FutureLike) -> Optional[bytes]:
        """Forgets a call that nobody waits for any more; returns a line for the service, if it matters."""
        for number, pending in self._pending.items():
            if pending.future is future:
                # Its answer is still read, so that the states in it are not lost.
                if pending.call.long:
                    return _line({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
                return None
        return None

    def receive(self, line: bytes) -> None:
        """Takes one line of the service: settles the call that it answers, or hands an event on."""
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except ValueError:
            logger.error("the service wrote a line that is not JSON: %.200r", line)
            return
        if not isinstance(message, dict):
            logger.error("the service wrote what is no message: %.200r", line)
        elif "method" in message:
            self._event(message["method"], message.get("params"))
        else:
            self._answer(message)

    def _answer(self, message: Mapping[str, Any]) -> None:
        number = message.get("id")
        pending = self._pending.pop(number, None) if isinstance(number, int) else None
        if pending is None:
            if "error" in message:
                logger.error("the service answered nobody with %.500r", message["error"])
            return
        try:
            if isinstance(message.get("error"), dict):
                raise RPCError.from_wire(message["error"])
            result = self._read(pending.call, message.get("result"))
        except TowlineError as error:
            if not pending.future.done():
                pending.future.set_exception(error)
        except (KeyError, TypeError, ValueError) as error:
            if not pending.future.done():
                pending.future.set_exception(ProtocolError(f"{pending.call.method}: {error!r}"))
        else:
            if not pending.future.done():
                pending.future.set_result(result)

    def _read(self, call: Call[Any], result: Any) -> Any:
        if isinstance(result, dict):
            self._note_all(result)
            asked, shown = call.params.get("id"), result.get("download")
            if asked is not None and isinstance(shown, dict) and shown.get("id") != asked:
                raise ProtocolError(f"{call.method}: the answer shows {shown.get('id')!r}, not {asked!r}")
        read = call.read(result)
        if call.method == "start" and call.params.get("background"):
            self._background.add(read.id)
        elif call.method == "configure":
            self._configured.update(call.params)
        elif call.method == "subscribe" and isinstance(read, Subscription):
            self._subscription_count += 1
            key = f"subscription-{self._subscription_count}"
            self._subscriptions[key] = (call.params, read.id)
            return replace(read, id=key)
        elif call.method == "unsubscribe":
            self._subscriptions.pop(call.params["subscription"], None)
        return read

    def _note_all(self, result: Mapping[str, Any]) -> None:
        """Learns from every Download in an answer which ones this service runs."""
        downloads = result.get("downloads")
        for value in [result.get("download"), *(downloads if isinstance(downloads, list) else [])]:
            if isinstance(value, dict) and "owner" in value:
                with contextlib.suppress(ProtocolError):
                    self._note(Download.from_wire(value))

    def _note(self, download: Download) -> None:
        self.revision = max(self.revision, download.revision)
        if download.owner == "self" and not download.is_final:
            self._own[download.id] = download
        else:
            self._own.pop(download.id, None)
            self._background.discard(download.id)

    def leaves_work(self, on_host_exit: Optional[str]) -> bool:
        """Whether the service continues to work without its client."""
        if on_host_exit is not None:
            return on_host_exit == "finish" and bool(self._own)
        return any(known in self._background for known in self._own)

    # Events

    def buffer(self, wake: Callable[[], None], target: Optional[str] = None) -> EventBuffer:
        """A new reader of events. It is forgotten when its owner is."""
        made = EventBuffer(wake, target)
        self._buffers.add(made)
        return made

    def current(self, buffer: EventBuffer) -> Call[Download]:
        """The `get` with which a reader of one download begins."""
        call = calls.get(buffer.target or "")

        def read(result: Any) -> Download:
            download = call.read(result)
            buffer.begin(Changed(self.session, self.seq, download))
            return download

        return replace(call, read=read)

    def publish(self, event: Event) -> None:
        for buffer in list(self._buffers):
            buffer.put(event)

    def end_events(self, error: Optional[TowlineError] = None) -> None:
        for buffer in list(self._buffers):
            buffer.end(error)

    def _event(self, method: Any, params: Any) -> None:
        kind = EVENTS.get(method)
        if kind is None:
            return  # of a later version
        try:
            event = kind.from_wire(params)
        except ProtocolError as error:
            logger.error("the service sent a %r that cannot be read: %s", method, error)
            return
        if isinstance(event, Changed):
            self.seq = event.seq
            self._note(event.download)
        self.publish(event)

    # The end of a process

    def may_respawn(self, status: int, now: float) -> bool:
        """Whether another process would do better, and the crashes are not too many."""
        if status in LASTING_STATUSES:
            return False
        self._crashes.append(now)
        return len(self._crashes) < CRASH_LIMIT or now - self._crashes[0] > CRASH_WINDOW

    def died(self, error: Callable[[], TowlineError], respawn: bool) -> None:
        """Fails the calls that will not be answered, or keeps them to be sent again."""
        for pending in self._pending.values():
            if pending.future.done():
                continue
            if respawn and pending.call.repeatable:
                self._repeat.append(pending)
            else:
                pending.future.set_exception(error())
        self._pending.clear()
        if not respawn:
            for pending in self._repeat:
                if not pending.future.done():
                    pending.future.set_exception(error())
            self._repeat.clear()

    def drop_opening(self) -> None:
        """Cancels what waits for the process that did not live to be used."""
        for pending in self._pending.values():
            if pending.opening:
                pending.future.cancel()

    def take_repeats(self) -> list[bytes]:
        """The lines that ask again what the dead process did not answer."""
        repeats, self._repeat = self._repeat, []
        return [self.begin(p.call, p.future) for p in repeats if not p.future.done()]

    def begin_session(self) -> Generator[Call[Any], Any, None]:
        """The calls of a fresh process before it is used. Each is sent the result of the last."""
        info = yield calls.initialize(self._events, self._progress_interval, self._resume_interrupted)
        self.session = info.session

    def recovery(self, status: int) -> Generator[Call[Any], Any, None]:
        """The calls that give a new process the settings and downloads of the one that crashed."""
        own, since = dict(self._own), self.revision
        # Only what the crashed process ran is resumed; `resume_interrupted` was for the start.
        info = yield calls.initialize(self._events, self._progress_interval, False)
        self.session, self.seq = info.session, 0
        if self._configured:
            yield calls.other("configure", self._configured)
        for key, (params, _) in list(self._subscriptions.items()):
            made = yield calls.other("subscribe", params)
            self._subscriptions[key] = (params, made["subscription"])

        found: dict[str, Download] = {}
        with contextlib.suppress(RPCError):  # a store that was replaced knows no such revision
            found = yield from _all_pages(calls.list_params(changed_since=since, limit=RECOVERY_PAGE))
        # An interruption writes nothing, so a record that only lost its process has no newer revision.
        missing = [known for known in own if known not in found]
        for first in range(0, len(missing), RECOVERY_PAGE):
            ids = missing[first : first + RECOVERY_PAGE]
            found.update((yield from _all_pages(calls.list_params(ids=ids, limit=RECOVERY_PAGE))))

        again = [d.id for d in found.values() if d.id in own and d.is_interrupted and d.owner == "none"]
        self.publish(Respawned(self.session, status, tuple(again)))
        for download in found.values():
            self.publish(Changed(self.session, self.seq, download))
        for known in again:
            with contextlib.suppress(RPCError):  # another process may have been quicker
                yield calls.change("resume", known)


def _all_pages(params: Mapping[str, Any]) -> Generator[Call[Any], Any, dict[str, Download]]:
    found: dict[str, Download] = {}
    while True:
        page = yield calls.list_page(params)
        found.update((d.id, d) for d in page.downloads)
        if page.next_cursor is None:
            return found
        params = {**params, "cursor": page.next_cursor}


def service_died(status: Optional[int], stderr: str) -> ServiceDied:
    """The exception that says how the process ended."""
    if status is None:
        how = "the service closed its output"
    elif status < 0:
        how = f"the service was ended by signal {-status}"
    else:
        how = f"the service ended with status {status}"
    return ServiceDied(how, status=status, stderr=stderr)


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
