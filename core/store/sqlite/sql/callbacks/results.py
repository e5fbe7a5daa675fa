"""The SQL of results: long texts by their content with a count of references, and results that came too late."""

import sqlite3

from trunkline.core.errors import UnknownName
from trunkline.core.hands.result_limits import SHOWN, beginning_of
from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import CLOSED_CALLBACK, OPEN_WORK
from trunkline.core.store.delegations import ReadResult

#: late results that are kept of one delegation; each one is in the trace
_MOST_LATE = 50


def hold(c: sqlite3.Connection, ref: str, text: str) -> None:
    """Store a text under the hash for another delegation."""
    c.execute(
        "INSERT INTO results (hash, text, refs) VALUES (?, ?, 1) ON CONFLICT (hash) DO UPDATE SET refs = refs + 1",
        (ref, text),
    )


def release(c: sqlite3.Connection, delegation: str) -> None:
    """Release the long text of a delegation that has no use for it. Its beginning stays in the row."""
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


def find(c: sqlite3.Connection, ref: str) -> str | None:
    """The text stored under a hash."""
    row = c.execute("SELECT CAST(text AS BLOB) FROM results WHERE hash = ?", (ref,)).fetchone()
    return None if row is None else row[0].decode("utf-8", "replace")


def read_result(c: sqlite3.Connection, query: ReadResult) -> str:
    text = find(c, query.ref)
    if text is None:
        raise UnknownName(f"no result is stored under {query.ref}")
    return text


def prune(c: sqlite3.Connection, span: tuple[int, int], cutoff: float) -> int:
    """Remove the delegations of a span of numbers that have long ended in both columns, with late results; how many."""
    old = c.execute(_PRUNABLE, (*span, cutoff)).fetchall()
    for delegation, ref in old:
        if ref is not None:
            drop(c, ref)
        c.execute("DELETE FROM late_results WHERE delegation_id = ?", (delegation,))
        c.execute("DELETE FROM delegations WHERE id = ?", (delegation,))
    return len(old)


_CLOSED = ", ".join(f"'{state.value}'" for state in sorted(CLOSED_CALLBACK))
_OPEN = ", ".join(f"'{state.value}'" for state in sorted(OPEN_WORK))
# A delegation whose parent is still open is a part of it.
_PRUNABLE = (
    "SELECT id, result_ref FROM delegations d WHERE n > ? AND n <= ? AND finished_at < ?"  # noqa: S608 -- fixed texts
    f" AND state NOT IN ({_OPEN}) AND callback IN ({_CLOSED})"
    " AND NOT EXISTS (SELECT 1 FROM hand_posts p WHERE p.delegation_id = d.id)"
    f" AND NOT EXISTS (SELECT 1 FROM delegations o WHERE o.id = d.parent AND o.state IN ({_OPEN}))"
    " ORDER BY n"
)


def keep_late(c: sqlite3.Connection, delegation: str, result: HandResult, now: float, inline: int | None) -> None:
    """Keep a result that came after the first one. `inline`: of a longer text, so many characters; none: all of it."""
    text = result.text if inline is None or len(result.text) <= inline else beginning_of(result.text, inline)
    c.execute(
        "INSERT INTO late_results (delegation_id, outcome, text, at) SELECT ?, ?, ?, ?"
        " WHERE (SELECT count(*) FROM late_results WHERE delegation_id = ?) < ?",
        (delegation, result.outcome.value, text, now, delegation, _MOST_LATE),
    )
