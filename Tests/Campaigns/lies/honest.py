"""What an honest server has, and how it serves it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .wire import Answer, Request

TYPE = "application/octet-stream"
DATE = "Tue, 01 Oct 2024 00:00:00 GMT"
LATER = "Tue, 01 Oct 2024 10:00:00 GMT"
#: How many received bytes a client compares with the next answer.
OVERLAP_BYTES = 1 << 14
#: The same for a client without other proof: two versions with the same overlap have even more bytes in
#: common.
PROBE_BYTES = 1 << 16


@dataclass(frozen=True)
class Version:
    """One content of a file, with its validators."""

    data: bytes
    etag: str | None
    last_modified: str | None
    date: str = DATE

    @property
    def fields(self) -> list[tuple[str, str]]:
        pairs = [("Date", self.date), ("Content-Type", TYPE)]
        if self.etag is not None:
            pairs.append(("ETag", self.etag))
        if self.last_modified is not None:
            pairs.append(("Last-Modified", self.last_modified))
        return pairs


#: Validators → those of the first and of the second version: ETag, Last-Modified, Date. A Last-Modified
#: proves something only if it is at least a minute older than the answer.
VALIDATORS: dict[str, tuple[tuple[str | None, str | None, str], tuple[str | None, str | None, str]]] = {
    "tag": (('"v1"', None, DATE), ('"v2"', None, LATER)),
    "tag and date": (
        ('"v1"', "Mon, 01 Jan 2024 00:00:00 GMT", DATE),
        ('"v2"', "Tue, 01 Oct 2024 00:00:01 GMT", LATER),
    ),
    "date": (
        (None, "Mon, 01 Jan 2024 00:00:00 GMT", DATE),
        (None, "Tue, 01 Oct 2024 00:00:01 GMT", LATER),
    ),
    "fresh date": ((None, "Mon, 30 Sep 2024 23:59:59 GMT", DATE), (None, DATE, LATER)),
    "weak tag": (('W/"v1"', None, DATE), ('W/"v2"', None, LATER)),
    "nothing": ((None, None, DATE), (None, None, LATER)),
    # As nginx, Apache, Caddy and lighttpd do for two files of the same second and size.
    "coarse tag": (('"v1"', None, DATE), ('"v1"', None, LATER)),
}
STRONG = ("tag", "tag and date", "date")

#: How the second version differs from the first.
CHANGES = (
    "same",
    "other bytes",
    "longer",
    "shorter",
    "grown",
    "cut short",
    "shares its beginning",
    "shares the overlap",
)


def contents(change: str, size: int, held: int, random_bytes: random.Random) -> tuple[bytes, bytes]:
    """The bytes of both versions; `held` is about how many of the first will be received."""
    old = random_bytes.randbytes(size)
    if change == "same" or size == 0:
        return old, old
    other = random_bytes.randbytes(2 * size + 77)
    if change == "longer":
        return old, other[: size + 1 + size // 3]
    if change == "shorter":
        return old, other[: size // 2]
    if change == "grown":
        return old, old + other[: 1 + size // 4]
    if change == "cut short":
        return old, old[: size - 1 - size // 5]
    if change == "shares its beginning":
        same = min(size - 1, max(held, 0) + (size - max(held, 0)) // 2)
        return old, old[:same] + _unlike(old[same:])
    if change == "shares the overlap":
        # Only the first and the last byte differ: joined in the middle, the two make a third content.
        return old, _unlike(old[:1]) + old[1:-1] + _unlike(old[-1:]) if size > 1 else _unlike(old)
    return old, _unlike(old[:1]) + other[1:size]


def _unlike(data: bytes) -> bytes:
    return bytes(byte ^ 0x5A for byte in data)


@dataclass(frozen=True)
class Manner:
    """How an honest server serves. A download must always succeed."""

    name: str
    #: yes; ignored: always a plain 200; refused: also `Accept-Ranges: none`; closed: open ranges get 416;
    #: closed or 400: open ranges get 400; capped: only a part of the range
    ranges: str = "yes"
    framing: str = "length"
    version: str = "HTTP/1.1"
    closes: bool = False
    advertises: bool = True
    knows_total: bool = True
    #: Content-Range of a 206.
    content_range: str = "bytes {first}-{last}/{total}"
    before: bytes = b""
    behind: bytes = b""
    piece_bytes: int = 1 << 16
    pause_seconds: float = 0.0
    extra: tuple[tuple[str, str], ...] = ()
    #: The suffix of the path, if it matters.
    suffix: str = ""
    #: The status of answers with the whole file.
    status: int = 200
    #: A 206 has no validator except an ETag.
    omits_date: bool = False
    #: no; yes; once: each time to a new link, which works once; mirrors: later to another place with its own
    #: ETags, while the first still exists
    redirects: str = "no"

    @property
    def can_resume(self) -> bool:
        return self.ranges not in ("ignored", "refused") and self.suffix == ""

    def answer(self, version: Version, request: Request) -> Answer:
        answer = self._answer(version, request)
        answer.version, answer.closes, answer.before = self.version, self.closes, self.before
        answer.piece_bytes, answer.pause_seconds = self.piece_bytes, self.pause_seconds
        if self.version == "HTTP/1.0" and answer.framing == "chunked":
            answer.framing = "close"
        return answer

    def _answer(self, version: Version, request: Request) -> Answer:
        fields = version.fields + list(self.extra)
        if self.ranges == "refused":
            fields.append(("Accept-Ranges", "none"))
        elif self.ranges != "ignored" and self.advertises:
            fields.append(("Accept-Ranges", "bytes"))
        asked, total = request.asked, len(version.data)
        if asked is None or self.ranges in ("ignored", "refused") or not is_current(version, request):
            return Answer(self.status, fields, version.data, self.framing, behind=self.behind)
        if asked[1] is None and self.ranges.startswith("closed"):
            return Answer(400 if self.ranges == "closed or 400" else 416)
        if asked[0] >= total:
            return Answer(416, [("Content-Range", f"bytes */{total}")])
        first, last = asked[0], total - 1 if asked[1] is None else min(asked[1], total - 1)
        if self.ranges == "capped":
            last = min(last, first + max(1, total // 3))
        named = self.content_range.format(first=first, last=last, total=total if self.knows_total else "*")
        if self.omits_date and request.if_range is not None:
            fields = [pair for pair in fields if pair[0] != "Last-Modified"]
        fields.append(("Content-Range", named))
        return Answer(206, fields, version.data[first : last + 1], self.framing)


def is_current(version: Version, request: Request) -> bool:
    """The server's check of `If-Range` (RFC 9110, 13.1.5)."""
    if request.if_range is None:
        return True
    if request.if_range.startswith('"'):
        return request.if_range == version.etag
    return request.if_range == version.last_modified


