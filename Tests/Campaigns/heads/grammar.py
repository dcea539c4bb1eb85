"""Makes random responses: valid ones, and then with one or several oddities."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace
from random import Random

from . import vocabulary as words
from .response import ETAG, FILE_BYTES, Response


def content(length: int) -> bytes:
    """The bytes of a file; some of them resemble heads and chunks."""
    seed = b"5\r\nhello\r\n0\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\n"
    return bytes(33 + (index * 7 + index // 9) % 90 for index in range(length - 14)) + seed[:14]


FILE = content(FILE_BYTES)


def draw(random: Random, first: int) -> Response:
    """One response: a fifth is plain, most have one or two oddities, some have many.

    `first` is the offset that the service requests when it resumes.
    """
    is_resumed = random.random() < 0.3
    coding = random.choice(("gzip", "deflate")) if not is_resumed and random.random() < 0.08 else None
    data = FILE[first:] if is_resumed else body_of(random)
    encoded = (
        {"gzip": gzip.compress(data, mtime=0), "deflate": zlib.compress(data)}[coding] if coding else data
    )
    framing = random.choices(("length", "chunked", "close"), (5, 4, 3))[0]
    fields = ordinary_fields(random, first if is_resumed else None, coding)
    body: tuple[bytes, ...] = (encoded,)
    if framing == "length":
        fields.append(b"Content-Length: %d\r\n" % len(encoded))
    elif framing == "chunked":
        fields.append(b"Transfer-Encoding: chunked\r\n")
        body = chunked(encoded, random)
    random.shuffle(fields)
    response = Response(
        before=(random.choice(words.INTERIM[:4]),) if random.random() < 0.1 else (),
        status_line=b"HTTP/1.1 206 Partial Content\r\n" if is_resumed else b"HTTP/1.1 200 OK\r\n",
        fields=tuple(fields),
        blank=b"\r\n",
        body=body,
        is_resumed=is_resumed,
        first=first,
        is_plain=True,
        notes=(framing, *((coding,) if coding else ())),
    )
    for _ in range(random.choices((0, 1, 2, 3, 6), (20, 40, 22, 12, 6))[0]):
        oddity = random.choices(list(ODDITIES), list(ODDITIES.values()))[0]
        changed = oddity(response, random)
        response = replace(changed, is_plain=False, notes=(*response.notes, oddity.__name__))
    return with_delivery(response, random)


def body_of(random: Random) -> bytes:
    return content(random.choices((14, 20, 70, 5_000, 70_000), (10, 30, 40, 15, 5))[0])


def ordinary_fields(random: Random, first: int | None, coding: str | None) -> list[bytes]:
    fields = random.sample(words.ORDINARY, random.randrange(4))
    if first is not None:
        last = FILE_BYTES - 1
        fields += [
            f"ETag: {ETAG}\r\n".encode(),
            b"Content-Range: bytes %d-%d/%d\r\n" % (first, last, FILE_BYTES),
        ]
    if coding:
        fields.append(f"Content-Encoding: {coding}\r\n".encode())
    return fields


def chunked(data: bytes, random: Random) -> tuple[bytes, ...]:
    """Valid chunks, one element each; the last one with the trailer section."""
    chunks, at = [], 0
    while at < len(data):
        length = random.choice((1, 5, 16, 100, 20_000))
        piece = data[at : at + length]
        at += length
        chunks.append(b"%x\r\n%s\r\n" % (len(piece), piece))
        if len(chunks) == 6:
            chunks.append(b"%X\r\n%s\r\n" % (len(data) - at, data[at:])) if at < len(data) else None
            break
    return (*chunks, b"0\r\n", b"\r\n")


def with_delivery(response: Response, random: Random) -> Response:
    """Decides how it is sent: whole or in pieces, cut or complete, and whether the connection stays open."""
    length = len(response.wire)
    if random.random() < 0.25 and length > 1:
        splits = tuple(sorted({random.randrange(1, length) for _ in range(random.randrange(1, 4))}))
        response = replace(response, splits=splits)
    if random.random() < 0.12:
        at = random.choice(
            (random.randrange(length), len(response.head), max(0, length - random.randrange(1, 9)))
        )
        response = replace(response, cut_at=at, is_plain=False, notes=(*response.notes, "cut"))
    return replace(response, stays_open=random.random() < 0.1)


# Oddities: each changes one part of a response.


def other_status_line(response: Response, random: Random) -> Response:
    return replace(response, status_line=random.choice(words.STATUS_LINES))


def harmed_status_line(response: Response, random: Random) -> Response:
    return replace(response, status_line=harmed(response.status_line, random))


def interim_before(response: Response, random: Random) -> Response:
    return replace(response, before=(*response.before, random.choice(words.INTERIM)))


def odd_field(response: Response, random: Random) -> Response:
    return with_field(response, random.choice(words.ODD_FIELDS), random)


def framing_field(response: Response, random: Random) -> Response:
    """Adds a field that affects where the body ends, with any name, colon, value and line end."""
    line = drawn_field(random, response)
    fields = list(response.fields)
    name = line.partition(b":")[0].strip().lower()
    same = [at for at, old in enumerate(fields) if old.partition(b":")[0].strip().lower() == name]
    if same and random.random() < 0.5:
        fields[same[0]] = line
        return replace(response, fields=tuple(fields))
    return with_field(response, line, random)


def odd_spelling(response: Response, random: Random) -> Response:
    """The same field in another spelling."""
    if not response.fields:
        return response
    at = random.randrange(len(response.fields))
    name, _, rest = response.fields[at].partition(b":")
    value = rest.strip()
    line = spelt(
        random.choice(words.NAME_SPELLINGS)(name), random, random.choice(words.VALUE_SPELLINGS)(value)
    )
    return replace(response, fields=(*response.fields[:at], line, *response.fields[at + 1 :]))


def repeated_field(response: Response, random: Random) -> Response:
    return with_field(response, random.choice(response.fields), random) if response.fields else response


def dropped_field(response: Response, random: Random) -> Response:
    if not response.fields:
        return response
    at = random.randrange(len(response.fields))
    return replace(response, fields=response.fields[:at] + response.fields[at + 1 :])


def harmed_field(response: Response, random: Random) -> Response:
    if not response.fields:
        return response
    at = random.randrange(len(response.fields))
    line = harmed(response.fields[at], random)
    return replace(response, fields=(*response.fields[:at], line, *response.fields[at + 1 :]))


def folded_field(response: Response, random: Random) -> Response:
    if not response.fields:
        return response
    at = random.randrange(len(response.fields))
    line = response.fields[at]
    name, colon, value = line.partition(b":")
    cut = random.randrange(len(value)) if value and random.random() < 0.5 else 0
    fold = random.choice((b"\r\n ", b"\r\n\t", b"\n ", b"\r\n \r\n ", b" \r\n  "))
    line = name + colon + value[:cut] + fold + value[cut:].lstrip(b" ")
    return replace(response, fields=(*response.fields[:at], line, *response.fields[at + 1 :]))


def many_or_long_fields(response: Response, random: Random) -> Response:
    kind = random.random()
    if kind < 0.5:
        return with_field(
            response, b"X-Long: " + b"v" * random.choice((9_000, 66_000, 101_000)) + b"\r\n", random
        )
    if kind < 0.8:
        return replace(response, fields=(b"X-A: b\r\n" * random.choice((300, 998, 1_200)), *response.fields))
    return replace(response, fields=(*response.fields, (b"X-Big: " + b"v" * 60_000 + b"\r\n") * 6))


def other_blank(response: Response, random: Random) -> Response:
    return replace(response, blank=random.choice(words.BLANKS))


def bare_line_ends(response: Response, random: Random) -> Response:
    end = random.choice((b"\n", b"\n", b"\r", b"\r\r\n"))
    if random.random() < 0.5 and response.fields:
        at = random.randrange(len(response.fields))
        line = response.fields[at].replace(b"\r\n", end)
        return replace(response, fields=(*response.fields[:at], line, *response.fields[at + 1 :]))
    return replace(
        response,
        status_line=response.status_line.replace(b"\r\n", end),
        fields=tuple(line.replace(b"\r\n", end) for line in response.fields),
        blank=response.blank.replace(b"\r\n", end),
    )


def bytes_behind(response: Response, random: Random) -> Response:
    return replace(response, body=(*response.body, random.choice(words.BEHIND)))


def other_body(response: Response, random: Random) -> Response:
    return replace(response, body=(random.choice(words.BODIES),))


def harmed_body(response: Response, random: Random) -> Response:
    """Damages or removes one element of the body (a chunk, the last chunk, the trailer section)."""
    at = random.randrange(len(response.body))
    if random.random() < 0.2:
        return replace(response, body=response.body[:at] + response.body[at + 1 :] or (b"",))
    part = response.body[at]
    part = harmed(part[:12], random) + part[12:]
    return replace(response, body=(*response.body[:at], part, *response.body[at + 1 :]))


def other_chunks(response: Response, random: Random) -> Response:
    """Chunk sizes, extensions and trailers that nobody should send."""
    data = b"".join(response.body) if response.is_resumed else FILE[:20]
    half = len(data) // 2
    first, second = data[:half], data[half:]
    body = (
        random.choice(words.CHUNK_SIZES)(len(first)) + b"\r\n" + first + random.choice(words.CHUNK_ENDS),
        random.choice(words.CHUNK_SIZES[:4])(len(second)) + b"\r\n" + second + b"\r\n",
        random.choice(words.LAST_CHUNKS),
        random.choice(words.TRAILERS),
    )
    fields = tuple(line for line in response.fields if not line.lower().startswith(b"content-length"))
    if not any(b"chunked" in line.lower() for line in fields):
        fields = (*fields, b"Transfer-Encoding: chunked\r\n")
    return replace(response, body=body, fields=fields)


ODDITIES = {
    other_status_line: 5,
    harmed_status_line: 2,
    interim_before: 4,
    odd_field: 6,
    framing_field: 9,
    odd_spelling: 7,
    repeated_field: 2,
    dropped_field: 2,
    harmed_field: 4,
    folded_field: 4,
    many_or_long_fields: 1,
    other_blank: 2,
    bare_line_ends: 3,
    bytes_behind: 3,
    other_body: 2,
    harmed_body: 3,
    other_chunks: 4,
}


def with_field(response: Response, line: bytes, random: Random) -> Response:
    at = random.randrange(len(response.fields) + 1)
    return replace(response, fields=(*response.fields[:at], line, *response.fields[at:]))


def spelt(name: bytes, random: Random, value: bytes) -> bytes:
    colon = random.choices((b": ", *words.COLONS), (4, *(1 for _ in words.COLONS)))[0]
    end = random.choices((b"\r\n", *words.LINE_ENDS), (12, *(1 for _ in words.LINE_ENDS)))[0]
    return name + colon + value + end


def drawn_field(random: Random, response: Response) -> bytes:
    name, values = random.choice(words.FRAMING)
    length = len(b"".join(response.body))
    numbers = {
        b"N": length,
        b"M": max(0, length - random.randrange(1, 6)),
        b"P": length + random.randrange(1, 6),
        b"A": response.first,
        b"B": max(0, response.first - 1),
        b"C": response.first + 1,
        b"Y": FILE_BYTES - 2,
        b"Z": FILE_BYTES - 1,
        b"T": FILE_BYTES,
        b"U": FILE_BYTES + 1,
    }
    value = random.choice(values)
    for key, number in numbers.items():
        value = value.replace(b"{%s}" % key, b"%d" % number)
    name = random.choices(
        (lambda text: text, *words.NAME_SPELLINGS), (14, *(1 for _ in words.NAME_SPELLINGS))
    )[0](name)
    return spelt(name, random, value)


def harmed(line: bytes, random: Random) -> bytes:
    """The line with one byte inserted, replaced, doubled or removed."""
    at = random.randrange(len(line) + 1)
    byte = random.choice(words.ODD_BYTES)
    return random.choice(
        (
            line[:at] + byte + line[at:],
            line[:at] + byte + line[at + 1 :],
            line[:at] + line[at : at + 1] * 2 + line[at + 1 :],
            line[:at] + line[at + 1 :],
        )
    )
