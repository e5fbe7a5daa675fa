"""What may be too long of what a hand says: its result, and what it reports of its progress."""

from __future__ import annotations

from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import HandOutcome

#: characters of a progress text that are kept
LONGEST_PROGRESS = 2_000


def bounded_result(result: HandResult, most: int) -> HandResult | None:
    """The beginning of a result that is too long, visibly cut and counted as failed; None: it is short enough."""
    if len(result.text) <= most:
        return None
    return HandResult(outcome=HandOutcome.ERROR, text=cut(result.text, most))


def cut(text: str, most: int) -> str:
    """A text of at most `most` characters; one that is longer ends with a note that says so."""
    if len(text) <= most:
        return text
    note = f" [cut: {len(text)} characters]"
    return text[: max(most - len(note), 0)] + note[:most]
