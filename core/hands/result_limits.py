"""What may be too long of what a hand says: its result, and what it reports of its progress."""

from __future__ import annotations

from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import HandOutcome

#: characters of a progress text that are kept
LONGEST_PROGRESS = 2_000


def bounded_result(result: HandResult, limit: int) -> HandResult | None:
    """The beginning of a result that is too long, visibly cut and counted as failed; None: it is short enough."""
    if len(result.text) <= limit:
        return None
    return HandResult(outcome=HandOutcome.ERROR, text=cut(result.text, limit))


def cut(text: str, limit: int) -> str:
    """A text of at most `limit` characters; one that is longer ends with a note that says so."""
    if len(text) <= limit:
        return text
    note = f" [cut: {len(text)} characters]"
    return text[: max(limit - len(note), 0)] + note[:limit]
