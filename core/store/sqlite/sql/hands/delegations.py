"""The SQL that writes delegations, and of workers outside: one function per command, inside a transaction."""

import sqlite3
from collections.abc import Iterator

import msgspec

from trunkline.core.errors import IllegalTransition
from trunkline.core.hands.result_limits import kept_result
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.records.rows import Admission, SessionRow
from trunkline.core.states import delegation as states
from trunkline.core.states.delegation import OPEN_WORK, WorkEvent, next_work_state
from trunkline.core.store.commands import SetAsideBroken
from trunkline.core.store.delegations import (
    AcceptDelegation,
    FinishDelegation,
    HandFinish,
    HandPost,
    NoteProgress,
    PostVerb,
    StartDelegation,
    TakeTask,
)
from trunkline.core.store.sqlite.sql.callbacks import callback_states, posts, results
from trunkline.core.store.sqlite.sql.hands.delegation_columns import (
    DELEGATION_COLUMNS,
    INSERT,
    delegation_of,
    values_of,
)
from trunkline.core.store.sqlite.sql.intents import insert_intent
from trunkline.core.store.sqlite.sql.session_lookup import has_left
from trunkline.core.store.sqlite.sql.transcript import append
from trunkline.core.store.sqlite.sql.work import HAND_ROLE, admit, finish_turn
from trunkline.core.values import Address, DelegationId, IntentKind

_address = msgspec.json.Decoder(Address).decode


def accept_delegation(c: sqlite3.Connection, command: AcceptDelegation) -> bool:
    return c.execute(INSERT, values_of(command.row)).rowcount == 1


def start_delegation(c: sqlite3.Connection, command: StartDelegation) -> Admission | None:
    state = states.next_work_state(_state(c, command.delegation), states.WorkEvent.START)
    c.execute(
        "UPDATE delegations SET state = ?, begun = 1, started_at = ?, deadline = coalesce(?, deadline) WHERE id = ?",
        (state.value, command.now, command.deadline, command.delegation),
    )
    return None if command.admit is None else admit(c, command.admit)


def finish_delegation(c: sqlite3.Connection, command: FinishDelegation) -> HandFinish:
    """Handle `FinishDelegation`. Nothing is stored for a requester's session that was reset or left before."""
    callback, returns = command.callback, command.callback is not None or command.line is not None
    if not posts.is_there(c, command.post):
        return HandFinish(first=False, again=True)
    before, has_session, own = _requester(c, command.delegation)
    if command.ticket is not None:
        _check_answer(c, command)
    if before in states.OPEN_WORK and returns and has_session and own is None:
        return HandFinish(first=True, replaced=True)
    turn = None if command.turn is None else finish_turn(c, command.turn)
    posts.take_post(c, command.post)
    if before not in states.OPEN_WORK:
        results.keep_late(c, command.delegation, command.result, command.now, command.inline)
        return HandFinish(first=False, before=before, turn=turn)
    state = states.next_work_state(before, states.ENDED_BY[command.result.outcome])
    c.execute(
        "UPDATE delegations SET state = ?, outcome = ?, finished_at = ? WHERE id = ?",
        (state.value, command.result.outcome.value, command.now, command.delegation),
    )
    # A hook may have changed or cancelled a posted text: the intents have what is left.
    if command.keep_text or callback is not None:
        _store_result(c, command)
    session = None if callback is None else admit(c, callback, own).session
    if command.line is not None and own is not None:
        append(c, own.id, HAND_ROLE, command.line, f"{command.delegation}.back", command.now)
        session = own
    for intent in command.intents:
        insert_intent(c, intent, command.now)
    event = states.CallbackEvent.ADMIT if callback is not None else states.CallbackEvent.POST
    if callback is None and all(intent.kind is IntentKind.NOTICE for intent in command.intents):
        # A notice that the result is withheld does not deliver it.
        event = states.CallbackEvent.SUPPRESS
    change = callback_states.first(c, command.delegation, event, command.callback_reason)
    return HandFinish(first=True, session=session, change=change, turn=turn)


