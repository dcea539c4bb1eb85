"""Progress bars for `fetch` and `download`, by rich (`pip install 'towline[cli]'`).

```
with Towline() as client, Bars() as bars:
    client.fetch(url, directory="downloads", progress=bars)
```

One `Bars` serves any number of downloads, also from several threads or tasks: one bar each.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Optional, TextIO

try:
    from rich.console import Console
    from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn
    from rich.progress import Progress as RichProgress
    from rich.table import Column, Table
except ImportError as error:
    raise ImportError("towline.bars needs rich: pip install 'towline[cli]'") from error

from .compat import Self
from .events import Progress
from .models import Download
from .text import duration, name_of, plain, size

#: Columns of the terminal from which on each part is shown.
LEAST = {"name": 0, "bar": 24, "share": 12, "amount": 60, "speed": 48, "left": 72}


class Bars:
    """A context manager with a bar for each download; give it to `fetch` or `download` as `progress`.

    `file` is where the bars go (default: standard error). Where that is no terminal, only the last state is
    written, when the block is left.
    """

    def __init__(self, file: Optional[TextIO] = None) -> None:
        self.console = Console(file=file if file is not None else sys.stderr)
        self._bars = _Fitted(self.console)
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
        self.stop()

    def stop(self) -> None:
        """Draws the bars a last time; what is printed later stands below them."""
        self._bars.stop()

    def __call__(self, event: Progress) -> None:
        """Shows how far a download is."""
        speed = "" if event.bytes_per_second is None else f"{size(event.bytes_per_second)}/s"
        name = None if event.path is None else plain(event.path.name)
        self._show(event, speed=speed, left=duration(event.eta), name=name)

    def changed(self, download: Download) -> None:
        """Shows the state of a download, for programs that read events."""
        word = "done" if download.state == "completed" else download.state
        if download.state == "active":
            word = "" if download.phase == "downloading" else download.phase or ""
        over = download.is_final or download.state == "paused"
        self._show(download, speed=word, left="", name=name_of(download), over=over)

    def say(self, text: str) -> None:
        """Prints a line above the bars."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _show(self, what: Any, *, speed: str, left: str, name: Optional[str], over: bool = False) -> None:
        received, total = what.received_bytes, what.total_bytes
        share = f"{100 * received // total}%" if total else ""
        amount = f"{size(received)} / {size(total)}"
        fields: dict[str, Any] = {"share": share, "amount": amount, "speed": speed, "left": left}
        if what.id not in self._tasks:
            self._tasks[what.id] = self._bars.add_task(name or what.id, total=None, **fields)
        if total is None and over:
            received, total = 0, 1  # an empty bar, and not one that seems to be busy
        self._bars.update(self._tasks[what.id], completed=received, total=total, description=name, **fields)


class _Fitted(RichProgress):
    """Shows as many columns as there is space for, each download on one line."""

    def __init__(self, console: Console) -> None:
        self._screen = console
        self._parts: dict[str, ProgressColumn] = {
            "name": _text("{task.description}", "left", ratio=1),
            "bar": BarColumn(bar_width=None, table_column=Column(ratio=2)),
            **{name: _text("{task.fields[" + name + "]}", "right") for name in list(LEAST)[2:]},
        }
        # What programs print goes where it would go without bars.
        super().__init__(
            *self._parts.values(), console=console, expand=True, redirect_stdout=False, redirect_stderr=False
        )

    def make_tasks_table(self, tasks: Sequence[Task]) -> Table:  # type: ignore[override]
        width = self._screen.width
        self.columns = tuple(column for name, column in self._parts.items() if width >= LEAST[name])
        return super().make_tasks_table(tasks)


def _text(template: str, justify: Any, ratio: Optional[int] = None) -> TextColumn:
    column = Column(no_wrap=True, overflow="ellipsis", justify=justify, ratio=ratio)
    return TextColumn(template, markup=False, justify=justify, table_column=column)
