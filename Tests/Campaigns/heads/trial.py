"""One service that downloads response after response, and the oracles."""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path

from towline_client import JSON, RPCError, Timeout, Towline, clean_environment

from .oracle import Libcurl, Opinion
from .readers import READERS
from .response import FILE_BYTES, HELD_BYTES, Response
from .server import Play, Server
from .verdict import Outcome, judge

#: Stall timeouts: short for a response that stays open without an end; for all others so long that even a
#: busy machine does not reach it.
STALL_MS, PATIENT_STALL_MS = 300, 20_000
SETTLE_SECONDS = 30.0
#: Downloads per process, to limit its records and messages.
DOWNLOADS_PER_PROCESS = 1_000


class Bench:
    """The service and the oracles, reused for all cases."""

    def __init__(self, binary: Path, folder: Path, build: Path) -> None:
        self.binary, self.folder = binary, folder
        self.libcurl = Libcurl(build)
        self.server = Server()
        self.host: Towline | None = None
        self.count = 0

    def learn_first(self) -> int:
        """The offset that the service requests when it resumes; it may request some received bytes again."""
        play = Play(Response((), b"", (), b"", (), is_resumed=True))
        self._download(play, PATIENT_STALL_MS)
        for _, asked in play.requests[1:]:
            if match := re.match(r"bytes=(\d+)-", asked or ""):
                return int(match[1])
        return HELD_BYTES

    def close(self) -> None:
        self.stop()
        self.server.close()

    def stop(self) -> list[str]:
        """Ends the process; returns its violations of the rules of the wire."""
        host, self.host = self.host, None
        if host is None:
            return []
        host.finish()
        shutil.rmtree(self.folder / "state", ignore_errors=True)
        return host.violations

    def _launched(self) -> Towline:
        if self.host is None or self.host.process.poll() is not None:
            self.stop()
            for name in ("state", "home", "out"):
                (self.folder / name).mkdir(exist_ok=True)
            state = ["--state-dir", str(self.folder / "state")]
            self.host = Towline(
                self.binary, state, env=clean_environment(self.folder / "home"), cwd=self.folder
            )
        return self.host

    def run(self, response: Response) -> tuple[list[str], Outcome | None, Opinion, dict[str, Opinion]]:
        """Downloads the response; returns what is wrong, the outcome, and the opinions."""
        asked = f"{response.first}-{FILE_BYTES - 1}" if response.is_resumed else None
        libcurl = self.libcurl.judge(response.pieces, asked)
        others = {name: read(response.pieces) for name, read in READERS.items()}
        try:
            # libcurl may notice an error only when the connection ends.
            sees_end = libcurl.is_end_seen and not libcurl.refusal
            must_end = sees_end or (response.is_plain and response.is_resumed)
            is_endless = response.stays_open and not must_end
            outcome = self._download(Play(response), STALL_MS if is_endless else PATIENT_STALL_MS)
        except (RPCError, Timeout, OSError) as error:
            text = f"{type(error).__name__}: {error}"[:1500]
            return [text, *self.stop()], None, libcurl, others
        found = judge(response, outcome, libcurl, others)
        has_violated = self.host is not None and bool(self.host.violations)
        if has_violated or self.count % DOWNLOADS_PER_PROCESS == 0:
            found += self.stop()
        return found, outcome, libcurl, others

    def _download(self, play: Play, stall_ms: int) -> Outcome:
        host = self._launched()
        self.count += 1
        key = f"c{self.count}"
        self.server.plays[key] = play
        # A new address, so that nothing is known about the origin and no connection is shared.
        host_number = self.count % DOWNLOADS_PER_PROCESS
        origin = f"http://127.1.{host_number // 250}.{host_number % 250 + 1}"
        target = self.folder / "out" / key
        host.call(
            "start",
            id=key,
            url=f"{origin}:{self.server.port}/{key}/file",
            path=str(target),
            events="none",
            stallTimeoutMs=stall_ms,
            retry={"maxAttempts": 2 if play.response.is_resumed else 0, "initialDelayMs": 1, "maxDelayMs": 1},
        )
        answer = host.call("wait", id=key, until="settled", timeout=SETTLE_SECONDS)
        download: JSON = answer["download"]
        file = target.read_bytes() if target.exists() else None
        for path in (target, Path(f"{target}.towline")):
            with contextlib.suppress(OSError):
                path.unlink()
        del self.server.plays[key]
        return Outcome(download, file, [path for path, _ in play.requests])
