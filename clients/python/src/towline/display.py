"""What the command shows while downloads run: bars on a terminal with rich, quiet lines elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Optional

from . import streams
from .compat import Self
from .events import Progress
from .models import Download
from .text import name_of, plain, size

if TYPE_CHECKING:
    from .bars import Bars


def trouble(download: Download) -> str:
    """Why it is not completed."""
    if download.error is not None:
        return plain(f"{download.error.kind}: {download.error.message}")
    return download.reason or download.state


class Lines:
    """One line for each thing that happens. Shows no progress in between."""

    def __init__(self, out: streams.Output, quiet: bool = False) -> None:
        self._out = out
        self._quiet = quiet
        self._shown: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        pass

    def end(self) -> None:
        """What is said from now on is the last that stands there."""

    def changed(self, download: Download) -> None:
        text = self._text(download)
        if text and self._shown.get(download.id) != text:
            self._shown[download.id] = text
            if download.state == "failed":
                self.failed(text)
            else:
                self.note(text)

    def progress(self, event: Progress) -> None:
        pass

    def path(self, path: object) -> None:
        """A finished file, for standard output."""
        self._out.line(str(path))

    def note(self, text: str) -> None:
        if not self._quiet:
            self.say(text)

    def failed(self, text: str) -> None:
        """What is said with --quiet too."""
        self.say(text)

    def say(self, text: str) -> None:
        streams.say(text)

    def _text(self, download: Download) -> str:
        name = name_of(download)
        if download.state == "completed":
            return f"done     {name} ({size(download.received_bytes)})"
        if download.state in ("failed", "canceled", "paused"):
            return f"{download.state:8} {name} ({trouble(download)})"
        if download.state == "waiting":
            return f"waiting  {name} ({trouble(download)})"
        if download.owner == "other":
            return f"watching {name} (another process downloads it)"
        if download.state == "active" and download.phase == "downloading":
            total = size(download.total_bytes)
            transfer = download.transfer
            if transfer is not None and transfer.mode == "resumed":
                return f"resumed  {name} at {size(transfer.offset)} of {total}"
            return f"started  {name} ({total})"
        return ""


class BarLines(Lines):
    """A bar for each download, and lines above them."""

    def __init__(self, out: streams.Output, bars: Bars) -> None:
        super().__init__(out)
        self._bars = bars

    def __enter__(self) -> Self:
        self._bars.__enter__()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.end()

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self._bars.stop()

    def changed(self, download: Download) -> None:
        self._bars.changed(download)
        if download.state == "failed":
            super().changed(download)

    def progress(self, event: Progress) -> None:
        self._bars(event)

    def path(self, path: object) -> None:
        if os.isatty(1):
            self.say(plain(str(path)))  # above the bars, not into them
        else:
            super().path(path)

    def say(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._bars.say(text)


def display(out: streams.Output, *, quiet: bool = False, bars: Optional[bool] = None) -> Lines:
    """Bars if asked for, or by default on a terminal that can move its cursor; lines if rich is not there."""
    able = sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb", "unknown")
    if not quiet and (bars if bars is not None else able):
        with contextlib.suppress(ImportError):
            from .bars import Bars

            return BarLines(out, Bars())
    return Lines(out, quiet)
