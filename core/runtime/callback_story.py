"""Records how the callback of a delegation has changed, in the story of the write that changed it."""

from __future__ import annotations

from trunkline.core.events import EventSink
from trunkline.core.events.hands import CallbackChanged
from trunkline.core.records.rows import CallbackChange


def record_callback(
    events: EventSink, change: CallbackChange | None, cause: int | None, **ids: str | None
) -> int | None:
    """Record a change of a callback; returns its seq, or `cause` where nothing has changed.

    `ids`: what it belongs to beside the delegation.
    """
    if change is None:
        return cause
    body = CallbackChanged(before=change.before, state=change.state, reason=change.reason)
    return events.record(body, cause, **{**ids, "delegation": change.delegation})
