"""The SQL of edits and deletions in transcripts: the old text is kept with the line."""

from __future__ import annotations

import sqlite3

import msgspec

from trunkline.core.delivery.line_changes import LineChange, edited_text, line_change
from trunkline.core.records.rows import ChangedLine, IntentRow
from trunkline.core.store.sqlite.sql.intent_reads import read_intents
from trunkline.core.store.sqlite.sql.session_lookup import SESSIONS_OF_KEYS, find_by_id, find_ended, lane_text
from trunkline.core.store.sqlite.sql.transcript import texts
from trunkline.core.values import Receipt, SessionId

_json = msgspec.json.Encoder().encode
_KEYS = (
    "SELECT session_key FROM session_places WHERE agent_id = :agent AND lane IN (SELECT value FROM json_each(:lanes))"
    " UNION SELECT new_key FROM session_moves WHERE old_key = :key UNION SELECT :key"
)
_LINE = (
    "SELECT n, session_id, text, was, deleted FROM transcript WHERE ref = :ref AND role = 'assistant'"  # noqa: S608 -- fixed texts
    f" AND session_id IN ({SESSIONS_OF_KEYS} UNION SELECT :own)"
)


def change_line(c: sqlite3.Connection, after: IntentRow) -> ChangedLine | None:
    """Apply an ended change to the line of its message, wherever its session is now; none: nothing changed.

    If the line is still to be stored, the change of it is too.
    """
    change = line_change(after)
    found = None if change is None else read_intents(c, (change.line,))[0]
    if change is None or not found:
        return None
    _, message, receipts = found[0]
    line = c.execute(_LINE, _where(c, message, receipts)).fetchone()
    if line is not None:
        return _apply(c, change, message, line)
    c.execute(
        "UPDATE intents SET mirror_due = 1 WHERE id = ? AND (SELECT mirror_due FROM intents WHERE id = ?)",
        (after.id, message.id),
    )
    return None


def _where(c: sqlite3.Connection, message: IntentRow, receipts: tuple[Receipt, ...]) -> dict[str, object]:
    """Where the line of a message may be: its session may have another key now, or may have been reset."""
    lanes = [lane_text(place) for place in (message.address, *(receipt.address for receipt in receipts))]
    looked = {"agent": message.agent, "lanes": _json(lanes).decode(), "key": message.mirror_key}
    keys = [key for (key,) in c.execute(_KEYS, looked) if key is not None]
    return {"ref": message.id, "own": message.session, "keys": _json(keys).decode()}


def _apply(
    c: sqlite3.Connection, change: LineChange, message: IntentRow, line: tuple[int, str, str, str | None, int]
) -> ChangedLine | None:
    n, session, before, was, deleted = line
    text = before if change.text is None else edited_text(change, message.content.media)
    if deleted if change.text is None else text == before:
        return None
    if change.text is None:
        c.execute("UPDATE transcript SET deleted = 1 WHERE n = ?", (n,))
    else:
        older = () if was is None else texts(was)
        c.execute("UPDATE transcript SET text = ?, was = ? WHERE n = ?", (text, _json((*older, before)).decode(), n))
    row = find_by_id(c, session) or find_ended(c, session)
    return ChangedLine(
        session_id=SessionId(session),
        session_key="" if row is None else row.key,
        line=message.id,
        before=before,
        text="" if change.text is None else text,
        deleted=change.text is None,
    )
