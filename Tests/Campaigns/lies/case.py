"""Draws one case, from its number and its random generator."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from .honest import CHANGES, MANNERS, PLAIN, STRONG, VALIDATORS, Manner
from .table import EVERY, TABLE, Lie

BUFFER = 128 * 1024
SMALL = (1, 2, 200, 4_096, 16_385, 100_000)
SIZES = (*SMALL, BUFFER - 1, BUFFER, BUFFER + 1, 2 * BUFFER, 3 * BUFFER, 450_000, 600_000)
HOLDING = ("pause", "term", "kill", "pause and kill")
INTERRUPTIONS = (*HOLDING, "cut", "reset")
#: Most rows are lies; each lie comes as often as each manner.
ROWS: tuple[Lie | Manner, ...] = (*TABLE, *MANNERS)


@dataclass
class Case:
    """The random choices of one case."""

    lie: Lie | None
    manner: Manner
    size: int
    #: Body bytes before the interruption; -1: before the head has arrived.
    position: int
    #: none, or one of `INTERRUPTIONS`
    interruption: str
    first_framing: str | None
    change: str
    validators: str
    on_change: str
    policy: str
    checksum: str | None
    always: bool
    #: What interrupts the next answer: no, cut, kill.
    again: str
    #: The command after a failure: resume or update.
    remedy: str

    @property
    def text(self) -> str:
        what = f"lie {self.lie.name!r}" if self.lie else f"honest {self.manner.name!r}"
        rest = {name: value for name, value in vars(self).items() if name not in ("lie", "manner")}
        return f"{what}, {', '.join(f'{name} {value}' for name, value in rest.items())}"


def draw(index: int, random: Random) -> Case:
    row = ROWS[index % len(ROWS)]
    lie, manner = (row, PLAIN) if isinstance(row, Lie) else (None, row)
    begins = lie is not None and lie.to == EVERY
    validators = random.choice(lie.validators) if lie else random.choice(tuple(VALIDATORS))
    if lie and lie.validators == STRONG and not begins and random.random() < 0.15:
        validators = random.choice([name for name in VALIDATORS if name not in (*STRONG, "coarse tag")])
    case = Case(
        lie=lie,
        manner=manner,
        size=random.choice(SIZES),
        position=0,
        interruption=random.choice(INTERRUPTIONS),
        first_framing=None,
        change=random.choice(CHANGES) if random.random() < 0.6 else "same",
        validators=validators,
        on_change=random.choices(("restart", "fail", "keepBoth"), (56, 30, 14))[0],
        policy=random.choices(("strict", "probe", "trust"), (76, 12, 12))[0],
        checksum=random.choices((None, "now", "old"), (70, 20, 10))[0],
        always=random.random() < 0.5 if lie is None or lie.always is None else lie.always,
        again=random.choices(("no", "cut", "kill"), (75, 17, 8))[0] if not begins else "no",
        remedy=random.choice(("resume", "update")),
    )
    if begins:
        case.interruption, case.change = "none", "same"
        case.size = random.choice([size for size in SIZES if size > 100])
        return case
    if lie is None and random.random() < 0.06:
        case.size = 0
    if case.interruption == "kill" and case.size <= BUFFER and random.random() < 0.8:
        case.size = random.choice((3 * BUFFER, 450_000, 600_000))
    if lie and not lie.may_be_cut:
        case.again = "no"
    draw_position(case, random)
    return case


def draw_position(case: Case, random: Random) -> None:
    may_lack_length = case.manner is PLAIN and not (case.lie and case.lie.needs_length)
    if may_lack_length and random.random() < 0.25:
        case.first_framing = random.choice(("chunked", "close"))
    framing = case.first_framing or case.manner.framing
    borders = (BUFFER - 1, BUFFER, BUFFER + 1, 2 * BUFFER)
    choices = [-1, 0, 1, case.size // 2, case.size * 9 // 10, case.size - 1, *borders]
    # Most lies are about parts, which are requested only after bytes were received.
    weights = [1, 1, *([3] * (len(choices) - 2))]
    allowed = [(at, weight) for at, weight in zip(choices, weights) if at < case.size or at == -1]
    if framing != "length" and case.size:
        # All bytes, but not the end.
        allowed.append((case.size, 4))
    case.position = random.choices([at for at, _ in allowed], [weight for _, weight in allowed])[0]
    if framing == "close" and case.interruption == "cut" and case.position >= 0:
        # The end of the connection would be taken as the end of the file.
        case.interruption = "reset"
