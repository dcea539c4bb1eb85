"""The lies, one line each: what the server says, to which requests, and how the download must end.

Each row gives the end for an unchanged file and for a changed one (`changed`; by default: it must look
changed). The words:

joined        a correct part with an odd head: the download resumes, as with an honest server
whole         the part is useless: fetches the whole file, whatever `onChange` says, if it is provably the same
looks changed counts as another version: `onChange` decides; after a restart it completes
told          like `looks changed`, but the file may be what the lie sends: nothing shows that it is wrong
needsUrl      keeps the received bytes and waits for a new link
failed KIND   ends with that error
bare          nothing names the version: joined with `trust` or a checksum, otherwise like `whole`
either        ends with one of the two versions, or reports a change
honest        as without the lie
A `|` between two words: one or the other.
"""

# One line per lie, however long.
# ruff: noqa: E501

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

from .honest import PLAIN, STRONG, Version
from .wire import Answer, Request, Stop

JOINED, WHOLE, CHANGED, TOLD, NEEDS_URL, BARE, EITHER, HONEST = (
    "joined",
    "whole",
    "looks changed",
    "told",
    "needsUrl",
    "bare",
    "either",
    "honest",
)
PROTOCOL, HTTP_STATUS, INCOMPLETE = "failed protocol", "failed httpStatus", "failed incomplete"
RANGE_UNSUPPORTED, SHORT = "failed rangeUnsupported", "failed incomplete|failed remoteChanged"

PART, AFTER, EVERY = "part", "after", "every"
TAGGED = ("tag", "tag and date")
#: For lies whose end depends on a strong validator.
PROVEN = ("date", "tag", "tag and date")
DATED = ("tag and date", "date")


@dataclass
class Ask:
    """The input of a lie."""

    request: Request
    version: Version
    #: The server's earlier version, or the same one.
    other: Version
    #: The answer of an honest server.
    honest: Answer
    #: How many lies this case has told before.
    count: int
    path: str
    #: The URL of the file at another host.
    mirror: str

    @property
    def total(self) -> int:
        return len(self.version.data)

    @property
    def first(self) -> int:
        return self.request.asked[0] if self.request.asked else 0

    @property
    def last(self) -> int:
        last = self.request.asked[1] if self.request.asked else None
        return self.total - 1 if last is None else min(last, self.total - 1)


#: Returns None if the lie is impossible: then the server answers honestly.
Does = Callable[[Ask], "Answer | None"]


@dataclass(frozen=True)
class Lie:
    name: str
    #: part: requests for a part; after: all requests after the interruption; every: also the first
    to: str
    does: Does
    same: str
    changed: str = CHANGED
    #: The end if nothing of the file was received (or the lie answers the first request).
    fresh: str = HONEST
    validators: tuple[str, ...] = tuple(STRONG)
    #: True: told each time; False: once; None: either, with the same end
    always: bool | None = None
    #: Only if the first answer gives the length.
    needs_length: bool = False
    #: Only if a cut of this answer, and an honest answer afterwards, do not change the expected end.
    may_be_cut: bool = True
    #: The limit on the bytes of all answers, as a multiple of the file's size.
    passes: float = 6
    options: dict[str, object] = field(default_factory=dict)


# Building blocks of lies


def part(
    content_range: str | None = "bytes {first}-{last}/{total}",
    body: str = "part",
    fields: tuple[tuple[str, str], ...] = (),
    without: tuple[str, ...] = (),
    framing: str = "length",
    behind: bytes = b"",
    cut: float | None = None,
    how: str = "fin",
    status: int = 206,
) -> Does:
    """A 206 for the requested range, with something wrong. It ignores `If-Range`."""

    def does(ask: Ask) -> Answer | None:
        if not 0 < ask.first < ask.total:
            return None
        first, last, total, data = ask.first, ask.last, ask.total, ask.version.data
        early = max(0, first - 10)
        half = first + (last - first) // 2
        numbers = {
            "first": first,
            "last": last,
            "total": total,
            "early": early,
            "before": first - 1,
            "after": first + 1,
            "more": total + 9,
            "half": half,
            "hex": hex(first),
        }
        bodies = {
            "part": data[first : last + 1],
            "all": data,
            "early": data[early : last + 1],
            "late": data[first + 1 : last + 1],
            "half": data[first : half + 1],
            "more": data[first : last + 1] + b"0123456789",
            "shorter": data[first:last],
            "nothing": b"",
        }
        answer = Answer(status, ask.version.fields, bodies[body], framing, behind=behind)
        answer.fields.append(("Accept-Ranges", "bytes"))
        if content_range is not None:
            answer.fields.append(("Content-Range", content_range.format(**numbers)))
        answer.drop(*without)
        answer.fields += [(name, value.format(**numbers)) for name, value in fields]
        if cut is not None:
            if 0 < cut < 1 and len(answer.body) < 2:
                return None
            answer.stop = Stop(int(len(answer.body) * cut), how)
        return answer

    return does


