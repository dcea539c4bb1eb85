"""What `fetch` of both clients has in common."""

from __future__ import annotations

import time
import typing
from typing import Callable, Optional

from .events import Progress
from .models import Download
from .options import OnCancel

ProgressCallback = Callable[[Progress], object]


def check_on_cancel(on_cancel: OnCancel) -> None:
    """A mistyped word would only be noticed when it is too late."""
    if on_cancel not in typing.get_args(OnCancel):
        raise ValueError(f"on_cancel is one of {', '.join(typing.get_args(OnCancel))}, and not {on_cancel!r}")


class Deadline:
    """So many seconds from now; None: never."""

    def __init__(self, timeout: Optional[float]) -> None:
        self.timeout = timeout
        self._end = None if timeout is None else time.monotonic() + timeout

    def left(self) -> Optional[float]:
        return None if self._end is None else max(0.0, self._end - time.monotonic())


def is_stopped(download: Download) -> bool:
    """Whether it needs a `resume` to be fetched."""
    return download.state in ("paused", "failed") and download.owner != "other"
