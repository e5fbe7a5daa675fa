"""Limits for texts of a hand: the result, and reports of progress.

Of a long result the whole text is kept once, by hash, and the beginning where people and agents read.
"""

import hashlib

import msgspec

from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import HandOutcome

#: characters of a progress text that are kept
LONGEST_PROGRESS = 2_000


def bounded_result(result: HandResult, limit: int) -> HandResult | None:
    """The beginning of a result beyond the limit, visibly cut and counted as failed; None for a short result."""
    if len(result.text) <= limit:
        return None
    return HandResult(outcome=HandOutcome.ERROR, text=cut(result.text, limit))


def cut(text: str, limit: int) -> str:
    """A text of at most `limit` characters; a longer text ends with a note of the cut."""
    if len(text) <= limit:
        return text
    note = f" [cut: {len(text)} characters]"
    return text[: max(limit - len(note), 0)] + note[:limit]


#: characters of a long result that a transcript shows
SHOWN = 2000


class KeptResult(msgspec.Struct, frozen=True, gc=False):
    """A result to keep: `shown` is the whole text, unless `ref` names the whole text."""

    shown: str
    ref: str | None = None


def kept_result(text: str, inline: int | None) -> KeptResult:
    """The kept form of a result. `inline`: maximum length of an unchanged text, in characters; none for any."""
    if inline is None or len(text) <= inline:
        return KeptResult(text)
    return KeptResult(beginning_of(text, min(inline, SHOWN)), reference_of(text))


def reference_of(text: str) -> str:
    """The hash as the name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def beginning_of(text: str, limit: int, of: int | None = None) -> str:
    """The beginning of a long text, with a visible note. `of`: the length of the whole text."""
    return f"{text[:limit]}\n[the beginning of {len(text) if of is None else of} characters]"
