"""A host for tests: starts the service, speaks JSON-RPC with it, and checks that it keeps the rules of the
wire.

Independent of the client library in ``clients/``, so that a bug in one cannot hide a bug in the other.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

JSON = dict[str, Any]
RequestId = Union[int, str, float, None]

ANSWER_TIMEOUT = 20.0
OUTPUT_MESSAGE_LIMIT = 64_000
ENVELOPE = {"jsonrpc", "id", "method", "params", "result", "error"}
ERROR_MEMBERS = {"code", "message", "data"}
TRAPS = {-signal.SIGILL, -signal.SIGTRAP, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGFPE}


class RPCError(Exception):
    """The error in an answer of the service."""

    def __init__(self, error: JSON) -> None:
        super().__init__(json.dumps(error))
        self.error = error
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: JSON = error.get("data") or {}

    @property
    def kind(self) -> str | None:
        return self.data.get("kind")

    def names(self, word: str) -> bool:
        """True if the message or the data contain `word`."""
        return word in json.dumps(self.error, ensure_ascii=False)


class Timeout(AssertionError):
    """An expected event or answer did not arrive."""


def envelope_violations(message: Any, *, within_batch: bool = False) -> list[str]:
    """Violations of the rules that every output message must follow."""
    if isinstance(message, list):
        if within_batch or not message:
            return ["an array that is empty or nested"]
        return [found for entry in message for found in envelope_violations(entry, within_batch=True)]
    if not isinstance(message, dict):
        return [f"not an object: {message!r}"]
    found = []
    if message.get("jsonrpc") != "2.0":
        found.append("jsonrpc is not 2.0")
    if set(message) - ENVELOPE:
        found.append(f"members outside the envelope: {sorted(set(message) - ENVELOPE)}")
    if "method" in message:
        if {"result", "error"} & set(message):
            found.append("a method beside a result or an error")
        if not isinstance(message.get("params", {}), dict):
            found.append("params of a notification are not an object")
    else:
        if "id" not in message:
            found.append("a response without an id")
        if ("result" in message) == ("error" in message):
            found.append("a response needs exactly one of result and error")
        error = message.get("error")
        if error is not None:
            if set(error) - ERROR_MEMBERS or not {"code", "message"} <= set(error):
                found.append(f"the members of the error are {sorted(error)}")
            elif error["code"] > 0 and not {"kind", "retryable"} <= set(error.get("data") or {}):
                found.append(f"data of error {error['code']} lacks kind or retryable")
    return [f"{text}: {json.dumps(message)[:300]}" for text in found]


class Towline:
    """One running process of the service.

    Thread-safe. `violations` collects everything that breaks a rule for all output.
    """

    def __init__(
        self,
        binary: str | Path,
        args: Sequence[str] = (),
        *,
        env: Mapping[str, str],
        cwd: str | Path,
        framing: str = "line",
        read_at_once: bool = True,
        ignore: Sequence[signal.Signals] = (),
        prefix: Sequence[str] = (),
    ) -> None:
        self.framing = framing
        self.messages: list[Any] = []
        self.message_times: list[float] = []
        self.violations: list[str] = []
        self.stdout_bytes = b""
        self.stderr_bytes = b""
        self.killed = False
        self._answers: dict[str, JSON] = {}
        #: method by request id, of the requests that `send` sent
        self._methods: dict[str, str] = {}
        self._next_id = 1
        self._last_seq: int | None = None
        self._ended = False
        self._condition = threading.Condition()
        self._write_lock = threading.Lock()

        def before_exec() -> None:
            for which in ignore:
                signal.signal(which, signal.SIG_IGN)

        self.process = subprocess.Popen(
            [*prefix, str(binary), *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env),
            cwd=str(cwd),
            bufsize=0,
            preexec_fn=before_exec if ignore else None,
        )
        self._readers = [threading.Thread(target=self._read_stderr, daemon=True)]
        self._readers[0].start()
        if read_at_once:
            self.start_reading()

    # Input

    def raw(self, data: bytes | str) -> None:
        """Writes these bytes to the service's stdin."""
        if isinstance(data, str):
            data = data.encode()
        assert self.process.stdin is not None
        with self._write_lock:
            view = memoryview(data)
            while view:
                view = view[self.process.stdin.write(view) or 0 :]

    def raw_line(self, text: str) -> None:
        self.raw(text + "\n")

    def send_message(self, message: Any) -> None:
        """Writes one message in the framing of this process."""
        body = json.dumps(message, separators=(",", ":")).encode()
        if self.framing == "header":
            self.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        else:
            self.raw(body + b"\n")

    def notify(self, method: str, /, **params: Any) -> None:
        message: JSON = {"jsonrpc": "2.0", "method": method}
        if params:
            message["params"] = params
        self.send_message(message)

    def send(self, method: str, params: JSON | None = None) -> int:
        """Sends a request and returns its id for `answer`."""
        with self._condition:
            request_id = self._next_id
            self._next_id += 1
            self._methods[json.dumps(request_id)] = method
        message: JSON = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            message["params"] = params
        self.send_message(message)
        return request_id

    def answer(self, request_id: RequestId, timeout: float = ANSWER_TIMEOUT) -> Any:
        """Waits for the result of the request; raises RPCError for an error."""
        message = self.response(request_id, timeout)
        if "error" in message:
            raise RPCError(message["error"])
        return message["result"]

    def response(self, request_id: RequestId, timeout: float = ANSWER_TIMEOUT) -> JSON:
        """Waits for the whole response message."""
        key = json.dumps(request_id)
        self._wait(lambda: key in self._answers, timeout, f"the answer to {key}")
        return self._answers[key]

    @property
    def errors(self) -> list[tuple[str, int, str | None]]:
        """The errors in answers so far: method, code and kind."""
        with self._condition:
            answered = [
                (self._methods[k], m["error"])
                for k, m in self._answers.items()
                if k in self._methods and "error" in m
            ]
        return [(method, e["code"], (e.get("data") or {}).get("kind")) for method, e in answered]

    def call(self, method: str, /, *, timeout: float = ANSWER_TIMEOUT, **params: Any) -> Any:
        return self.answer(self.send(method, params or None), timeout)

    def error(self, method: str, /, *, timeout: float = ANSWER_TIMEOUT, **params: Any) -> RPCError:
        """Calls a method that must fail, and returns its error."""
        try:
            result = self.call(method, timeout=timeout, **params)
        except RPCError as error:
            return error
        raise AssertionError(f"{method} {params} succeeded: {result}")

    # Output

    def start_reading(self) -> None:
        thread = threading.Thread(target=self._read_stdout, daemon=True)
        self._readers.append(thread)
        thread.start()

    def stop_having_a_reader(self) -> None:
        """Closes the read end of the service's stdout; only before anything reads it."""
        assert self.process.stdout is not None
        self.process.stdout.close()

    @property
    def events(self) -> list[JSON]:
        with self._condition:
            return [m for m in self.messages if isinstance(m, dict) and "method" in m]

    def changed(self, download_id: str | None = None) -> list[JSON]:
        """The downloads of the `changed` events so far, oldest first."""
        found = [e["params"]["download"] for e in self.events if e["method"] == "changed"]
        return [d for d in found if download_id in (None, d["id"])]

    def progress(self, download_id: str | None = None) -> list[JSON]:
        found = [e["params"] for e in self.events if e["method"] == "progress"]
        return [p for p in found if download_id in (None, p["id"])]

    def wait_event(self, predicate: Callable[[JSON], bool], timeout: float = ANSWER_TIMEOUT) -> JSON:
        """The first event, received or still to come, for which the predicate holds."""
        return self.wait_message(lambda m: isinstance(m, dict) and "method" in m and predicate(m), timeout)

    def wait_message(self, predicate: Callable[[Any], bool], timeout: float = ANSWER_TIMEOUT) -> Any:
        seen = 0
        found: list[Any] = []

        def look() -> bool:
            nonlocal seen
            while seen < len(self.messages):
                message = self.messages[seen]
                seen += 1
                if predicate(message):
                    found.append(message)
                    return True
            return False

        self._wait(look, timeout, "a message")
        return found[0]

    def wait_state(self, download_id: str, *states: str, timeout: float = ANSWER_TIMEOUT) -> JSON:
        """The newest `changed` of the download, once it has one of the states."""
        newest: list[JSON] = []

        def look() -> bool:
            for message in reversed(self.messages):
                if isinstance(message, dict) and message.get("method") == "changed":
                    download = message["params"]["download"]
                    if download["id"] == download_id:
                        newest[:] = [download]
                        return download["state"] in states
            return False

        self._wait(look, timeout, f"{download_id} to be {' or '.join(states)}, newest: {newest}")
        return newest[0]

    def wait_received(self, download_id: str, count: int, timeout: float = ANSWER_TIMEOUT) -> JSON:
        """The first progress event with at least `count` received bytes."""
        return self.wait_event(
            lambda e: (
                e["method"] == "progress"
                and e["params"]["id"] == download_id
                and e["params"]["receivedBytes"] >= count
            ),
            timeout,
        )

    # The end

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def signal(self, which: signal.Signals) -> None:
        self.process.send_signal(which)

    def kill(self) -> None:
        """Sends SIGKILL and waits until the process has exited."""
        self.killed = True
        self.process.kill()
        self.process.wait(10)
        self._join()

    def wait_exit(self, timeout: float = ANSWER_TIMEOUT) -> int:
        """The exit status as a shell reports it: 128+n after death by signal n."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Timeout(f"the process did not end within {timeout} s; stderr: {self.stderr}") from None
        self._join()
        return status if status >= 0 else 128 - status

    def finish(self) -> None:
        """Ends the process in any state and closes everything."""
        with contextlib.suppress(OSError, ValueError):
            self.close_stdin()
        if self.process.poll() is None:
            self.killed = True
            self.process.kill()
        self.process.wait(10)
        self._join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        if self.process.returncode in TRAPS:
            self.violations.append(
                f"the process died of signal {-self.process.returncode}; stderr: {self.stderr[-2000:]}"
            )

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode(errors="replace")

    # Internals

    def _wait(self, done: Callable[[], bool], timeout: float, what: str) -> None:
        deadline = time.monotonic() + timeout
        with self._condition:
            while not done():
                left = deadline - time.monotonic()
                if self._ended or left <= 0:
                    why = "output ended" if self._ended else f"{timeout} s have passed"
                    last = json.dumps(self.messages[-3:])[-1500:]
                    raise Timeout(
                        f"waited for {what}, but {why}; last messages: {last}; stderr: {self.stderr[-1500:]}"
                    )
                self._condition.wait(left)

    def _join(self) -> None:
        for thread in self._readers:
            thread.join(10)

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        with contextlib.suppress(ValueError, OSError):
            while chunk := self.process.stderr.read(65_536):
                self.stderr_bytes += chunk

    def _read_stdout(self) -> None:
        assert self.process.stdout is not None
        buffer = b""
        split = self._split_headers if self.framing == "header" else self._split_lines
        with contextlib.suppress(ValueError, OSError):
            while chunk := self.process.stdout.read(65_536):
                self.stdout_bytes += chunk
                buffer = split(buffer + chunk)
        with self._condition:
            if buffer and not self.killed:
                self.violations.append(f"output ends inside a message: {buffer[:200]!r}")
            self._ended = True
            self._condition.notify_all()

    def _split_lines(self, buffer: bytes) -> bytes:
        *lines, rest = buffer.split(b"\n")
        for line in lines:
            self._take(line)
        return rest

    def _split_headers(self, buffer: bytes) -> bytes:
        while True:
            head, blank, rest = buffer.partition(b"\r\n\r\n")
            if not blank:
                return buffer
            prefix = b"Content-Length: "
            if not head.startswith(prefix) or not head[len(prefix) :].isdigit():
                self.violations.append(f"not a header that every editor can read: {head!r}")
                return b""
            length = int(head[len(prefix) :])
            if len(rest) < length:
                return buffer
            self._take(rest[:length])
            buffer = rest[length:]

    def _take(self, line: bytes) -> None:
        now = time.monotonic()
        with self._condition:
            try:
                message = json.loads(line)
            except ValueError:
                self.violations.append(f"not JSON: {line[:200]!r}")
                return
            if not line.isascii() or b"\r" in line:
                self.violations.append(f"not plain ASCII: {line[:200]!r}")
            if len(line) > OUTPUT_MESSAGE_LIMIT and not isinstance(message, list):
                self.violations.append(f"a message of {len(line)} bytes")
            self.violations += envelope_violations(message)
            self.messages.append(message)
            self.message_times.append(now)
            if isinstance(message, dict):
                self._file(message)
            self._condition.notify_all()

    def _file(self, message: JSON) -> None:
        if "method" in message:
            seq = message.get("params", {}).get("seq")
            if message["method"] == "changed" and isinstance(seq, int):
                if self._last_seq is not None and seq <= self._last_seq:
                    self.violations.append(f"seq {seq} after {self._last_seq}")
                self._last_seq = seq
            return
        key = json.dumps(message.get("id"))
        if key in self._answers and message.get("id") is not None:
            self.violations.append(f"a second answer to {key}")
        self._answers[key] = message


def clean_environment(home: Path, **extra: str) -> dict[str, str]:
    """An environment without the user's proxies, locale or settings."""
    return {"HOME": str(home), "PATH": os.environ.get("PATH", "/usr/bin:/bin"), **extra}
