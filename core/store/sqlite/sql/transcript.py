"""The SQL that adds to transcripts. Each function is part of one write, given a connection inside a transaction."""

from __future__ import annotations

import sqlite3

from trunkline.core.values import IntentId, SessionId

_APPEND = "INSERT INTO transcript (session_id, role, text, ref, partial, at) VALUES (?, ?, ?, ?, ?, ?)"
_APPEND_MIRROR = (
    f"{_APPEND} ON CONFLICT (session_id, ref) DO UPDATE SET text = excluded.text, partial = excluded.partial"
    " WHERE role = excluded.role AND transcript.partial"
    " AND (transcript.text, transcript.partial) <> (excluded.text, excluded.partial)"
)


def append(c: sqlite3.Connection, session: SessionId, role: str, text: str, ref: str, now: float) -> None:
    """Add a line to a transcript; the same reference twice is refused by the table (invariant M1)."""
    c.execute(_APPEND, (session, role, text, ref, False, now))


def append_mirror(
    c: sqlite3.Connection, session: SessionId, text: str, intent: IntentId, now: float, *, partial: bool
) -> bool:
    """Add what was said to a transcript, once for an intent; whether that changed anything.

    A mirror step that runs again changes nothing. A line that held only a part grows, in its place, when more was
    accepted: an operator may have the rest sent. The reference of a line that is no mirror is refused.
    """
    if c.execute(_APPEND_MIRROR, (session, "assistant", text, intent, partial, now)).rowcount == 1:
        return True
    sql = "SELECT role FROM transcript WHERE session_id = ? AND ref = ?"
    role = c.execute(sql, (session, intent)).fetchone()[0]
    if role != "assistant":
        raise sqlite3.IntegrityError(f"{intent} is the reference of a line of {role!r} in session {session}")
    return False
