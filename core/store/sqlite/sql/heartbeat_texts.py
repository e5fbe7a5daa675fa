"""The SQL that remembers what heartbeats said in each place, so that they do not say it again within a day."""

from __future__ import annotations

import sqlite3

from trunkline.core.delivery.states import OPEN
from trunkline.core.heartbeat.run import HeartbeatText
from trunkline.core.store.records import IntentRow
from trunkline.core.store.schedule import FindSaid, SaidBefore
from trunkline.core.store.sqlite.sql.session_lookup import lane_text
from trunkline.core.values import IntentState

#: seconds after which a text is forgotten
_REMEMBERED = 86_400.0


def note_text(c: sqlite3.Connection, said: HeartbeatText, now: float) -> None:
    """Remember that a text is queued, and forget what was said too long ago to matter."""
    c.execute("DELETE FROM heartbeat_texts WHERE at <= ?", (now - _REMEMBERED,))
    c.execute("DELETE FROM heartbeat_texts WHERE at IS NULL AND intent_id NOT IN (SELECT id FROM intents)")
    c.execute(
        "INSERT OR REPLACE INTO heartbeat_texts (agent_id, lane, text, intent_id) VALUES (?, ?, ?, ?)",
        (said.agent, lane_text(said.address), said.text, said.intent),
    )


def note_accepted(c: sqlite3.Connection, intent: IntentRow, now: float) -> None:
    """Remember when the first chunk of a heartbeat's text was accepted."""
    c.execute("UPDATE heartbeat_texts SET at = ? WHERE intent_id = ? AND at IS NULL", (now, intent.id))


def find_said(c: sqlite3.Connection, query: FindSaid) -> SaidBefore | None:
    """Handle `FindSaid`."""
    row = c.execute(
        "SELECT t.at, i.state, i.acked, i.updated_at FROM heartbeat_texts t LEFT JOIN intents i ON i.id = t.intent_id"
        " WHERE t.agent_id = ? AND t.lane = ? AND t.text = ?",
        (query.agent, lane_text(query.address), query.text),
    ).fetchone()
    if row is None:
        return None
    at, state, acked, changed_at = row
    if at is not None:
        return SaidBefore(at=at)
    if state is None:
        return None
    if IntentState(state) in OPEN:
        return SaidBefore(at=None)
    # What is in doubt may have been read, and an operator may have confirmed it.
    said = acked or IntentState(state) is IntentState.UNKNOWN
    return SaidBefore(at=changed_at) if said else None
