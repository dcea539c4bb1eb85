"""Makes a failing response smaller while it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .response import Response

#: Not shortened, because the rest would be invalid for another reason.
PLAIN_STATUS_LINES = (b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 206 P\r\n")


def shrunk(response: Response, fails: Callable[[Response], bool], tries: int = 250) -> Response:
    """The smallest response found that still fails."""
    tried: set[Response] = set()
    is_smaller = True
    while is_smaller and tries > 0:
        is_smaller = False
        for candidate in candidates(response):
            if candidate.size >= response.size or candidate in tried:
                continue
            tried.add(candidate)
            tries -= 1
            if tries <= 0:
                break
            if fails(candidate):
                response, is_smaller = candidate, True
                break
    return response


def candidates(response: Response) -> Iterator[Response]:
    """Smaller responses; much smaller ones first."""
    change = response.without
    if response.cut_at is not None:
        yield change(cut_at=None)
    if response.splits:
        yield change(splits=())
        for split in response.splits:
            yield change(splits=(split,))
    if response.stays_open:
        yield change(stays_open=False)
    if response.is_resumed:
        yield change(is_resumed=False)
    if response.status_line not in PLAIN_STATUS_LINES:
        for line in PLAIN_STATUS_LINES:
            yield change(status_line=line)
    for name in ("before", "fields", "body"):
        parts: tuple[bytes, ...] = getattr(response, name)
        if len(parts) > 1:
            yield change(**{name: ()})
        for at in range(len(parts)):
            yield change(**{name: parts[:at] + parts[at + 1 :]})
    yield change(blank=b"\r\n")
    for name in ("before", "fields", "body"):
        parts = getattr(response, name)
        for at, part in enumerate(parts):
            for shorter in shorter_parts(part):
                yield change(**{name: (*parts[:at], shorter, *parts[at + 1 :])})
    if response.status_line not in PLAIN_STATUS_LINES:
        for shorter in shorter_parts(response.status_line):
            yield change(status_line=shorter)


def shorter_parts(part: bytes) -> Iterator[bytes]:
    """Without a half, a quarter …, a byte."""
    length = len(part)
    step = length // 2
    while step >= 1:
        for at in range(0, length, step):
            if step > 1 or length <= 60:
                yield part[:at] + part[at + step :]
        step //= 2
