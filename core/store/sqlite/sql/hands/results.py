"""The SQL of results: long texts by their content with a count of references, and results that came too late."""

from __future__ import annotations

import sqlite3

from trunkline.core.errors import UnknownName
from trunkline.core.hands.long_results import SHOWN, beginning_of
from trunkline.core.hands.results import HandResult
from trunkline.core.store.delegations import ReadResult

#: late results that are kept of one delegation; each one is in the trace
_MOST_LATE = 50


def hold(c: sqlite3.Connection, ref: str, text: str) -> None:
    """Store a text under its hash for one more delegation."""
    c.execute(
        "INSERT INTO results (hash, text, refs) VALUES (?, ?, 1) ON CONFLICT (hash) DO UPDATE SET refs = refs + 1",
        (ref, text),
    )


def release(c: sqlite3.Connection, delegation: str) -> None:
    """Let go of the long text of a delegation: nobody needs it any more. Its beginning stays in the row."""
    row = c.execute(
        "SELECT d.result_ref, substr(r.text, 1, ?), length(r.text) FROM delegations d"
        " LEFT JOIN results r ON r.hash = d.result_ref WHERE d.id = ? AND d.result_ref IS NOT NULL",
        (SHOWN, delegation),
    ).fetchone()
    if row is None:
        return
    ref, start, size = row
    shown = None if start is None else beginning_of(start, SHOWN, of=size)
    c.execute("UPDATE delegations SET result = ?, result_ref = NULL WHERE id = ?", (shown, delegation))
    drop(c, ref)


def drop(c: sqlite3.Connection, ref: str) -> None:
    """Count one reference less; a text without any is removed."""
    c.execute("UPDATE results SET refs = refs - 1 WHERE hash = ?", (ref,))
    c.execute("DELETE FROM results WHERE hash = ? AND refs <= 0", (ref,))


def read_result(c: sqlite3.Connection, query: ReadResult) -> str:
    """Handle `ReadResult`."""
    row = c.execute("SELECT CAST(text AS BLOB) FROM results WHERE hash = ?", (query.ref,)).fetchone()
    if row is None:
        raise UnknownName(f"no result is stored under {query.ref}")
    return row[0].decode("utf-8", "replace")


def keep_late(c: sqlite3.Connection, delegation: str, result: HandResult, now: float) -> None:
    """Keep a result that came after the first one."""
    c.execute(
        "INSERT INTO late_results (delegation_id, outcome, text, at) SELECT ?, ?, ?, ?"
        " WHERE (SELECT count(*) FROM late_results WHERE delegation_id = ?) < ?",
        (delegation, result.outcome.value, result.text, now, delegation, _MOST_LATE),
    )