def tagged(etag: str) -> Does:
    """A correct part with another ETag."""
    return part(without=("ETag",), fields=(("ETag", etag),))


def says(
    status: int,
    *fields: tuple[str, str],
    body: bytes = b"<html>It is not here.</html>",
    raw: bytes | None = None,
) -> Does:
    """An answer unrelated to the file."""

    def does(ask: Ask) -> Answer:
        numbers = {"first": ask.first, "total": ask.total, "more": ask.total + 9, "path": ask.path}
        empty = status in (204, 205, 304)
        said = [(name, value.format(**numbers)) for name, value in fields]
        return Answer(status, said, b"" if empty else body, raw=raw)

    return does


def whole(
    *fields: tuple[str, str],
    without: tuple[str, ...] = (),
    body: str = "all",
    framing: str = "length",
    cut: float | None = None,
    grows: float = 0.0,
    status: int = 200,
    behind: bytes = b"",
) -> Does:
    """A 200 to any request, with something wrong."""

    def does(ask: Ask) -> Answer | None:
        data, first, total = ask.version.data, ask.first, ask.total
        if body in ("rest", "until") and not 0 < first < total:
            return None
        numbers = {
            "first": first,
            "last": total - 1,
            "total": total,
            "count": ask.count,
            "half": total // 2,
            "less": total - total // 3,
            "more": total + 100,
        }
        zipped = gzip.compress(data, 1, mtime=0)
        bodies = {
            "all": data,
            "rest": data[first:],
            "until": data[:first],
            "half": data[: total // 2],
            "gzip": zipped,
            "cut gzip": zipped[:-1],
            "damaged gzip": zipped[:-8] + bytes([zipped[-8] ^ 1]) + zipped[-7:],
            "deflate": zlib.compress(data, 1),
            "nothing": b"",
        }
        answer = Answer(status, ask.version.fields, bodies[body], framing, behind=behind).drop(*without)
        answer.fields += [(name, value.format(**numbers)) for name, value in fields]
        if cut is not None:
            answer.stop = Stop(min(int(total * (cut + grows * ask.count)), total), "fin")
        return answer

    return does


def breaks_if_range(ask: Ask) -> Answer | None:
    return whole()(ask) if ask.request.if_range is not None else None


def first_part(content_range: str | None, portion: float = 1.0, start: int = 0) -> Does:
    """A 206 to a request for the whole file."""

    def does(ask: Ask) -> Answer | None:
        if ask.request.asked is not None or ask.total < 2 + start:
            return None
        end = max(start + 1, int(ask.total * portion))
        answer = Answer(206, ask.version.fields, ask.version.data[start:end])
        if content_range is not None:
            named = content_range.format(first=start, last=end - 1, total=ask.total)
            answer.fields.append(("Content-Range", named))
        return answer

    return does


def without_range(does: Does) -> Does:
    """Only for requests for the whole file."""
    return lambda ask: does(ask) if ask.request.asked is None else None


def rotating(ask: Ask) -> Answer | None:
    """An honest answer, except that the ETag changes each time."""
    return _rotating(whole(("ETag", '"turn-{count}"'), without=("ETag",)), ask)


def rotating_cut(ask: Ask) -> Answer | None:
    return _rotating(whole(("ETag", '"turn-{count}"'), without=("ETag",), cut=0.5), ask)


def _rotating(does: Does, ask: Ask) -> Answer | None:
    return does(ask) if ask.total > 1 else None


def to_mirror(ask: Ask) -> Answer:
    """The file is now at another host, with its own ETag."""
    if ask.path.endswith("/mirror"):
        return ask.honest.put(("ETag", '"mirror"')) if ask.honest.status in (200, 206) else ask.honest
    return Answer(302, [("Location", ask.mirror)])


def by_turns(ask: Ask) -> Answer | None:
    """Every second request gets the other version, as from two servers of which one is out of date."""
    return PLAIN.answer(ask.other, ask.request) if ask.count % 2 else ask.honest


ZEROS = (("Content-Length", "0"),)
BIG_HEAD = b"HTTP/1.1 200 OK\r\nX-Big: " + b"x" * 210_000 + b"\r\nContent-Length: 0\r\n\r\n"

#: Lies about a part of the file.
TABLE_OF_PARTS = (
    # Content-Range
    Lie("no Content-Range", PART, part(None), WHOLE),
    Lie("an empty Content-Range", PART, part(""), WHOLE),
    Lie("nonsense for a Content-Range", PART, part("nonsense"), WHOLE),
    Lie("starts ten bytes early", PART, part("bytes {early}-{last}/{total}", "early"), WHOLE),
    Lie("starts one byte late", PART, part("bytes {after}-{last}/{total}", "late"), WHOLE),
    Lie("the whole file as a part", PART, part("bytes 0-{last}/{total}", "all"), WHOLE),
    Lie("right range, the body of the whole file", PART, part(body="all"), WHOLE),
    Lie("right range, a body too short by one", PART, part(body="shorter"), WHOLE),
    Lie("right range, no body", PART, part(body="nothing"), WHOLE),
    Lie("another total", PART, part("bytes {first}-{last}/{more}"), CHANGED, needs_length=True),
    Lie("behind the end", PART, part("bytes {first}-{more}/*", "more"), CHANGED, needs_length=True),
    Lie("more than there was", PART, part("bytes {first}-{last}/{before}"), WHOLE),
    Lie("half of what was asked for", PART, part("bytes {first}-{half}/{total}", "half"), JOINED),
    Lie("the range of a 416", PART, part("bytes */{total}"), WHOLE),
    Lie("another unit", PART, part("items {first}-{last}/{total}"), WHOLE),
    Lie("a range backwards", PART, part("bytes {first}-{before}/{total}"), WHOLE),
    Lie("a plus sign", PART, part("bytes +{first}-{last}/{total}"), WHOLE),
    Lie("a minus sign", PART, part("bytes -{last}/{total}"), WHOLE),
    Lie("hexadecimal", PART, part("bytes {hex}-{last}/{total}"), WHOLE),
    Lie("twenty digits", PART, part("bytes 99999999999999999999-{last}/{total}"), WHOLE),
    Lie("a blank within", PART, part("bytes {first} - {last}/{total}"), WHOLE),
    Lie("no total", PART, part("bytes {first}-{last}"), WHOLE),
    Lie("two ranges that differ", PART, part(fields=(("Content-Range", "bytes 0-0/{total}"),)), WHOLE),
    Lie("one range twice", PART, part(fields=(("Content-Range", "bytes {first}-{last}/{total}"),)), JOINED),
    Lie("no unit", PART, part("{first}-{last}/{total}"), JOINED),
    Lie("an equals sign", PART, part("bytes={first}-{last}/{total}"), JOINED),
    Lie("an unknown total", PART, part("bytes {first}-{last}/*"), JOINED, validators=PROVEN),
    Lie("blanks around", PART, part("  bytes {first}-{last}/{total} \t"), JOINED),
    # Body
    Lie("multipart", PART, part(fields=(("Content-Type", "multipart/byteranges; boundary=x"),), without=("Content-Type",)), WHOLE),
    Lie("a part as gzip", PART, part(fields=(("Content-Encoding", "gzip"),)), WHOLE),
    Lie("a part as br", PART, part(fields=(("Content-Encoding", "br"),)), WHOLE),
    Lie("a part as identity", PART, part(fields=(("Content-Encoding", "identity"),)), JOINED),
    Lie("a part without length", PART, part(framing="close"), JOINED),
    Lie("a part without length, cut", PART, part(framing="close", cut=0.5), JOINED),
    Lie("a part without length, too long", PART, part(framing="close", behind=b"rubbish"), JOINED),
    Lie("a chunked part", PART, part(framing="chunked"), JOINED),
    Lie("a chunked part that lacks its end", PART, part(framing="chunked", cut=1.0), JOINED),
    Lie("a chunked part that ends early", PART, part(body="half", framing="chunked"), JOINED),
    Lie("a chunked part with a wrong length too", PART, part(framing="chunked", fields=(("Content-Length", "7"),)), JOINED),
    Lie("a part cut short", PART, part(cut=0.5), JOINED),
    Lie("a part reset", PART, part(cut=0.5, how="reset"), JOINED),
    Lie("a part cut before its first byte", PART, part(cut=0.0), JOINED, always=False),
    Lie("a part cut before its first byte, for ever", PART, part(cut=0.0), INCOMPLETE, always=True),
    Lie("a part with a length of letters", PART, part(fields=(("Content-Length", "12abc"),)), PROTOCOL, PROTOCOL),
    Lie("a part with a negative length", PART, part(fields=(("Content-Length", "-1"),)), PROTOCOL, PROTOCOL),
    # Validators
    Lie("If-Range not heeded", PART, part(), JOINED),
    Lie("another ETag", PART, tagged('"v9"'), CHANGED, validators=TAGGED),
    Lie("the ETag made weak", PART, tagged('W/"v1"'), CHANGED, validators=TAGGED),
    Lie("the ETag without quotes", PART, tagged("v1"), CHANGED, validators=TAGGED),
    Lie("another Last-Modified", PART, part(without=("Last-Modified",), fields=(("Last-Modified", "Sun, 07 Jan 2024 00:00:00 GMT"),)), CHANGED, validators=DATED),
    Lie("no validator", PART, part(without=("ETag", "Last-Modified")), BARE, BARE, validators=TAGGED),
    Lie("no date though it went by the date", PART, part(without=("Last-Modified",)), BARE, BARE, validators=("date",)),
)  # fmt: skip

#: Lies about the status of a range request.
TABLE_OF_STATUS = (
    Lie("200 to a range", PART, whole(), WHOLE),
    Lie("200 to a range, ranges refused", PART, whole(("Accept-Ranges", "none")), WHOLE),
    Lie("200 to If-Range alone", PART, breaks_if_range, WHOLE),
    Lie("200 with the rest only", PART, whole(body="rest"), WHOLE, TOLD, needs_length=True, may_be_cut=False),
    Lie("200 with the rest and its range", PART, whole(("Content-Range", "bytes {first}-{last}/{total}"), body="rest"), WHOLE),
    Lie("200 with all and a range", PART, whole(("Content-Range", "bytes {first}-{last}/{total}")), WHOLE),
    Lie("200 with what is there already", PART, whole(body="until"), f"{NEEDS_URL}|{TOLD}", TOLD, needs_length=True, may_be_cut=False),
    Lie("200 and nothing", PART, whole(body="nothing"), f"{NEEDS_URL}|{TOLD}", TOLD, needs_length=True, may_be_cut=False),
    Lie("200 as gzip", PART, whole(("Content-Encoding", "gzip"), body="gzip"), WHOLE, validators=PROVEN, may_be_cut=False),
    Lie("200 as deflate", PART, whole(("Content-Encoding", "deflate"), body="deflate"), WHOLE, validators=PROVEN, may_be_cut=False),
    Lie("200 as br", PART, whole(("Content-Encoding", "br"), body="gzip"), PROTOCOL, PROTOCOL),
    Lie("203 to a range", PART, whole(status=203), WHOLE),
    Lie("416 though it could", PART, says(416, ("Content-Range", "bytes */{total}")), WHOLE),
    Lie("416 without a range", PART, says(416), WHOLE),
    Lie("416 with another total", PART, says(416, ("Content-Range", "bytes */{more}")), CHANGED, needs_length=True),
    Lie("416 with what is there for a total", PART, says(416, ("Content-Range", "bytes */{first}")), CHANGED, needs_length=True),
    Lie("416 with a satisfied range", PART, says(416, ("Content-Range", "bytes 0-0/{total}")), WHOLE),
    Lie("400 to a range", PART, says(400), WHOLE),
    Lie("412 to a range", PART, says(412), CHANGED),
    Lie("204", PART, says(204), HTTP_STATUS, HTTP_STATUS),
    Lie("205", PART, says(205, *ZEROS), HTTP_STATUS, HTTP_STATUS),
    Lie("304", PART, says(304), HTTP_STATUS, HTTP_STATUS),
    Lie("404", AFTER, says(404), HTTP_STATUS, HTTP_STATUS, HTTP_STATUS),
    Lie("451", AFTER, says(451), HTTP_STATUS, HTTP_STATUS, HTTP_STATUS),
    Lie("207", AFTER, says(207), HTTP_STATUS, HTTP_STATUS, HTTP_STATUS),
    Lie("300", AFTER, says(300), HTTP_STATUS, HTTP_STATUS, HTTP_STATUS),
    Lie("416 to everything", AFTER, says(416), RANGE_UNSUPPORTED, RANGE_UNSUPPORTED, RANGE_UNSUPPORTED, always=True),
    Lie("400 to everything", AFTER, says(400), HTTP_STATUS, HTTP_STATUS, HTTP_STATUS, always=True),
    Lie("401", AFTER, says(401), NEEDS_URL, NEEDS_URL, HTTP_STATUS),
    Lie("403 with XML", AFTER, says(403, ("Content-Type", "application/xml"), body=b"<Error/>"), NEEDS_URL, NEEDS_URL, HTTP_STATUS),
    Lie("410", AFTER, says(410), NEEDS_URL, NEEDS_URL, HTTP_STATUS),
    Lie("407", AFTER, says(407), "failed proxy", "failed proxy", "failed proxy"),
    Lie("a web page", AFTER, says(200, ("Content-Type", "text/html; charset=utf-8")), NEEDS_URL, NEEDS_URL, TOLD, may_be_cut=False),
    Lie("a web page with the file's ETag", AFTER, says(200, ("Content-Type", "text/html"), ("ETag", '"v1"')), NEEDS_URL, NEEDS_URL, TOLD, needs_length=True, validators=TAGGED, may_be_cut=False),
    Lie("500 once", AFTER, says(500), HONEST, HONEST, always=False),
    Lie("502 once", AFTER, says(502), HONEST, HONEST, always=False),
    Lie("503 once", AFTER, says(503), HONEST, HONEST, always=False),
    Lie("408 once", AFTER, says(408), HONEST, HONEST, always=False),
    Lie("429 once", AFTER, says(429), HONEST, HONEST, always=False),
    Lie("511 once, a captive portal", AFTER, says(511, ("Content-Type", "text/html")), HONEST, HONEST, always=False),
    Lie("500 for ever", AFTER, says(500), HTTP_STATUS, HTTP_STATUS, HTTP_STATUS, always=True),
    Lie("429 for ever", AFTER, says(429), "failed rateLimited", "failed rateLimited", "failed rateLimited", always=True),
    Lie("no answer once", AFTER, says(0, raw=b""), HONEST, HONEST, always=False),
    Lie("no answer for ever", AFTER, says(0, raw=b""), INCOMPLETE, INCOMPLETE, INCOMPLETE, always=True),
    Lie("half a head", AFTER, says(0, raw=b"HTTP/1.1 200 O"), INCOMPLETE, INCOMPLETE, INCOMPLETE, always=True),
    Lie("no HTTP", AFTER, says(0, raw=b"hello, this is no HTTP\r\n\r\n" * 9), PROTOCOL, PROTOCOL, PROTOCOL),
    Lie("a status of letters", AFTER, says(0, raw=b"HTTP/1.1 abc OK\r\n\r\n"), PROTOCOL, PROTOCOL, PROTOCOL),
    Lie("a head of 200 KB", AFTER, says(0, raw=BIG_HEAD), "failed headersTooLarge", "failed headersTooLarge", "failed headersTooLarge"),
    # Redirects
    Lie("a redirect to nowhere", AFTER, says(302), PROTOCOL, PROTOCOL, PROTOCOL),
    Lie("a redirect to two places", AFTER, says(302, ("Location", "/a"), ("Location", "/b")), PROTOCOL, PROTOCOL, PROTOCOL),
    Lie("a redirect to itself", AFTER, says(302, ("Location", "{path}")), "failed tooManyRedirects", "failed tooManyRedirects", "failed tooManyRedirects", always=True),
    Lie("a redirect to ftp", AFTER, says(302, ("Location", "ftp://127.0.0.1/f")), "failed redirectDenied", "failed redirectDenied", "failed redirectDenied"),
    Lie("a redirect to a mirror with another ETag", AFTER, to_mirror, CHANGED, always=True, validators=TAGGED),
    Lie("a redirect to ftp once", AFTER, says(302, ("Location", "ftp://127.0.0.1/f")), "failed redirectDenied", "failed redirectDenied", "failed redirectDenied", always=False),
    Lie("the ETag another one each time", AFTER, rotating, CHANGED, always=True, validators=TAGGED),
    Lie("two versions by turns", AFTER, by_turns, EITHER, EITHER, EITHER, always=True),
    Lie("a redirect to a file", AFTER, says(302, ("Location", "file:///etc/passwd")), "failed redirectDenied", "failed redirectDenied", "failed redirectDenied"),
)  # fmt: skip

#: Lies from the first request on; only the lie interrupts the transfer.
TABLE_OF_BEGINNINGS = (
    Lie("206 unasked, all of it", EVERY, first_part("bytes {first}-{last}/{total}"), HONEST),
    Lie("206 unasked, the first half", EVERY, first_part("bytes {first}-{last}/{total}", 0.5), HONEST),
    Lie("206 unasked, no total", EVERY, first_part("bytes {first}-{last}/*", 0.5), HONEST),
    Lie("206 unasked, from the middle", EVERY, first_part("bytes {first}-{last}/{total}", start=1), PROTOCOL, fresh=PROTOCOL),
    Lie("206 unasked, no Content-Range", EVERY, first_part(None), PROTOCOL, fresh=PROTOCOL),
    Lie("gzip at once", EVERY, whole(("Content-Encoding", "gzip"), body="gzip"), HONEST),
    Lie("a cut gzip at once", EVERY, whole(("Content-Encoding", "gzip"), body="cut gzip"), INCOMPLETE, fresh=INCOMPLETE, always=True),
    Lie("a damaged gzip at once", EVERY, whole(("Content-Encoding", "gzip"), body="damaged gzip"), PROTOCOL, fresh=PROTOCOL, always=True),
    Lie("br at once", EVERY, whole(("Content-Encoding", "br"), body="gzip"), PROTOCOL, fresh=PROTOCOL),
    Lie("416 at once", EVERY, says(416, ("Content-Range", "bytes */{total}")), RANGE_UNSUPPORTED, fresh=RANGE_UNSUPPORTED),
    Lie("a length of letters", EVERY, whole(("Content-Length", "12abc")), PROTOCOL, fresh=PROTOCOL),
    Lie("a negative length", EVERY, whole(("Content-Length", "-1")), PROTOCOL, fresh=PROTOCOL),
    Lie("a length of twenty digits", EVERY, whole(("Content-Length", "9" * 20)), PROTOCOL, fresh=PROTOCOL),
    Lie("a length of 2^53", EVERY, whole(("Content-Length", str(1 << 53))), PROTOCOL, fresh=PROTOCOL),
    Lie("two lengths", EVERY, whole(("Content-Length", "{total}"), ("Content-Length", "{more}")), PROTOCOL, fresh=PROTOCOL),
    Lie("one length twice", EVERY, whole(("Content-Length", "{total}"), ("Content-Length", "{total}")), HONEST),
    Lie("one length twice in a line", EVERY, whole(("Content-Length", "{total}, {total}")), HONEST),
    Lie("chunked, and a wrong length", EVERY, whole(("Content-Length", "{half}"), framing="chunked"), HONEST),
    Lie("a length that is too short", EVERY, without_range(whole(("Content-Length", "{less}"))), TOLD, fresh=TOLD),
    Lie("a length that is too long", EVERY, without_range(whole(("Content-Length", "{more}"), framing="close")), SHORT, fresh=SHORT, always=True, passes=9),
    Lie("200 for ever, cut in the middle", EVERY, whole(cut=0.5), INCOMPLETE, fresh=INCOMPLETE, always=True, passes=9),
    Lie("200 for ever, cut a little later each time", EVERY, whole(cut=0.1, grows=0.02), INCOMPLETE, fresh=INCOMPLETE, always=True, passes=9),
    Lie("the ETag another one each time, cut in the middle", EVERY, rotating_cut, SHORT, fresh=SHORT, always=True, validators=TAGGED, passes=9),
    Lie("longer than allowed", EVERY, whole(), "failed sizeLimit", fresh="failed sizeLimit", options={"maxFileBytes": 1}),
    Lie("longer than allowed, chunked", EVERY, whole(framing="chunked"), "failed sizeLimit", fresh="failed sizeLimit", options={"maxFileBytes": 1}),
)  # fmt: skip

TABLE = TABLE_OF_PARTS + TABLE_OF_STATUS + TABLE_OF_BEGINNINGS
