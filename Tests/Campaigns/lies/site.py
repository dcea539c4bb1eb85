"""One case's file on the server: honest until the interruption, then as the case says."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

from .honest import Manner, Version
from .table import AFTER, EVERY, Ask, Lie
from .wire import Answer, Request, Stop


@dataclass
class CaseSite:
    """Answers for all paths under `/key/`; called by the server's threads."""

    key: str
    old: Version
    now: Version
    manner: Manner
    lie: Lie | None
    #: The lie is told each time, not only once.
    always: bool
    #: The origin of another host with the file.
    mirror: str
    #: Where the first answer with the file stops; None: nowhere.
    first_stop: Stop | None = None
    first_framing: str | None = None
    #: Where the first answer with a body after the interruption stops.
    next_stop: Stop | None = None
    #: True after the interruption.
    is_later: bool = False
    requests: list[Request] = field(default_factory=list)
    #: Bodies that a lie sent as the whole file.
    told: list[bytes] = field(default_factory=list)
    lie_count: int = 0
    later_lies: int = 0
    next_stop_used: bool = False
    _links: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def path(self) -> str:
        return f"/{self.key}/file{self.manner.suffix}"

    @property
    def body_sent(self) -> int:
        with self._lock:
            return sum(request.body_sent for request in self.requests)

    def later_requests(self, since: int) -> list[Request]:
        with self._lock:
            return self.requests[since:]

    def turn(self) -> None:
        """From now on the server has the second version, and may lie."""
        with self._lock:
            self.is_later = True

    def become_honest(self) -> None:
        with self._lock:
            self.lie, self.next_stop = None, None

    def answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            redirect = self._redirect(request)
            if redirect is not None and not (self.is_later and self.lie):
                return redirect
            version = self.now if self.is_later else self.old
            if request.target.endswith("/mirror-2") and version.etag is not None:
                version = replace(version, etag=version.etag.replace('"v', '"mirror-'))
            honest = self.manner.answer(version, request)
            answer = self._lie(request, version, honest) or honest
            if self.first_stop is not None and not self.is_later:
                return self._first(answer)
            if self.next_stop is not None and self.is_later and answer.stop is None and len(answer.body) > 1:
                self.next_stop.after = len(answer.body) // 2
                if answer.framing == "close" and self.next_stop.how == "fin":
                    # The end of the connection would be taken as the end of the file.
                    self.next_stop.how = "reset"
                answer.stop, self.next_stop, self.next_stop_used = self.next_stop, None, True
            return answer

    def _first(self, answer: Answer) -> Answer:
        stop, self.first_stop = self.first_stop, None
        answer.stop = stop
        if self.first_framing is not None:
            answer.framing = self.first_framing
        # After a cut there is no time to change anything before the next request, so this changes now.
        self.is_later = stop is not None and stop.how != "hold"
        return answer

    def _lie(self, request: Request, version: Version, honest: Answer) -> Answer | None:
        lie = self.lie
        if lie is None or (self.lie_count and not self.always):
            return None
        if lie.to != EVERY and not (self.is_later and (lie.to == AFTER or request.asked is not None)):
            return None
        other = self.old if version is self.now else self.now
        mirror = f"{self.mirror}/{self.key}/mirror"
        answer = lie.does(Ask(request, version, other, honest, self.lie_count, request.target, mirror))
        if answer is None:
            return None
        self.lie_count += 1
        request.lied = True
        if answer.status in (200, 203) and answer.raw is None:
            length = answer.value("Content-Length") or ""
            self.told.append(answer.body[: int(length)] if length.isdigit() else answer.body)
        return answer

    def _redirect(self, request: Request) -> Answer | None:
        """For manners that redirect: to a fixed place, or each time to a new link that works once."""
        if self.manner.redirects == "no":
            return None
        if request.target == self.path:
            self._links[f"/{self.key}/link/{len(self._links)}"] = 0
            where = f"/{self.key}/link/{len(self._links) - 1}"
            if self.manner.redirects == "yes":
                where = f"/{self.key}/moved"
            elif self.manner.redirects == "mirrors":
                number = 2 if self.is_later else 1
                host = self.mirror.replace("127.251.", f"127.25{number}.")
                where = f"{host}/{self.key}/mirror-{number}"
            return Answer(302, [("Location", where)])
        if self.manner.redirects == "once":
            uses = self._links.get(request.target, 1)
            stop = None if self.is_later else self.first_stop
            if stop is None or stop.after >= 0:
                # libcurl repeats a request whose connection is lost before the head; it does not use up the
                # link.
                self._links[request.target] = uses + 1
            if uses:
                return Answer(403, [("Content-Type", "application/xml")], b"<Error>expired</Error>")
        return None
