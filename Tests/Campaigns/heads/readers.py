"""Other parsers of HTTP/1.1, because agreement with libcurl alone is not enough for a doubtful head."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import h11
import httptools

from .oracle import Opinion

Pieces = list[bytes]
HEAD_LIMIT = 1 << 20


def strict(pieces: Pieces) -> Opinion:
    """h11, which refuses most of what RFC 9112 forbids, and unfolds folded fields."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_LIMIT)
    connection.send(h11.Request(method="GET", target="/file", headers=[("Host", "a")]))
    connection.send(h11.EndOfMessage())
    status, body, is_end_seen = 0, b"", True
    try:
        for piece in [*pieces, b""]:
            if not piece:
                is_end_seen = False
            connection.receive_data(piece)
            while True:
                event = connection.next_event()
                if isinstance(event, h11.Response):
                    status = event.status_code
                elif isinstance(event, h11.Data):
                    body += bytes(event.data)
                elif isinstance(event, h11.EndOfMessage):
                    return Opinion(None, status, body, is_end_seen)
                elif event is h11.NEED_DATA:
                    break
                elif event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
                    return Opinion("no answer", status, body, is_end_seen)
    except h11.RemoteProtocolError as error:
        return Opinion(str(error), status, body, is_end_seen)
    return Opinion("no end", status, body, False)


class _Messages:
    """Collects what llhttp's callbacks report of the first final message."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.status, self.body = 0, b""
        self.is_head_complete = self.is_ended = False

    def on_headers_complete(self) -> None:
        status = self.parser.get_status_code()
        if not self.is_head_complete and not 100 <= status < 200:
            self.status, self.is_head_complete = status, True

    def on_body(self, data: bytes) -> None:
        if self.is_head_complete and not self.is_ended:
            self.body += data

    def on_message_complete(self) -> None:
        self.is_ended = self.is_ended or self.is_head_complete


def llhttp(pieces: Pieces) -> Opinion:
    """llhttp, the parser of Node."""
    if re.search(rb"(?i)transfer-encoding:[^\n]*\t[ \t]*\r?\n", b"".join(pieces)):
        return Opinion("it does not know a tab behind a value", 0, b"", False)
    messages = _Messages()
    refusal = None
    try:
        for piece in pieces:
            messages.parser.feed_data(piece)
            if messages.is_ended:
                break
    except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
        refusal = str(error) or type(error).__name__
    if messages.is_ended:
        return Opinion(None, messages.status, messages.body, True)
    if refusal is None and not messages.is_head_complete:
        refusal = "no whole head"
    return Opinion(refusal, messages.status, messages.body, False)


@dataclass(frozen=True)
class Lenient:
    """A parser that is lenient in one or more ways, as many are (RFC 9112, 2.2, 5.1, 5.2)."""

    name: str
    #: Spaces around a field's name are dropped.
    trims_names: bool = False
    #: A line that begins with a space continues the field before.
    unfolds: bool = False
    #: A carriage return alone ends a line.
    returns_end_lines: bool = False
    #: Control characters at the ends of a value, and NUL within, are dropped.
    drops_controls: bool = False

    def __call__(self, pieces: Pieces) -> Opinion:
        wire = b"".join(pieces)
        while True:
            head, status, rest = self._head(wire)
            if head is None:
                return Opinion("no head", 0, b"", False)
            if not 100 <= status < 200:
                break
            wire = rest
        if status in (204, 304):
            return Opinion(None, status, b"", True)
        return self._body(head, status, rest)

    def _head(self, wire: bytes) -> tuple[list[bytes] | None, int, bytes]:
        ends = rb"\r\n|\n|\r" if self.returns_end_lines else rb"\r\n|\n"
        lines: list[bytes] = []
        at = 0
        for end in re.finditer(ends, wire):
            line = wire[at : end.start()]
            at = end.end()
            if not line:
                status = re.match(rb"HTTP/\S+\s+(\d{3})", lines[0]) if lines else None
                return (lines, int(status[1]), wire[at:]) if status else (None, 0, b"")
            if self.unfolds and line[:1] in b" \t" and len(lines) > 1:
                lines[-1] += b" " + line.strip(b" \t")
            else:
                lines.append(line)
        return None, 0, b""

    def _values(self, lines: list[bytes], name: bytes) -> list[bytes]:
        values = []
        for line in lines[1:]:
            key, colon, value = line.partition(b":")
            if self.trims_names:
                key = key.strip(b" \t")
            if self.drops_controls:
                key, value = (
                    key.strip(b"\x00\x0b\x0c"),
                    value.strip(b" \t\r\x00\x0b\x0c").replace(b"\x00", b""),
                )
            if colon and key.lower() == name:
                values.append(value.strip(b" \t"))
        return values

    def _body(self, lines: list[bytes], status: int, rest: bytes) -> Opinion:
        codings = [
            coding.strip(b" \t").lower()
            for value in self._values(lines, b"transfer-encoding")
            for coding in value.split(b",")
        ]
        if b"chunked" in codings:
            return dechunked(status, rest)
        numbers = [
            number.strip(b" \t")
            for value in self._values(lines, b"content-length")
            for number in value.split(b",")
        ]
        lengths = {int(number) for number in numbers if number.isdigit()}
        if len(lengths) > 1:
            return Opinion("two lengths", status, b"", False)
        if lengths:
            length = lengths.pop()
            refusal = "cut" if len(rest) < length else None
            return Opinion(refusal, status, rest[:length], True)
        return Opinion(None, status, rest, False)


def dechunked(status: int, rest: bytes) -> Opinion:
    """The body of chunks up to the last one; the trailer section is ignored."""
    body = b""
    while match := re.match(rb"([0-9A-Fa-f]{1,8})[^\n]*\n", rest):
        length = int(match[1], 16)
        if length == 0:
            return Opinion(None, status, body, True)
        body += rest[match.end() : match.end() + length]
        end = re.match(rb"\r?\n", rest[match.end() + length :])
        if end is None:
            break
        rest = rest[match.end() + length + end.end() :]
    return Opinion("broken chunks", status, body, False)


READERS: dict[str, Callable[[Pieces], Opinion]] = {
    "h11": strict,
    "llhttp": llhttp,
    "one that trims names": Lenient("trims", trims_names=True),
    "one that unfolds": Lenient("unfolds", unfolds=True),
    "one that ends lines at CR": Lenient("returns", returns_end_lines=True),
    "one that drops control characters": Lenient("controls", drops_controls=True),
    "one that forgives everything": Lenient("all", True, True, True, True),
}
