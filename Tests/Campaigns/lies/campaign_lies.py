"""Servers that lie or behave unusually, and a client that is interrupted.

A case is a row (a lie of `table.TABLE`, or an honest manner of `honest.MANNERS`) with random choices: a size;
where the first transfer is interrupted (before the head, at 0, 1, the middle, around buffer limits, before
the last byte, after all bytes but before the end is known) and how (pause, connection cut or reset, SIGTERM,
kill -9, kill -9 while paused); what the server has afterwards (the same file, or another version: other
bytes, longer, shorter, grown, cut short, one with the same beginning, one that differs only in the first and
the last byte, so that any overlap is equal); validators; `onChange`, `resumePolicy`, a checksum; whether the
next answer is cut off too, by the server or by kill -9.

What must hold:

- the end is the one that the table and `ends.Story` give: state, error kind, version;
- a file with the final name is one complete version that the server had; only `probe` and `trust` may join
  two versions, if the server gives nothing that distinguishes them;
- with a checksum no other version is completed;
- a pause or SIGTERM keeps each received byte, kill -9 loses less than 1 MiB; the next request begins there;
- a refusal (404, 401, a web page ...) keeps the received bytes;
- after a failure, or a wait for a new link, the download completes once the server is honest: by `resume`, or
  by `update` to another URL of the same file;
- no other file is beside a completed one, and an incomplete download has no file with the final name;
- the server never sends more than a few times the size of the file (`Lie.passes`);
- the process breaks no rule of the wire and does not crash.

Not covered: https, proxies, several connections, stalls, `Retry-After` (such a case would take a second or
more).
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from pathlib import Path
from random import Random

from campaign import Campaign, Result
from towline_client import RPCError

from .case import draw
from .trial import Trial
from .wire import Server


class Lies(Campaign):
    name = "lies"
    about = "whatever a server sends, the end is one whole version or a clear error; honest ones complete"
    slice_cases = 200
    whole_cases = 10_000

    def open(self) -> None:
        self.server = Server()
        # The disk does not matter here, and memory is faster.
        fast = Path("/dev/shm")
        self.fast = Path(tempfile.mkdtemp(prefix="towline-lies-", dir=fast)) if fast.is_dir() else self.work

    def close(self) -> None:
        self.server.close()
        if self.fast != self.work:
            shutil.rmtree(self.fast, ignore_errors=True)

    def run(self, index: int, random: Random, folder: Path) -> Result:
        case = draw(index, random)
        own = self.fast / f"case-{index}"
        own.mkdir()
        trial = Trial(self.binary, self.server, case, index, random, own)
        try:
            trial.run()
        except (AssertionError, RPCError, OSError) as error:
            trial.fail(f"{type(error).__name__}: {error}"[:1500])
        finally:
            trial.close()
        if trial.result.failures:
            trial.result.failures[0] = f"{case.text}: {trial.result.failures[0]}"
            self.keep(trial, folder)
        shutil.rmtree(own, ignore_errors=True)
        return trial.result

    def keep(self, trial: Trial, folder: Path) -> None:
        """Stores what happened, to study the failure."""
        lines = [trial.case.text, "", *(f"- {text}" for text in trial.result.failures), "", "requests:"]
        for request in trial.site.requests:
            asked = {name: request.headers.get(name) for name in ("range", "if-range")}
            said = f"{request.status}, {request.body_sent} bytes, lie: {request.lied}"
            lines.append(f"  {request.target} {asked}: {said}")
        for number, host in enumerate(trial.hosts):
            lines += ["", f"process {number}:", *(json.dumps(message) for message in host.messages)]
            lines += ["stderr:", host.stderr]
        (folder / "report.txt").write_text("\n".join(lines) + "\n")
        with contextlib.suppress(OSError):
            shutil.copytree(trial.folder, folder / "files")


campaign_class = Lies
