"""A line of an explanation: for the Why pane, for reports and for the command line."""

from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

from trunkline.app.text.cells import clean
from trunkline.core.reasons import Reason


class Tone(StrEnum):
    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    DIM = "dim"


class Fact(msgspec.Struct, frozen=True):
    """A line of facts: a label, a text, and the event that recorded it. `mark` is drawn at the right edge."""

    label: str
    text: str
    seq: int = 0
    tone: Tone = Tone.PLAIN
    mark: str = ""

    def __post_init__(self) -> None:
        # Names, ids and texts come from outside: a fact is a line for a terminal, wherever it is made.
        for name in ("label", "text", "mark"):
            text: str = getattr(self, name)
            if (cleaned := clean(text)) != text:
                msgspec.structs.force_setattr(self, name, cleaned)


def facts(seq: int, *lines: tuple[str, str | None] | tuple[str, str | None, Tone]) -> Iterator[Fact]:
    """The facts that one event recorded: for each line that has a text or a reason, its label, that, and its tone."""
    for label, text, *tone in lines:
        if text:
            yield Fact(label, reason_text(text) if isinstance(text, Reason) else text, seq, *tone)


def under(label: str, facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts below a label, which only the first one has."""
    for number, fact in enumerate(facts):
        yield fact if number else msgspec.structs.replace(fact, label=label)


def listed(label: str, texts: Iterable[str], seq: int = 0, tone: Tone = Tone.PLAIN) -> Iterator[Fact]:
    """A fact for each text; only the first has the label."""
    return under(label, (Fact("", text, seq, tone) for text in texts))


def reason_text(reason: Reason) -> str:
    """A reason code with its sentence."""
    return f"{reason}: {reason.sentence}"


def because(reason: Reason | None, seq: int = 0) -> Fact:
    return Fact("because", reason_text(reason) if reason else "no reason was recorded", seq)
