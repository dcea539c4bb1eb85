"""How a download must end, from the lie's row in the table and the options of the client."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import table
from .honest import OVERLAP_BYTES, PROBE_BYTES, Manner, Version


@dataclass
class End:
    """The allowed ends; each is a state, or `failed:KIND`."""

    states: set[str] = field(default_factory=set)
    #: Which contents a completed file may have: names that `Verdict.names` explains.
    contents: set[str] = field(default_factory=set)

    def __or__(self, other: End) -> End:
        return End(self.states | other.states, self.contents | other.contents)

    @property
    def text(self) -> str:
        return f"{' or '.join(sorted(self.states))}, with {' or '.join(sorted(self.contents)) or 'nothing'}"


def completed(*contents: str) -> End:
    return End({"completed"}, set(contents))


def failed(kind: str) -> End:
    return End({f"failed:{kind}"})


@dataclass
class Story:
    """Everything that the end depends on."""

    old: Version
    #: The server's version after the interruption; the same object as `old` if nothing has changed.
    now: Version
    manner: Manner
    #: How many bytes of `old` the client has received before it asks again.
    held: int
    #: True if the first answer gave the length.
    total_known: bool
    on_change: str
    policy: str
    #: The version whose digest the client was given: old, now, or none.
    checksum: str | None

    @property
    def is_changed(self) -> bool:
        return self.now is not self.old

    @property
    def is_trusting(self) -> bool:
        return self.policy == "trust" or self.checksum is not None

    @property
    def likeness(self) -> str:
        """What validators and lengths prove: same, unproven, different."""
        for mine, theirs in (
            (self.old.etag, self.now.etag),
            (self.old.last_modified, self.now.last_modified),
        ):
            if mine is not None and theirs is not None and mine != theirs:
                return "different"
        if self.total_known and len(self.old.data) != len(self.now.data):
            return "different"
        return "same" if is_strong(self.old, self.manner) else "unproven"

    @property
    def overlap_bytes(self) -> int:
        return PROBE_BYTES if self.is_probing else OVERLAP_BYTES

    @property
    def overlap_is_same(self) -> bool:
        """True if both versions have the same bytes just before the missing ones."""
        since = max(0, self.held - self.overlap_bytes)
        return self.old.data[since : self.held] == self.now.data[since : self.held]

    def change(self) -> End:
        """The end if the file has changed, or cannot be proven the same."""
        if self.on_change == "fail":
            return failed("remoteChanged")
        return completed("now")

    def honest(self) -> End:
        """The end with a server that does not lie (any more)."""
        if self.held == 0:
            return completed("now")
        likeness = self.likeness
        if likeness == "different":
            return self.change()
        if likeness == "same":
            return self.joined_blindly() if self.manner.can_resume else completed("now")
        if self.is_trusting:
            return self.joined_blindly() if self.manner.can_resume else completed("now")
        is_probed = self.is_probing and self.overlap_is_same and self.manner.knows_total
        if is_probed and self.manner.can_resume:
            return self.joined_blindly()
        return self.change()

    def joined_blindly(self) -> End:
        """The old and the new bytes are joined if the overlap is equal."""
        if self.is_changed and not self.overlap_is_same:
            return self.change()
        return completed("now", "old", "mixed") | self.change() if self.is_changed else completed("now")

    def whole(self) -> End:
        """The end if everything is fetched again."""
        if self.held == 0 or self.likeness == "same":
            return completed("now")
        if self.likeness == "unproven" and self.is_trusting:
            return completed("now")
        return self.change()

    def of_lie(self, lie: table.Lie) -> End:
        """The end after the lie."""
        if self.held == 0 or lie.to == table.EVERY:
            return self.of_word(lie.fresh)
        # If nothing shows the change, the changed file counts as the same.
        return self.of_word(lie.changed if self.likeness == "different" else lie.same)

    def of_word(self, words: str) -> End:
        end = End()
        for word in words.split("|"):
            end = end | self._of_word(word)
        return end

    def _of_word(self, word: str) -> End:
        if word.startswith("failed "):
            return failed(word[len("failed ") :])
        if word == table.NEEDS_URL:
            return End({"needsUrl"})
        if word == table.CHANGED:
            return self.change()
        if word == table.TOLD:
            return completed("now", "told") | self.change()
        if word == table.WHOLE:
            return self.whole()
        if word == table.EITHER:
            either = completed("now", "old") | failed("remoteChanged")
            if self.checksum is not None:
                either = either | failed("checksumMismatch")
            return either | self.honest() if self.is_changed else self.honest()
        if word == table.BARE:
            lengths_differ = self.total_known and len(self.old.data) != len(self.now.data)
            return self.joined_blindly() if self.is_trusting and not lengths_differ else self.whole()
        return self.honest()

    def with_checksum(self, end: End) -> End:
        """With a digest, only its version may be completed."""
        if self.checksum is None or "completed" not in end.states:
            return end
        same = self.old.data == self.now.data
        right = {"now", "old"} if same else {self.checksum}
        wrong = end.contents - right
        contents = end.contents & right
        states = set(end.states)
        if "now" in right and wrong & {"old", "mixed"}:
            # If the joined file is wrong, the download restarts once.
            wrong -= {"old", "mixed"}
            contents.add("now")
        if wrong:
            states.add("failed:checksumMismatch")
        if not contents:
            states.discard("completed")
        return End(states, contents)

    @property
    def is_probing(self) -> bool:
        """True if the end of the received bytes is requested again, to be compared."""
        is_proven = is_strong(self.old, self.manner) or self.is_trusting
        return self.policy == "probe" and self.total_known and not is_proven

    def next_offsets(self) -> set[int]:
        """Where the next request must begin; empty if it cannot resume."""
        if not self.held or not self.manner.can_resume:
            return set()
        if not (self.is_probing or is_strong(self.old, self.manner) or self.is_trusting):
            return set()
        return {max(0, self.held - self.overlap_bytes)}

    def identity(self) -> str | None:
        """The proof that a resume relies on."""
        says_nothing = self.manner.omits_date and self.old.etag is None
        if is_strong(self.old, self.manner) and not says_nothing:
            return "validated"
        if self.checksum is not None:
            return "checksum"
        return {"probe": "probed", "trust": "trusted"}.get(self.policy)


def is_strong(version: Version, manner: Manner) -> bool:
    """True if the version's validators prove that two answers have the same content."""
    if version.etag is not None:
        return version.etag.startswith('"') and manner.version != "HTTP/1.0"
    # The Date of each answer is at least a minute later than an old Last-Modified.
    return version.last_modified is not None and version.last_modified.startswith("Mon, 01 Jan")
