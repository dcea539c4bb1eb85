"""The service as a child of an event loop.

Not asyncio's own subprocess: that one kills the child when the loop ends, but a background download outlives
it, and its StreamReader raises over lines of 64 KiB.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from typing import IO, Callable, Optional

from .core import LineSplitter
from .process import CHUNK, Command, keep_detached, spawn


class Child:
    """A running process and its three pipes. To be used from one event loop."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._stdin: Optional[asyncio.StreamWriter] = None
        self._transports: list[asyncio.BaseTransport] = []
        self.stdout = asyncio.StreamReader()
        self.stderr = asyncio.StreamReader()

    @staticmethod
    async def spawn(command: Command) -> Child:
        """Raises OSError if the program cannot be run."""
        process = spawn(command)
        child = Child(process)
        try:
            await child._connect()
        except BaseException:
            process.kill()
            child.close_pipes()
            process.wait()
            raise
        return child

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        for reader, pipe in ((self.stdout, self._process.stdout), (self.stderr, self._process.stderr)):
            transport, _ = await loop.connect_read_pipe(_protocol(reader), pipe)
            self._transports.append(transport)
        written, protocol = await loop.connect_write_pipe(
            _protocol(asyncio.StreamReader()), self._process.stdin
        )
        self._transports.append(written)
        self._stdin = asyncio.StreamWriter(written, protocol, None, loop)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> Optional[int]:
        """None while it runs."""
        return self._process.poll()

    def send(self, line: bytes) -> None:
        """Writes without waiting, however much it is."""
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(line)

    async def drain(self) -> None:
        """Waits until the process has read nearly all of it. To be awaited by one task at a time."""
        if self._stdin is not None:
            with contextlib.suppress(ConnectionError):  # the reader of its output notices the end
                await self._stdin.drain()

    def close_input(self) -> None:
        if self._stdin is not None:
            self._stdin.close()

    async def wait(self) -> int:
        """The exit status. Polls: it is called when the end is near."""
        delay = 0.001
        while (status := self._process.poll()) is None:
            await asyncio.sleep(delay)
            delay = min(delay * 2, 0.05)
        return status

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def detach(self) -> None:
        """Lets it continue without us."""
        self.close_pipes()
        keep_detached(self._process)

    def close_pipes(self) -> None:
        """Closes what is still open of them, unsent input included."""
        for transport in self._transports:
            if transport.is_closing():
                continue
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()
            else:
                transport.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            _close_unless_connected(pipe, self._transports)


def _protocol(reader: asyncio.StreamReader) -> Callable[[], asyncio.StreamReaderProtocol]:
    return lambda: asyncio.StreamReaderProtocol(reader)


def _close_unless_connected(pipe: Optional[IO[bytes]], transports: list[asyncio.BaseTransport]) -> None:
    """A transport closes its pipe itself, a little later."""
    if pipe is not None and all(transport.get_extra_info("pipe") is not pipe for transport in transports):
        pipe.close()


async def read_lines(stream: asyncio.StreamReader, take: Callable[[bytes], None]) -> None:
    """Hands every line over until the end."""
    splitter = LineSplitter()
    while chunk := await stream.read(CHUNK):
        for line in splitter.feed(chunk):
            take(line)


async def drain_reader(stream: asyncio.StreamReader) -> None:
    """Reads to the end, so that the writer need not wait."""
    while await stream.read(CHUNK):
        pass
