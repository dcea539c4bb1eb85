"""How both clients start the service, and what they keep of its standard error."""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Optional
from weakref import WeakSet

from .binary import PathLike, find_binary
from .errors import ClientClosed

#: How long the service may take to end before it is killed. It promises 1.5 s.
EXIT_TIMEOUT = 5.0
#: Ends the service also where another process has its input open.
GOODBYE = b'{"jsonrpc":"2.0","method":"shutdown"}\n{"jsonrpc":"2.0","method":"exit"}\n'
STDERR_LINES = 20
CHUNK = 65_536

logger = logging.getLogger("towline.service")


@dataclass(frozen=True)
class Command:
    """The service's command line and surroundings."""

    arguments: tuple[str, ...]
    env: Optional[Mapping[str, str]]

    @staticmethod
    def build(
        binary: Optional[PathLike],
        app: Optional[str],
        state_dir: Optional[PathLike],
        roots: Iterable[PathLike],
        on_host_exit: Optional[Literal["finish", "suspend"]],
        args: Iterable[str],
        env: Optional[Mapping[str, str]],
    ) -> Command:
        arguments = [find_binary(binary)]
        if app is not None:
            arguments += ["--app", app]
        if state_dir is not None:
            arguments += ["--state-dir", os.path.abspath(os.path.expanduser(os.fspath(state_dir)))]
        for root in roots:
            arguments += ["--root", os.path.abspath(os.path.expanduser(os.fspath(root)))]
        if on_host_exit is not None:
            arguments += ["--on-host-exit", on_host_exit]
        return Command((*arguments, *args), None if env is None else dict(env))


def spawn(command: Command) -> subprocess.Popen[bytes]:
    """Starts the service with three pipes. Raises OSError if it cannot be run.

    It gets a session of its own: Ctrl-C in a terminal goes to the program alone, which ends the service in
    order.
    """
    _forget_ended()
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command.arguments,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        bufsize=0,
        env=command.env,
        start_new_session=True,
    )
    _running.add(process)
    return process


def check_process(owner: int) -> None:
    """Raises ClientClosed in another process than the client's: two on one pipe get each other's answers."""
    if os.getpid() != owner:
        raise ClientClosed("the client belongs to the process that made it: make another one after a fork")


def _close_copies() -> None:
    """In a forked child: the service must notice its host's end, and get no requests of others."""
    null = os.open(os.devnull, os.O_RDWR)
    for process in list(_running):
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                os.dup2(null, stream.fileno(), inheritable=False)
    os.close(null)


os.register_at_fork(after_in_child=_close_copies)


def keep_detached(process: subprocess.Popen[bytes]) -> None:
    """Keeps a process that continues without its client, so that its end is collected some time."""
    _forget_ended()
    _detached.append(process)


_running: WeakSet[subprocess.Popen[bytes]] = WeakSet()
_detached: list[subprocess.Popen[bytes]] = []


@atexit.register
def _let_go() -> None:
    """They are meant to continue: no reason for a ResourceWarning."""
    for process in _detached:
        process.returncode = process.poll() or 0


def _forget_ended() -> None:
    _detached[:] = [process for process in _detached if process.poll() is None]


class ErrorLog:
    """Passes the service's standard error on to the logger `towline.service`, and keeps its last lines."""

    def __init__(self) -> None:
        self._tail: deque[str] = deque(maxlen=STDERR_LINES)

    def line(self, line: bytes) -> None:
        text = line.decode(errors="replace").rstrip()
        if text:
            self._tail.append(text)
            logger.warning("%s", text)

    @property
    def tail(self) -> str:
        return "\n".join(self._tail)
