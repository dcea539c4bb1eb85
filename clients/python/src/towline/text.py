"""Words and numbers as the command shows them."""

from __future__ import annotations

from typing import Optional
from urllib.parse import unquote, urlsplit

from .models import Download

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size(count: Optional[float]) -> str:
    """`1536` → `1.5 KiB`; a question mark for what is not known."""
    if count is None:
        return "?"
    for unit in UNITS:
        if count < 1024 or unit == UNITS[-1]:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return ""


def duration(seconds: Optional[float]) -> str:
    """`75.0` → `1:15`; empty for what is not known."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def plain(text: str) -> str:
    """Without characters that a terminal acts on."""
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )


def name_of(download: Download) -> str:
    """The file's name, or that in the URL; never a query, which may hold a secret."""
    if download.path is not None:
        return plain(download.path.name)
    parts = urlsplit(download.url)
    return plain(unquote(parts.path.rpartition("/")[2]) or parts.hostname or download.id)
