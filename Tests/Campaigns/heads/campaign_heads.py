"""Heads in and out of the grammar, read by the service, by libcurl and by other readers.

A case is a response drawn from a grammar (`grammar.draw`): a status line, interim responses before it,
fields, a body by length, in chunks, compressed or to the end of the connection; then none, one or several
oddities of `grammar.ODDITIES`: other versions and statuses, lines that look like status lines, blanks and
controls around names and colons, folds, bare line ends, repeated and contradicting lengths, transfer codings
in every spelling, harmed chunks and trailers, more bytes than said, heads without an end, heads that are too
long. It comes whole or in pieces, is cut half-way or not, and the connection ends or stays open. Three in ten
answer a resume with a strong validator, from wherever the service asks again.

The oracle is libcurl itself with the service's options (`oracle.c`): which bytes it delivers, by which
status, and whether it sees an end while the connection is open. h11, llhttp and some forgiving readers give
further opinions.

What must hold for whatever is completed:

- the file is what libcurl delivered (behind what was held; compression undone), by a status that libcurl saw;
- libcurl does not refuse the response, and its head has come whole;
- `lengthVerified` is true only where an end showed besides that of the connection;
- no reader that takes the response reads other bytes, another status or, where `lengthVerified` is true, no
  end: where readers differ only a refusal is right.

And for what is not: the status in the error is the one that libcurl saw, the kind is never `internal`; a
plain response is always completed.

A case that fails is made smaller as long as it fails; the input is kept. Not covered: TLS, proxies, HEAD,
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
    about = "a file holds what libcurl and every other reader of its response would deliver, or there is none"
    slice_cases = 400
    whole_cases = 20_000

    @classmethod
    def lacks(cls) -> str | None:
        return lacks()

    def open(self) -> None:
        # Nothing of this is about the disk: memory is faster.
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
        """The input, a smaller one, and all opinions, for whoever looks into the failure."""
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
