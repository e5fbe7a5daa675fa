"""One line of an explanation: for the Why pane, for reports and for the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

from trunkline.app.text.cells import clean
from trunkline.core.reasons import Reason


class Tone(StrEnum):
    """How a line is colored."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    DIM = "dim"


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A line of facts: a label, a text, and the event that recorded it. `mark` is drawn at the right edge."""

    label: str
    text: str
    tone: Tone = Tone.PLAIN
    mark: str = ""
    seq: int = 0

    def __post_init__(self) -> None:
        # Names, ids and texts come from outside: a fact is a line for a terminal, wherever it is made.
        for name in ("label", "text", "mark"):
            text: str = getattr(self, name)
            if not text.isprintable():
                msgspec.structs.force_setattr(self, name, clean(text))


def clean_fact(label: str, text: str, seq: int = 0, tone: Tone = Tone.PLAIN) -> Fact:
    """A fact about a text from outside, without control characters."""
    return Fact(label=label, text=clean(text), tone=tone, seq=seq)


def listed(label: str, texts: Iterable[str], seq: int = 0, tone: Tone = Tone.PLAIN) -> Iterator[Fact]:
    """A fact for each text; only the first has the label."""
    for number, text in enumerate(texts):
        yield clean_fact("" if number else label, text, seq, tone)


def reason_text(reason: Reason) -> str:
    """A reason code with its sentence."""
    return f"{reason}: {reason.sentence}"


def because(reason: Reason | None, seq: int = 0, label: str = "because") -> Fact:
    """A fact that gives a reason."""
    return Fact(label=label, text=reason_text(reason) if reason else "no reason was recorded", seq=seq)