PLAIN = Manner("plain")
MANNERS = (
    PLAIN,
    Manner("ranges not advertised", advertises=False),
    Manner("ranges ignored", ranges="ignored"),
    Manner("Accept-Ranges: none", ranges="refused"),
    Manner("only closed ranges, else 416", ranges="closed"),
    Manner("only closed ranges, else 400", ranges="closed or 400"),
    Manner("parts of what is asked for", ranges="capped"),
    Manner("chunked", framing="chunked"),
    Manner("chunked without ranges", framing="chunked", ranges="ignored"),
    Manner("chunked, only closed ranges", framing="chunked", ranges="closed"),
    Manner("delimited by the end of the connection", framing="close"),
    Manner("closes after each answer", closes=True),
    Manner("HTTP/1.0", version="HTTP/1.0", closes=True),
    Manner("HTTP/1.0 without length", version="HTTP/1.0", framing="close"),
    Manner("HTTP/1.0 without ranges", version="HTTP/1.0", closes=True, ranges="ignored"),
    Manner("slow", piece_bytes=40_000, pause_seconds=0.004),
    Manner("tiny pieces", piece_bytes=1_500),
    Manner("a total that it does not tell with parts", knows_total=False),
    Manner("Content-Range without a unit", content_range="{first}-{last}/{total}"),
    Manner("Content-Range with an equals sign", content_range="bytes={first}-{last}/{total}"),
    Manner("Content-Range in capitals", content_range="BYTES {first}-{last}/{total}"),
    Manner("an early hint before", before=b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
    Manner("100 Continue unasked", before=b"HTTP/1.1 100 Continue\r\n\r\n" * 3),
    Manner("status 203", status=203),
    Manner("no Last-Modified with parts", omits_date=True),
    Manner("Content-Encoding: identity", extra=(("Content-Encoding", "identity"),)),
    Manner("an archive labelled gzip", extra=(("Content-Encoding", "gzip"),), suffix=".tar.gz"),
    Manner("many cookies", extra=tuple(("Set-Cookie", f"c{n}={'x' * 200}") for n in range(40))),
    Manner("redirected", redirects="yes"),
    Manner("redirected to links that serve once", redirects="once"),
    Manner("redirected to one mirror, then to another", redirects="mirrors"),
)
