"""What the command shows while downloads run: bars on a terminal with rich, quiet lines elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, TextIO
from urllib.parse import unquote, urlsplit

from .models import Download, Progress

if TYPE_CHECKING:
    from typing_extensions import Self

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


def duration(milliseconds: Optional[int]) -> str:
    """`75000` → `1:15`; empty for what is not known."""
    if milliseconds is None:
        return ""
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def plain(text: str) -> str:
    """Without characters that a terminal acts on."""
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )


def name_of(download: Download) -> str:
    """The file's name, or that in the URL; never a query, which may hold a secret."""
    if download.path is not None:
        return plain(download.path.rpartition("/")[2])
    parts = urlsplit(download.url)
    return plain(unquote(parts.path.rpartition("/")[2]) or parts.hostname or download.id)


def trouble(download: Download) -> str:
    """Why it is not completed."""
    if download.error is not None:
        return plain(f"{download.error.kind}: {download.error.message}")
    return download.reason or download.state


class Lines:
    """One line for each thing that happens. Shows no progress in between."""

    def __init__(self, out: TextIO, quiet: bool = False) -> None:
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

    def changed(self, download: Download) -> None:
        text = self._text(download)
        if text and self._shown.get(download.id) != text:
            self._shown[download.id] = text
            if not self._quiet or download.state == "failed":
                self.say(text)

    def progress(self, event: Progress) -> None:
        pass

    def say(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def _text(self, download: Download) -> str:
        name = name_of(download)
        if download.state == "completed":
            return f"done     {name} ({size(download.received_bytes)})"
        if download.state in ("failed", "canceled", "paused"):
            return f"{download.state:8} {name} ({trouble(download)})"
        if download.state == "waiting":
            return f"waiting  {name} ({trouble(download)})"
        if download.owner == "other":
            return f"watching {name} (another process fetches it)"
        if download.state == "active" and download.phase == "downloading":
            total = size(download.total_bytes)
            transfer = download.transfer
            if transfer is not None and transfer.mode == "resumed":
                return f"resumed  {name} at {size(transfer.offset)} of {total}"
            return f"started  {name} ({total})"
        return ""


class Bars(Lines):
    """A progress bar for each download, by rich."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        from rich.console import Console
        from rich.progress import BarColumn, TaskID, TextColumn
        from rich.progress import Progress as RichProgress

        def column(template: str) -> TextColumn:
            return TextColumn(template, markup=False, justify="right")

        self._bars = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            column("{task.fields[share]}"),
            column("{task.fields[amount]}"),
            column("{task.fields[speed]}"),
            column("{task.fields[left]}"),
            console=Console(file=out),
            expand=True,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._bars.stop()

    def say(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False)

    def changed(self, download: Download) -> None:
        self._show(
            download.id,
            download.received_bytes,
            download.total_bytes,
            speed=self._word(download),
            left="",
            name=name_of(download),
        )
        if download.state == "failed":
            super().changed(download)

    def progress(self, event: Progress) -> None:
        speed = "" if event.bytes_per_second is None else f"{size(event.bytes_per_second)}/s"
        self._show(
            event.id, event.received_bytes, event.total_bytes, speed=speed, left=duration(event.eta_ms)
        )

    def _word(self, download: Download) -> str:
        if download.state == "completed":
            return "done"
        if download.state == "active":
            return "" if download.phase == "downloading" else download.phase or ""
        return download.state

    def _show(
        self,
        id: str,
        received: int,
        total: Optional[int],
        *,
        speed: str,
        left: str,
        name: Optional[str] = None,
    ) -> None:
        share = f"{100 * received // total}%" if total else ""
        amount = f"{size(received)} / {size(total)}"
        fields: dict[str, Any] = {"share": share, "amount": amount, "speed": speed, "left": left}
        if id not in self._tasks:
            self._tasks[id] = self._bars.add_task(name or id, total=None, **fields)
        self._bars.update(self._tasks[id], completed=received, total=total, description=name, **fields)


def display(out: Optional[TextIO] = None, *, quiet: bool = False, bars: Optional[bool] = None) -> Lines:
    """Bars if asked for, or by default on a terminal; lines if rich is not there."""
    out = out if out is not None else sys.stderr
    if not quiet and (bars if bars is not None else out.isatty()):
        try:
            return Bars(out)
        except ImportError:
            pass
    return Lines(out, quiet)
