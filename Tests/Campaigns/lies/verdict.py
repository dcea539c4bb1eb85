"""Checks the result of a case."""

from __future__ import annotations

import json
from pathlib import Path

from campaign import Result
from towline_client import JSON

from .case import Case
from .ends import End, Story, failed
from .honest import Version
from .site import CaseSite
from .wire import Request

MIB = 1 << 20
#: Failures in a row that the service allows.
TRIES = 4
#: Allowance for error bodies and for very small files.
SLACK_BYTES = 1 << 16
REFUSALS = ("httpStatus", "rateLimited", "redirectDenied")


class Verdict:
    """Collects the failures of one case in `result`."""

    def __init__(self, case: Case, site: CaseSite, target: Path, result: Result) -> None:
        self.case, self.site, self.target, self.result = case, site, target, result
        self.old, self.now = site.old, site.now
        #: Received bytes when it asked again.
        self.held = 0
        #: Another possible number, if nothing shows which is right.
        self.held_otherwise: int | None = None
        #: Requests before it asked again.
        self.requests_before = 0

    def fail(self, text: str) -> None:
        self.result.failures.append(text)

    def story(self, old: Version, held: int) -> Story:
        case = self.case
        framing = case.first_framing or case.manner.framing
        return Story(
            old=old,
            now=self.now,
            manner=case.manner,
            held=held,
            total_known=framing == "length",
            on_change=case.on_change,
            policy=case.policy,
            checksum=case.checksum,
        )

    def file_requests(self) -> list[Request]:
        """The requests for the file itself after the interruption."""
        return [r for r in self.site.later_requests(self.requests_before) if "/link/" not in r.target]

    def expected(self) -> End:
        end = self.expected_with(self.held)
        return end if self.held_otherwise is None else end | self.expected_with(self.held_otherwise)

    def expected_with(self, held: int) -> End:
        lie = self.case.lie
        told = lie is not None and self.site.lie_count > 0
        story = self.story(self.old, held)
        end = story.of_lie(lie) if lie is not None and told else story.honest()
        if held == len(self.old.data) and held:
            # Only the end was missing, so the old file may be completed.
            end = end | End({"completed"}, {"old"})
        if self.site.next_stop_used:
            # The bytes received in between may be part of the new version.
            later = self.story(self.now, max(1, held))
            end = end | (later.of_lie(lie) if lie is not None and told else later.honest())
            if told and not self.case.always:
                # The last answer was honest: it continues the old part, if the lie did not replace it.
                end = end | later.honest() | story.honest()
        if self.site.lie_count >= TRIES:
            # Bytes that replace those of an earlier version do not count as progress.
            end = end | failed("incomplete")
        return story.with_checksum(end)

    def judge(self, done: JSON) -> None:
        self.note("the end", done, self.expected())
        case, site = self.case, self.site
        if case.lie is not None:
            self.result.counts["lies told" if site.lie_count else "lies that nobody asked for"] += 1
        self.check_next_request()
        self.check_identity(done)
        self.check_kept(done)
        sent, largest = site.body_sent, max(len(self.old.data), len(self.now.data), 1)
        passes = case.lie.passes if case.lie else 6
        if sent > passes * largest + SLACK_BYTES:
            self.fail(f"the server sent {sent} bytes for a file of {largest}")

    def note(self, when: str, done: JSON, end: End) -> None:
        """Compares the end with the expected one, and the disk with both."""
        state = done["state"]
        if state == "failed":
            state = f"failed:{done['error']['kind']}"
        elif state == "waiting":
            state = done["reason"]
        content = self.content()
        self.result.counts[f"completed {content}" if state == "completed" else state] += 1
        right = state in end.states
        if state == "completed":
            names = [name for known in end.contents for name in self.names(known)]
            right = right and content in names
            size = len(self.target.read_bytes()) if self.target.exists() else -1
            told = (done["receivedBytes"], done["totalBytes"])
            if told != (size, size):
                self.fail(f"{when}: it reports {told[0]} of {told[1]} bytes, the file has {size}")
            if done["partialPath"] is not None or done["error"] is not None:
                self.fail(f"{when}: completed with {done['partialPath']}, {done['error']}")
        elif self.target.exists():
            self.fail(f"{when}: {state}, but there is a file with the final name ({content})")
        if not right:
            what = f"{state} {content}" if state == "completed" else state
            self.fail(f"{when}: {what} instead of {end.text}; {json.dumps(done['error'])} {done['transfer']}")
        self.check_leftovers(when, done)

    def names(self, name: str) -> set[str]:
        """All names for the content with this name; two names may mean the same bytes."""
        data = {"now": [self.now.data], "old": [self.old.data], "told": self.site.told}.get(name)
        return {self.name_of(entry) for entry in data} if data is not None else {name}

    def name_of(self, data: bytes) -> str:
        if data == self.now.data:
            return "the new version" if self.now is not self.old else "the version"
        if data == self.old.data:
            return "the old version"
        return "what the lie gave for it" if data in self.site.told else "mixed"

    def content(self) -> str:
        return self.name_of(self.target.read_bytes()) if self.target.exists() else "nothing"

    def check_leftovers(self, when: str, done: JSON) -> None:
        left = {path.name: path for path in self.target.parent.iterdir()}
        kept = {Path(path).name for path in done.get("keptPaths") or []}
        is_completed = done["state"] == "completed"
        allowed = kept | ({"file"} if is_completed else {"file.towline"})
        if self.case.on_change == "keepBoth" and not is_completed:
            allowed |= {f"file.{number}.towline" for number in range(1, 9)}
        if not set(left) <= allowed or not kept <= set(left):
            self.fail(f"{when}: {done['state']}, and the folder has {sorted(left)}, kept {sorted(kept)}")
            return
        versions = (self.old.data, self.now.data, *self.site.told)
        begins = [left[name].read_bytes() for name in sorted(kept)]
        if not all(any(data.startswith(begin) for data in versions) for begin in begins):
            self.fail(f"{when}: the kept file is not the beginning of any version")
        is_other = self.case.lie is None and self.story(self.old, self.held).likeness == "different"
        if is_completed and is_other and self.held and self.case.on_change == "keepBoth":
            self.result.counts["kept both"] += 1
            if self.old.data[: self.held] not in begins:
                self.fail(f"{when}: the {self.held} bytes of the old version were not kept")

    def check_next_request(self) -> None:
        """A resume must continue after the received bytes."""
        later = self.file_requests()
        offsets = self.story(self.old, self.held).next_offsets()
        if not later or not offsets or (self.case.interruption == "reset" and offsets == {0}):
            return
        asked = later[0].asked
        if asked is None or asked[0] not in offsets:
            self.fail(f"{self.held} bytes were received, and it asked for {later[0].headers.get('range')}")

    def check_identity(self, done: JSON) -> None:
        """After a resume from an honest server, the download names the proof."""
        transfer = done["transfer"] or {}
        if self.case.lie is not None or self.case.again != "no" or transfer.get("mode") != "resumed":
            return
        said, right = transfer["identity"], self.story(self.old, self.held).identity()
        # Validators of another mirror prove nothing; a checksum may.
        if said != right and self.now is self.old and self.case.manner.redirects != "mirrors":
            self.fail(f"a resume that relied on {right} reports {said}")

    def check_kept(self, done: JSON) -> None:
        error = done["error"] or {}
        failed = done["state"] == "failed" and error.get("kind") in REFUSALS
        refused = failed or done["reason"] == "needsUrl"
        if refused and self.case.again == "no" and done["receivedBytes"] < self.held:
            self.fail(f"{error}: of {self.held} received bytes only {done['receivedBytes']} were kept")

    def judge_remedy(self, done: JSON) -> None:
        """The end once the server is honest: nothing is lost for good."""
        story = self.story(self.old, max(1, self.held))
        end = End({"completed"}, {"now"}) | story.honest()
        # Versions seen in between, or ones that look the same, may still forbid to discard bytes.
        if self.case.on_change != "restart":
            end = end | story.change()
        if self.held == len(self.old.data):
            end = end | End({"completed"}, {"old"})
        self.note("once the server was honest", done, story.with_checksum(end))
