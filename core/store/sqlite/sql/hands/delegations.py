"""The SQL that writes delegations: one function per command, inside a transaction."""

from __future__ import annotations

import sqlite3

import msgspec

from trunkline.core.errors import IllegalTransition
from trunkline.core.hands.long_results import kept_result
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import Admission, SessionRow
from trunkline.core.states.delegation import (
    ENDED_BY,
    OPEN_WORK,
    CallbackEvent,
    CallbackState,
    HandOutcome,
    WorkEvent,
    WorkState,
    next_callback_state,
    next_work_state,
)
from trunkline.core.store.commands import SetAsideBroken
from trunkline.core.store.delegations import AcceptDelegation, FinishDelegation, HandFinish, StartDelegation
from trunkline.core.store.sqlite.sql.callbacks import callback_states, posts, results
from trunkline.core.store.sqlite.sql.intents import insert_intent
from trunkline.core.store.sqlite.sql.session_lookup import has_left
from trunkline.core.store.sqlite.sql.transcript import append
from trunkline.core.store.sqlite.sql.work import HAND_ROLE, admit, finish_turn
from trunkline.core.values import Address, DelegationId

_json = msgspec.json.Encoder().encode
_address = msgspec.json.Decoder(Address).decode


def accept_delegation(c: sqlite3.Connection, command: AcceptDelegation) -> bool:
    """Handle `AcceptDelegation`."""
    row = command.row
    columns = {
        "id": row.id,
        "state": row.state.value,
        "callback": row.callback.value,
        "kind": row.kind.value,
        "hand": row.hand,
        "task": row.task,
        "label": row.label,
        "agent_id": row.agent,
        "session_key": row.session_key,
        "session_id": row.session,
        "turn_id": row.turn,
        "inbound_id": row.inbound,
        "reply_to": None if row.reply_to is None else _json(row.reply_to).decode(),
        "open_on": row.open_on,
        "origin": None if row.origin is None else _json(row.origin).decode(),
        "parent": row.parent,
        "depth": row.depth,
        "child_key": row.child_key,
        "accepted_at": row.accepted_at,
        "deadline": row.deadline,
        "timeout": row.timeout,
        "max_result": row.max_result,
    }
    cursor = c.execute(_INSERT.format(", ".join(columns), ", ".join("?" * len(columns))), tuple(columns.values()))
    return cursor.rowcount == 1


_INSERT = "INSERT INTO delegations ({}) VALUES ({}) ON CONFLICT (id) DO NOTHING"


def start_delegation(c: sqlite3.Connection, command: StartDelegation) -> Admission | None:
    """Handle `StartDelegation`."""
    state = next_work_state(_state(c, command.delegation), WorkEvent.START)
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
    if before in OPEN_WORK and returns and has_session and own is None:
        return HandFinish(first=True, replaced=True)
    turn = None if command.turn is None else finish_turn(c, command.turn)
    posts.take(c, command.post)
    if before not in OPEN_WORK:
        results.keep_late(c, command.delegation, command.result, command.now, command.inline)
        return HandFinish(first=False, before=before, turn=turn)
    state = next_work_state(before, ENDED_BY[command.result.outcome])
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
    event = CallbackEvent.ADMIT if callback is not None else CallbackEvent.POST
    if callback is None and not command.intents:
        event = CallbackEvent.SUPPRESS
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


def _state(c: sqlite3.Connection, delegation: DelegationId) -> WorkState:
    row = c.execute("SELECT state FROM delegations WHERE id = ?", (delegation,)).fetchone()
    if row is None:
        raise IllegalTransition(f"there is no delegation {delegation}")
    return WorkState(row[0])


def _requester(c: sqlite3.Connection, delegation: DelegationId) -> tuple[WorkState, bool, SessionRow | None]:
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
        return WorkState(state), session is not None, None
    return WorkState(state), True, SessionRow(key=key, id=session, generation=generation, created=False)


def set_aside_broken(c: sqlite3.Connection, command: SetAsideBroken) -> None:
    """Handle `SetAsideBroken`."""
    left = command.left
    c.executemany("UPDATE inbox SET state = 'broken' WHERE n = ?", [(row.n,) for row in left.broken_works])
    lost = next_work_state(WorkState.RUNNING, WorkEvent.LOSE)
    unreported = next_callback_state(CallbackState.WAITING, CallbackEvent.SUPPRESS)
    c.executemany(
        "UPDATE delegations SET state = ?, callback = ?, callback_reason = ?, outcome = ?, finished_at = ? WHERE n = ?",
        [
            (lost.value, unreported.value, Reason.BROKEN_ROW.value, HandOutcome.LOST.value, command.now, row.n)
            for row in left.broken_delegations
        ],
    )
