"""The command's standard streams, also where they are closed, full, or nobody reads them."""

from __future__ import annotations

import contextlib
import os
import sys

from .text import plain


def prepare() -> None:
    """Opens streams that were closed: the next file that is opened would become one of them otherwise.

    Writing to standard output still fails then, as it should: a path is lost.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, mode)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    # None, where they were closed; and print(file=None) writes to standard output.
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def say(text: str) -> None:
    """A line to standard error, if anybody can read it: the downloads are more important."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def complain(text: str) -> None:
    say(f"towline: {plain(text)}")


class Output:
    """Standard output. `lost` is true once a line could not be written."""

    def __init__(self) -> None:
        self.lost = False

    def line(self, text: str) -> None:
        """Writes a line at once. Not through a buffer, which would write it again after a failure."""
        left = os.fsencode(text + "\n")
        try:
            while left:
                left = left[os.write(1, left) :]
        except BrokenPipeError:
            self.lost = True
        except OSError as error:
            if not self.lost:
                complain(f"cannot write to standard output: {error.strerror}")
            self.lost = True


def finish(status: int) -> int:
    """The exit status, after the last of what is buffered was written or dropped."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # Python would try again at its end, complain, and change the status.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
                stream.flush()
            if stream is sys.stdout:
                status = status or 1
    return status
