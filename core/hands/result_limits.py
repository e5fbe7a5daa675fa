"""Limits for texts of a hand: the result, and reports of progress."""

from __future__ import annotations

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
