"""Asks libcurl itself how it reads a response (oracle.c, built once into the folder of a worker)."""

from __future__ import annotations

import ctypes
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("oracle.c")
#: Curl's CURLE_OK.
OK = 0


class _Verdict(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_int),
        ("is_end_seen", ctypes.c_int),
        ("status", ctypes.c_long),
        ("http_version", ctypes.c_long),
        ("body", ctypes.c_void_p),
        ("body_length", ctypes.c_size_t),
        ("head", ctypes.c_void_p),
        ("head_length", ctypes.c_size_t),
        ("error", ctypes.c_char * 256),
    )


@dataclass(frozen=True)
class Opinion:
    """How a parser reads a response."""

    #: Why it refuses the response or calls it incomplete; None if it accepts it.
    refusal: str | None
    status: int
    body: bytes
    #: True if the end is visible while the connection is open.
    is_end_seen: bool
    #: All lines of heads and trailers, if the parser is libcurl.
    head: bytes = b""

    @property
    def final_head(self) -> bytes:
        """The head of the final response with its blank line; empty if it is incomplete."""
        block, is_interim = b"", False
        for line in re.findall(rb"[^\n]*\n", self.head):
            is_interim = re.match(rb"HTTP/\S+ +1\d\d", line) is not None if not block else is_interim
            block += line
            if line[:1] in b"\r\n":
                if not is_interim:
                    return block
                block = b""
        return b""

    @property
    def text(self) -> str:
        end = "its end seen" if self.is_end_seen else "ended by the close"
        taken = f"{len(self.body)} bytes, {end}"
        return f"status {self.status}, {taken}" + (f", refused: {self.refusal}" if self.refusal else "")


def lacks() -> str | None:
    """What this machine lacks to build the oracle, or None."""
    for name, command in (("gcc", "gcc --version"), ("libcurl's headers", "curl-config --cflags")):
        try:
            subprocess.run(command.split(), check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return name
    return None


class Libcurl:
    """The oracle. Not thread-safe."""

    def __init__(self, folder: Path) -> None:
        library = folder / "oracle.so"
        flags = shlex.split(
            subprocess.run(
                ["curl-config", "--cflags", "--libs"], check=True, capture_output=True, text=True
            ).stdout
        )
        warnings = ["-Wall", "-Wextra", "-Werror"]
        subprocess.run(
            ["gcc", "-O1", "-shared", "-fPIC", *warnings, "-o", str(library), str(SOURCE), *flags], check=True
        )
        self._library = ctypes.CDLL(str(library))

    def judge(self, pieces: list[bytes], range_: str | None = None) -> Opinion:
        """Sends the pieces to libcurl, and then the end of the connection."""
        verdict = _Verdict()
        lengths = (ctypes.c_size_t * len(pieces))(*map(len, pieces))
        asked = range_.encode() if range_ else None
        status = self._library.oracle_judge(
            b"".join(pieces), lengths, ctypes.c_size_t(len(pieces)), asked, ctypes.byref(verdict)
        )
        body = ctypes.string_at(verdict.body, verdict.body_length) if verdict.body else b""
        head = ctypes.string_at(verdict.head, verdict.head_length) if verdict.head else b""
        self._library.oracle_free(ctypes.byref(verdict))
        if status:
            raise RuntimeError("the oracle itself failed")
        refusal = None if verdict.code == OK else f"code {verdict.code}: {verdict.error.decode('latin-1')}"
        return Opinion(refusal, verdict.status, body, bool(verdict.is_end_seen), head)
