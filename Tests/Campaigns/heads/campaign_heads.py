"""Valid and invalid response heads, read by the service, by libcurl and by other parsers.

A case is a response drawn from a grammar (`grammar.draw`): a status line, interim responses before it,
fields, and a body by length, in chunks, compressed or up to the end of the connection; then none, one or
several oddities of `grammar.ODDITIES`: other versions and statuses, lines that resemble status lines, spaces
and control characters around names and colons, folded lines, bare line ends, repeated and contradicting
lengths, transfer codings in every spelling, damaged chunks and trailers, more bytes than announced, heads
without an end, heads that are too long. It is sent whole or in pieces, sometimes cut, and the connection ends
or stays open. Three in ten answer a resume with a strong validator, from wherever the service asks again.

The oracle is libcurl with the options of the service (`oracle.c`): which bytes it delivers, with which
status, and whether it sees the end while the connection is open. h11, llhttp and some lenient parsers give
further opinions.

What must hold for a completed download:

- the file is what libcurl delivered (after the bytes received before, and decompressed), with the status that
  libcurl saw;
- libcurl does not refuse the response, and its head was complete;
- `lengthVerified` is true only if something other than the end of the connection showed the end of the body;
- no parser that accepts the response reads other bytes, another status or, if `lengthVerified` is true, no
  end: where parsers differ, only a refusal is right.

And for other downloads: the status in the error is the one that libcurl saw, the kind is never `internal`; a
plain response is always completed.

The input of a failure is made smaller while it still fails, and kept. Not covered: TLS, proxies, HEAD,
several responses on one connection, the other kinds of failures.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from random import Random

from campaign import Campaign, Result

from .grammar import draw
from .oracle import lacks
from .response import Response
from .shrink import shrunk
from .trial import Bench


class Heads(Campaign):
    name = "heads"
    about = "a file holds what libcurl and all other parsers of its response deliver, or there is no file"
    slice_cases = 400
    whole_cases = 20_000

    @classmethod
    def lacks(cls) -> str | None:
        return lacks()

    def open(self) -> None:
        # The disk does not matter here, and memory is faster.
        fast = Path("/dev/shm")
        self.fast = Path(tempfile.mkdtemp(prefix="towline-heads-", dir=fast)) if fast.is_dir() else self.work
        self.bench = Bench(self.binary, self.fast, self.work)
        self.first = self.bench.learn_first()

    def close(self) -> None:
        self.bench.close()
        if self.fast != self.work:
            shutil.rmtree(self.fast, ignore_errors=True)

    def run(self, index: int, random: Random, folder: Path) -> Result:
        response = draw(random, self.first)
        found, outcome, _, _ = self.bench.run(response)
        result = Result(failures=found)
        if found:
            self.keep(response, folder, result)
            return result
        assert outcome is not None
        result.counts[self.named(response, outcome.download)] += 1
        return result

    def named(self, response: Response, download: dict) -> str:
        end = download["state"]
        if end == "completed":
            return "completed" if download["lengthVerified"] else "completed, length not verified"
        return f"{end} {(download['error'] or {}).get('kind')}"

    def keep(self, response: Response, folder: Path, result: Result) -> None:
        """Stores the input, a smaller one, and all opinions, to study the failure."""
        kinds = {text.partition(":")[0] for text in result.failures[:1]}

        def fails(candidate: Response) -> bool:
            return any(text.partition(":")[0] in kinds for text in self.bench.run(candidate)[0])

        small = shrunk(response, fails)
        found, outcome, libcurl, others = self.bench.run(small)
        found = found or result.failures
        (folder / "input.bin").write_bytes(response.wire)
        (folder / "smallest.bin").write_bytes(small.wire)
        lines = [
            f"drawn: {', '.join(response.notes)}",
            response.text,
            "",
            "smallest:",
            small.text,
            "",
            *found,
            "",
        ]
        lines += [f"libcurl: {libcurl.text}: {libcurl.body!r:.300}"]
        lines += [f"{name}: {opinion.text}: {opinion.body!r:.300}" for name, opinion in others.items()]
        if outcome is not None:
            lines += [
                "",
                f"requests: {outcome.paths}",
                f"file: {outcome.file!r:.80000}",
                json.dumps(outcome.download, indent=1),
            ]
        (folder / "report.txt").write_text("\n".join(lines) + "\n")
        result.failures = [f"{small.text}: {'; '.join(found)}"]
        result.size = small.size


campaign_class = Heads
