"""One response in parts: the bytes on the wire, in a form that can be made smaller."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

#: How many bytes a paused download has received (more than a service is likely to request again), and how
#: many it lacks.
HELD_BYTES = 20_000
REST_BYTES = 30
FILE_BYTES = HELD_BYTES + REST_BYTES
ETAG = '"v1"'


@dataclass(frozen=True)
class Response:
    """The bytes of one answer, and how they are sent."""

    #: Complete interim responses (1xx), or anything else before the head.
    before: tuple[bytes, ...]
    status_line: bytes
    #: Lines with their ends; a folded field is one element.
    fields: tuple[bytes, ...]
    #: What ends the head.
    blank: bytes
    #: Chunks, or a plain body as one element; trailers; bytes after the end.
    body: tuple[bytes, ...]
    #: The connection stays open after the last byte.
    stays_open: bool = False
    #: Only this many bytes are sent.
    cut_at: int | None = None
    #: The offsets at which it is split into pieces.
    splits: tuple[int, ...] = ()
    #: It answers a request for the rest of a file, not for the whole file.
    is_resumed: bool = False
    #: The offset that a resume requests.
    first: int = 0
    #: It is valid, and no client should refuse it.
    is_plain: bool = False
    #: How it was changed, for human readers.
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def head(self) -> bytes:
        return b"".join((*self.before, self.status_line, *self.fields, self.blank))

    @property
    def wire(self) -> bytes:
        return (self.head + b"".join(self.body))[: self.cut_at]

    @property
    def pieces(self) -> list[bytes]:
        wire, pieces, last = self.wire, [], 0
        for split in sorted({*self.splits, len(wire)}):
            if last < split <= len(wire):
                pieces.append(wire[last:split])
                last = split
        return pieces

    @property
    def size(self) -> int:
        """Its size for comparisons: the bytes, then everything that a plain answer does not have."""
        extras = len(self.splits) + self.stays_open + self.is_resumed + (self.cut_at is not None)
        return 16 * len(self.wire) + 8 * (self.status_line[:9] != b"HTTP/1.1 ") + extras

    @property
    def text(self) -> str:
        how = "stays open" if self.stays_open else "then the connection ends"
        asked = "to a resume" if self.is_resumed else "to a request for the whole"
        pieces = f" in pieces at {self.splits}" if self.splits else ""
        wire = repr(self.wire)[1:]
        if len(wire) > 1_500:
            wire = f"{wire[:1000]} ... {wire[-400:]}"
        return f"{asked}{pieces}: {wire}, {how}"

    def without(self, **changes: object) -> Response:
        """A copy with changed parts, which no longer counts as plain."""
        return replace(self, is_plain=False, **changes)  # type: ignore[arg-type]
