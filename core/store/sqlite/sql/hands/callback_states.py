"""The SQL that moves the callback of a delegation along its table."""

from __future__ import annotations

import sqlite3

from trunkline.core.hands.states import CallbackEvent, CallbackState, next_callback_state
from trunkline.core.reasons import Reason


def apply_event(
    c: sqlite3.Connection, delegation: str, event: CallbackEvent, reason: Reason | None = None
) -> CallbackState | None:
    """The state of a callback after an event, stored; none: the delegation is no longer stored.

    Raises `IllegalTransition` for an event that the table does not allow.
    """
    found = c.execute("SELECT callback FROM delegations WHERE id = ?", (delegation,)).fetchone()
    if found is None:
        return None
    after = next_callback_state(CallbackState(found[0]), event)
    c.execute(
        "UPDATE delegations SET callback = ?, callback_reason = ? WHERE id = ?",
        (after.value, None if reason is None else reason.value, delegation),
    )
    return after