def _check_answer(c: sqlite3.Connection, command: FinishDelegation) -> None:
    """Raise `AnswerRefused` for an answer that is not that of the worker, or too long."""
    row = c.execute("SELECT ticket, max_result FROM delegations WHERE id = ?", (command.delegation,)).fetchone()
    posts.check_ticket(command.delegation, row[0], command.ticket)
    posts.check_length(command.delegation, command.result.text, row[1])


def _store_result(c: sqlite3.Connection, command: FinishDelegation) -> None:
    """Store the text of a result: in its row, or by its content if it is long."""
    text = command.result.text
    kept = kept_result(text, command.inline)
    if kept.ref is not None:
        results.hold(c, kept.ref, text)
    c.execute(
        "UPDATE delegations SET result = ?, result_ref = ? WHERE id = ?",
        (text if kept.ref is None else None, kept.ref, command.delegation),
    )


def _state(c: sqlite3.Connection, delegation: DelegationId) -> states.WorkState:
    row = c.execute("SELECT state FROM delegations WHERE id = ?", (delegation,)).fetchone()
    if row is None:
        raise IllegalTransition(f"there is no delegation {delegation}")
    return states.WorkState(row[0])


def _requester(c: sqlite3.Connection, delegation: DelegationId) -> tuple[states.WorkState, bool, SessionRow | None]:
    """State of a delegation, whether it belongs to a session, and that session unless it was reset or left."""
    row = c.execute(
        "SELECT d.state, d.session_id, s.session_key, s.generation, d.reply_to FROM delegations d"
        " LEFT JOIN session_map s ON s.session_id = d.session_id WHERE d.id = ?",
        (delegation,),
    ).fetchone()
    if row is None:
        raise IllegalTransition(f"there is no delegation {delegation}")
    state, session, key, generation, place = row
    if key is None or (place is not None and has_left(c, session, _address(place))):
        return states.WorkState(state), session is not None, None
    return states.WorkState(state), True, SessionRow(key=key, id=session, generation=generation, created=False)


def set_aside_broken(c: sqlite3.Connection, command: SetAsideBroken) -> None:
    left = command.left
    c.executemany("UPDATE inbox SET state = 'broken' WHERE n = ?", [(row.n,) for row in left.broken_works])
    lost = states.next_work_state(states.WorkState.RUNNING, states.WorkEvent.LOSE)
    unreported = states.next_callback_state(states.CallbackState.WAITING, states.CallbackEvent.SUPPRESS)
    c.executemany(
        "UPDATE delegations SET state = ?, callback = ?, callback_reason = ?, outcome = ?, finished_at = ? WHERE n = ?",
        [
            (lost.value, unreported.value, Reason.BROKEN_ROW.value, states.HandOutcome.LOST.value, command.now, row.n)
            for row in left.broken_delegations
        ],
    )


_WAITING = (
    f"SELECT n, coalesce(session_id, ''), {DELEGATION_COLUMNS} FROM delegations"  # noqa: S608 -- fixed texts
    " WHERE state = 'accepted' AND kind = 'worker' AND hand = ? AND coalesce(session_id, '') {} ?"
    " AND (deadline IS NULL OR deadline > ?) ORDER BY coalesce(session_id, ''), n"
)
#: the sessions after the one that was served last come first
_NEXT, _AGAIN = _WAITING.format(">"), _WAITING.format("<=")


def take_task(c: sqlite3.Connection, command: TakeTask) -> DelegationRow | None:
    """Handle `TakeTask`. A task whose row cannot be read is left, and the next task is taken."""
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
    if not posts.is_there(c, command.post):
        return False
    row = c.execute("SELECT state, ticket FROM delegations WHERE id = ?", (command.delegation,)).fetchone()
    if row is None:
        raise posts.unknown(c, command.delegation)
    state, ticket = row
    if command.ticket is not None:
        posts.check_ticket(command.delegation, ticket, command.ticket)
    posts.take_post(c, command.post)
    return state in _OPEN and _note(c, command.delegation, command.text)


_OPEN = frozenset({state.value for state in OPEN_WORK})


def _note(c: sqlite3.Connection, delegation: DelegationId, text: str) -> bool:
    return c.execute("UPDATE delegations SET progress = ? WHERE id = ?", (text, delegation)).rowcount == 1
