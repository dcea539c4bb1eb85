"""Servers that lie, or serve in a way of their own, to a client that is interrupted.

A case is a row (a lie of `table.TABLE`, or an honest manner of `honest.MANNERS`) with, by lot: a size;
where the first transfer is interrupted (before the head, at 0, 1, the middle, around buffer borders,
before the last byte, all come but the end not told) and how (pause, connection cut or reset, SIGTERM,
kill -9, kill -9 while paused); what the server has afterwards (the same, or another version: other bytes,
longer, shorter, grown, cut short, one that shares the beginning, one that shares all but the first and
the last byte, so also any overlap); validators; `onChange`, `resumePolicy`, a checksum; whether the next
answer is cut off too, by the server or by kill -9.

What must hold:

- the end is the one that the table and `ends.Story` tell: state, error kind, which version;
- a file under the final name is one of the versions that the server had, whole; only `probe` and `trust`
  may join two versions, where the server gives nothing that tells them apart;
- with a checksum no other version is completed;
- a pause or SIGTERM keeps each byte that has come, kill -9 loses less than 1 MiB; the next request begins
  there;
- a refusal (404, 401, a web page ...) keeps what is held;
- after a failure, or a wait for a new link, the download completes once the server is honest: by
  `resume`, or by `update` to another URL of the same file;
- nothing lies beside a completed file, and nothing under the name of one that is not completed;
- the server never sends more than some times the file (`Lie.passes`);
- the process breaks no rule of the wire and does not die.

Not covered: https, proxies, several connections, stalls, `Retry-After` (such a case would take a second
or more).
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
    about = "whatever a server says, the end is one whole version or a clear error; honest ones complete"
    slice_cases = 300
    whole_cases = 10_000

    def open(self) -> None:
        self.server = Server()
        # Nothing of this is about the disk: memory is faster.
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
        """What tells how it went, for whoever looks into a failure."""
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
