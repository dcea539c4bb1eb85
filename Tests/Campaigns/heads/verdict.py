"""Which outcomes are allowed, given how libcurl and other parsers read the response."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from towline_client import JSON

from .grammar import FILE
from .oracle import Opinion
from .response import HELD_BYTES, Response
from .server import OTHER

REDIRECTS = {301, 302, 303, 307, 308}


@dataclass
class Outcome:
    """How the download ended."""

    download: JSON
    #: The file with the final name; None if there is none.
    file: bytes | None
    #: Paths of all requests.
    paths: list[str]


def judge(response: Response, outcome: Outcome, libcurl: Opinion, others: dict[str, Opinion]) -> list[str]:
    """What is wrong, one sentence each."""
    state = outcome.download["state"]
    if (state == "completed") != (outcome.file is not None):
        return [f"state and file differ: it is {state}, and under its name there is {outcome.file!r:.80}"]
    if state != "completed":
        return judge_refusal(response, outcome, libcurl)
    assert outcome.file is not None
    if not all(path.endswith("/file") for path in outcome.paths):
        return judge_redirect(outcome, libcurl)
    if len(outcome.paths) > (2 if response.is_resumed else 1):
        return judge_later(outcome, libcurl, others)
    return judge_taken(outcome.file, outcome.download, libcurl, others, response)


def judge_refusal(response: Response, outcome: Outcome, libcurl: Opinion) -> list[str]:
    found = []
    error = outcome.download["error"] or {}
    status = error.get("httpStatus")
    is_first = len(outcome.paths) == (2 if response.is_resumed else 1)
    # A redirect may have led to files that are not counted.
    is_first = is_first and not (libcurl.status in REDIRECTS and status == 404)
    if status is not None and is_first and status != libcurl.status:
        found.append(f"another status: it took {status}, libcurl {libcurl.status}")
    if error.get("kind") == "internal":
        found.append(f"an internal error: {error}")
    if response.is_plain and (response.is_resumed or libcurl.is_end_seen or not response.stays_open):
        found.append(f"a plain response refused: it is {outcome.download['state']}: {error}")
    return found


def judge_redirect(outcome: Outcome, libcurl: Opinion) -> list[str]:
    if libcurl.status not in REDIRECTS or libcurl.refusal:
        return [f"a redirect of its own: libcurl says {libcurl.text}"]
    return [] if outcome.file == OTHER else ["the redirect led to other bytes"]


def judge_later(outcome: Outcome, libcurl: Opinion, others: dict[str, Opinion]) -> list[str]:
    """Further requests to the honest server brought the rest, or the whole file."""
    allowed = {FILE}
    is_agreed = all(opinion.refusal or opinion.body == libcurl.body for opinion in others.values())
    if is_agreed and b'"v1"' in libcurl.final_head:
        # A client cannot detect two contents with the same validator.
        counted = counted_range(libcurl) if libcurl.status == 206 else None
        begin = counted[0] if counted else 0
        allowed.add((FILE[:begin] + libcurl.body + FILE[begin + len(libcurl.body) :])[: len(FILE)])
    if outcome.file in allowed:
        return []
    return [f"other bytes after more requests: the file ends in {(outcome.file or b'')[-200:]!r}"]


def judge_taken(
    file: bytes, download: JSON, libcurl: Opinion, others: dict[str, Opinion], response: Response
) -> list[str]:
    """The response became the file, or the rest of it."""
    found = []
    counted = counted_range(libcurl) if libcurl.status == 206 else None
    # A part ends where its range says: later bytes are ignored, and how the connection ended does not matter.
    end = counted[1] if counted else None
    is_counted = end is not None and len(libcurl.body) >= end
    if libcurl.refusal and not is_counted:
        found.append(f"refused by libcurl: {libcurl.refusal}")
    if not libcurl.final_head:
        found.append("no end of the head")
    if libcurl.status in (200, 203):
        allowed = {libcurl.body, *decoded(libcurl)}
    elif libcurl.status == 206 and counted and counted[0] <= (HELD_BYTES if response.is_resumed else 0):
        allowed = {FILE[: counted[0]] + libcurl.body[:end]} if is_counted else set()
    else:
        return [*found, f"not the file: it took {libcurl.status}, {counted} for success"]
    if file not in allowed:
        found.append(
            f"other bytes: the file ends in {file[-200:]!r}, and libcurl delivered {libcurl.body[-200:]!r}"
        )
    # With chunks, libcurl reports a missing last chunk even if nothing else is missing.
    is_framed = is_chunked(libcurl) or is_sized(libcurl)
    is_proven = libcurl.is_end_seen or is_counted or is_framed or file in decoded(libcurl)
    if download["lengthVerified"] and not is_proven:
        found.append("no end seen: lengthVerified is true, and only the end of the connection told the end")
    if response.is_plain and libcurl.is_end_seen and not download["lengthVerified"]:
        found.append("lengthVerified is false though the length is known")
    for name, opinion in others.items():
        if opinion.refusal:
            continue
        if is_dropped_by_libcurl(response) and not download["lengthVerified"]:
            continue
        if (opinion.body[:end], opinion.status) != (libcurl.body[:end], libcurl.status):
            found.append(f"another reading: {name} takes it for {opinion.text}: {opinion.body!r:.120}")
        elif download["lengthVerified"] and not (opinion.is_end_seen or is_proven):
            found.append(f"another end: {name} sees none, and lengthVerified is true")
    return found


def is_dropped_by_libcurl(response: Response) -> bool:
    """True if a line of the head begins with NUL: libcurl 7.88 then drops the rest of that read silently."""
    return b"\n\0" in response.head


def is_chunked(libcurl: Opinion) -> bool:
    """True if libcurl has read chunks; it shows this only by refusing a body without the last chunk."""
    pattern = rb"(?:^|\n)transfer-encoding:[ \t]*chunked[ \t]*\r?(?=\n)"
    return re.search(pattern, libcurl.final_head, re.IGNORECASE) is not None


def is_sized(libcurl: Opinion) -> bool:
    """True if the body has the Content-Length, which libcurl ignores beside `identity`."""
    lengths = re.findall(rb"(?i)\ncontent-length:[ \t]*(\d+)[ \t]*\r?(?=\n)", libcurl.final_head)
    is_identity = re.search(rb"(?i)\ntransfer-encoding:[ \t]*identity[ \t]*\r?\n", libcurl.final_head)
    return is_identity is not None and {int(length) for length in lengths} == {len(libcurl.body)}


def counted_range(libcurl: Opinion) -> tuple[int, int] | None:
    """First byte and count in a Content-Range, also without a unit or with `=`."""
    pattern = rb"(?:^|\n)content-range:[ \t]*(?:bytes[ =])?(\d+)-(\d+)/(?:\d+|\*)[ \t]*\r?(?=\n)"
    match = re.search(pattern, libcurl.final_head, re.IGNORECASE)
    return (int(match[1]), int(match[2]) + 1 - int(match[1])) if match else None


def decoded(libcurl: Opinion) -> set[bytes]:
    """The decompressed body, if the head has a Content-Encoding."""
    if b"content-encoding" not in libcurl.final_head.lower():
        return set()
    found = set()
    for bits in (31, 15, -15):
        decoder = zlib.decompressobj(bits)
        try:
            data = decoder.decompress(libcurl.body)
        except zlib.error:
            continue
        if decoder.eof:
            found.add(data)
    return found
