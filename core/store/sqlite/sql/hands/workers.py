"""The SQL of workers outside: who takes which task, and what they report of their progress."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import msgspec

from trunkline.core.records.delegations import DelegationRow
from trunkline.core.states.delegation import OPEN_WORK, WorkEvent, next_work_state
from trunkline.core.store.delegations import HandPost, NoteProgress, PostVerb, TakeTask
from trunkline.core.store.sqlite.sql.callbacks import posts
from trunkline.core.store.sqlite.sql.hands.delegation_columns import DELEGATION_COLUMNS, delegation_of
from trunkline.core.values import DelegationId

_WAITING = (
    f"SELECT n, coalesce(session_id, ''), {DELEGATION_COLUMNS} FROM delegations"  # noqa: S608 -- fixed texts
    " WHERE state = 'accepted' AND kind = 'worker' AND hand = ? AND coalesce(session_id, '') {} ?"
    " AND (deadline IS NULL OR deadline > ?) ORDER BY coalesce(session_id, ''), n"
)
#: the sessions after the one that was served last come first
_NEXT, _AGAIN = _WAITING.format(">"), _WAITING.format("<=")


def take_task(c: sqlite3.Connection, command: TakeTask) -> DelegationRow | None:
    """Handle `TakeTask`. A task whose row cannot be read is left, and the next one is taken."""
    found = next(_tasks(c, command), None)
    if found is None:
        return None
    n, session, row = found
    state = next_work_state(row.state, WorkEvent.START)
    c.execute(
        "UPDATE delegations SET state = ?, started_at = ?, worker = ?, ticket = ? WHERE n = ?",
        (state.value, command.now, command.worker, command.ticket, n),
    )
    c.execute(_SERVED, (command.hand, session))
    if command.post:
        post = HandPost(delegation=row.id, verb=PostVerb.TAKEN, by=command.worker, at=command.now)
        posts.leave(c, post)
    changed = {"state": state, "started_at": command.now, "worker": command.worker, "ticket": command.ticket}
    return msgspec.structs.replace(row, **changed)


_SERVED = (
    "INSERT INTO worker_turns (hand, session_id) VALUES (?, ?) ON CONFLICT (hand) DO UPDATE SET"
    " session_id = excluded.session_id"
)


def _tasks(c: sqlite3.Connection, command: TakeTask) -> Iterator[tuple[int, str, DelegationRow]]:
    """The readable tasks of a hand in the order in which they are given away."""
    served = c.execute("SELECT session_id FROM worker_turns WHERE hand = ?", (command.hand,)).fetchone()
    last = "" if served is None else served[0]
    # At first the session without an id comes in its turn, too.
    for sql in (_NEXT, _AGAIN):
        for n, session, *columns in c.execute(sql, (command.hand, last, command.now)):
            try:
                yield n, session, delegation_of(columns)
            except (ValueError, TypeError):
                continue


def note_progress(c: sqlite3.Connection, command: NoteProgress) -> bool:
    """Handle `NoteProgress`."""
    if not posts.is_there(c, command.post):
        return False
    row = c.execute("SELECT state, ticket FROM delegations WHERE id = ?", (command.delegation,)).fetchone()
    if row is None:
        raise posts.unknown(c, command.delegation)
    state, ticket = row
    if command.ticket is not None:
        posts.check_ticket(command.delegation, ticket, command.ticket)
    posts.take(c, command.post)
    return state in _OPEN and _note(c, command.delegation, command.text)


_OPEN = frozenset({state.value for state in OPEN_WORK})


def _note(c: sqlite3.Connection, delegation: DelegationId, text: str) -> bool:
    return c.execute("UPDATE delegations SET progress = ? WHERE id = ?", (text, delegation)).rowcount == 1
