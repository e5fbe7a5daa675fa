"""The SQL of the SQLite store: each function is one write, given a connection inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from core.delivery.states import DeliveryEvent, may_end, next_state
from core.errors import IllegalTransition
from core.hands.states import DelegationEvent, DelegationState, next_delegation_state
from core.reasons import Reason
from core.store.rows import Admission, DelegationRow, Finish, IntentRow, NewSession, SessionRow, Settled, Work
from core.values import (
    DelegationId,
    HandResult,
    InboundId,
    IntentId,
    IntentState,
    Receipt,
    SessionId,
    WorkKind,
)

_json = msgspec.json.Encoder().encode
_ROLES = {WorkKind.MESSAGE: "user", WorkKind.CALLBACK: "hand", WorkKind.WAKE: "user"}


def _text(value: object) -> str:
    return _json(value).decode()


def ensure_session(c: sqlite3.Connection, new: NewSession, now: float) -> SessionRow:
    """The session of a key; created when there is none."""
    row = c.execute("SELECT session_id, generation FROM session_map WHERE session_key = ?", (new.key,)).fetchone()
    if row is not None:
        return SessionRow(key=new.key, id=SessionId(row[0]), generation=row[1], created=False)
    address = None if new.address is None else _text(new.address)
    c.execute(
        "INSERT INTO session_map (session_key, agent_id, session_id, address, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (new.key, new.agent, new.id, address, now, now),
    )
    return SessionRow(key=new.key, id=new.id, generation=1, created=True)


def admit(c: sqlite3.Connection, work: Work, identity: str, session: NewSession, now: float) -> Admission:
    """Store a message once. See `core.store.port.Store.admit`."""
    stored = c.execute(
        "INSERT INTO inbox (id, identity, kind, session_key, agent_id, state, work, admitted_at)"
        " VALUES (?, ?, ?, ?, ?, 'pending', ?, ?) ON CONFLICT (identity) DO NOTHING",
        (work.id, identity, work.kind.value, work.session_key, work.agent, _json(work), now),
    )
    if stored.rowcount == 0:
        known = c.execute("SELECT id FROM inbox WHERE identity = ?", (identity,)).fetchone()
        return Admission(session=None, first=InboundId(known[0]))
    row = ensure_session(c, session, now)
    append(c, row.id, _ROLES[work.kind], work.text, work.id, now)
    return Admission(session=row)


def append(
    c: sqlite3.Connection, session: SessionId, role: str, text: str, ref: str, now: float, *, partial: bool = False
) -> None:
    """Add a line to a transcript; the same reference twice is refused by the table (invariant M1)."""
    c.execute(
        "INSERT INTO transcript (session_id, role, text, ref, partial, at) VALUES (?, ?, ?, ?, ?, ?)",
        (session, role, text, ref, partial, now),
    )


def enqueue(c: sqlite3.Connection, intent: IntentRow, now: float) -> bool:
    """Store a prepared intent unless it is there; whether it is new."""
    cursor = c.execute(
        "INSERT INTO intents (id, state, kind, address, chunks, mirror_key, agent_id, turn_id, inbound_id,"
        " delegation_id, reply_to, open_on, created_at, updated_at)"
        " VALUES (?, 'prepared', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (
            intent.id,
            intent.kind.value,
            _text(intent.address),
            _text(intent.chunks),
            intent.mirror_key,
            intent.agent,
            intent.turn,
            intent.inbound,
            intent.delegation,
            intent.reply_to,
            intent.open_on,
            intent.created_at,
            now,
        ),
    )
    return cursor.rowcount == 1


def finish_turn(c: sqlite3.Connection, work: Work, intents: Sequence[IntentRow], now: float) -> tuple[IntentId, ...]:
    """End a piece of work together with what it wants to say."""
    c.execute("UPDATE inbox SET state = 'done' WHERE id = ?", (work.id,))
    if work.callback is not None:
        _tell_delegation(c, work.callback.delegation)
    return tuple(intent.id for intent in intents if enqueue(c, intent, now))


def _tell_delegation(c: sqlite3.Connection, delegation: DelegationId) -> None:
    """The requester was told. A callback turn that is run again finds it told already."""
    state = _delegation_state(c, delegation)
    if state is not DelegationState.TOLD:
        told = next_delegation_state(state, DelegationEvent.TELL)
        c.execute("UPDATE delegations SET state = ? WHERE id = ?", (told.value, delegation))


def _move(c: sqlite3.Connection, intent: IntentRow, sets: str, values: tuple[object, ...]) -> None:
    """Change an intent that is still in the state in which the caller saw it."""
    done = c.execute(
        f"UPDATE intents SET {sets} WHERE id = ? AND state = ? AND acked = ?",  # noqa: S608 -- `sets`: the texts below
        (*values, intent.id, intent.state.value, intent.acked),
    )
    if done.rowcount != 1:
        raise IllegalTransition(f"intent {intent.id} is no longer {intent.state.value!r} with {intent.acked} acked")


def mark_sending(c: sqlite3.Connection, intent: IntentRow, now: float) -> None:
    """See `core.store.port.Store.mark_sending`."""
    state = next_state(intent.state, DeliveryEvent.MARK)
    _move(c, intent, "state = ?, attempts = ?, updated_at = ?", (state.value, intent.attempts, now))


def ack_chunk(
    c: sqlite3.Connection, intent: IntentRow, receipt: Receipt, mirror: NewSession | None, now: float
) -> Settled:
    """Receipt of the next chunk; mirror and end with the last one."""
    acked = intent.acked + 1
    last = acked == len(intent.chunks)
    state = next_state(intent.state, DeliveryEvent.ACK_LAST if last else DeliveryEvent.ACK_CHUNK)
    _move(
        c,
        intent,
        "state = ?, acked = ?, attempts = ?, reason = ?, next_at = NULL, updated_at = ?,"
        " receipts = json_insert(receipts, '$[#]', json(?))",
        (state.value, acked, intent.attempts if last else 0, Reason.ACCEPTED.value, now, _text(receipt)),
    )
    return _mirror(c, intent, acked, mirror, now) if last else Settled(mirror=None)


def _mirror(c: sqlite3.Connection, intent: IntentRow, acked: int, mirror: NewSession | None, now: float) -> Settled:
    """Put what was accepted into the session of the conversation, once."""
    if mirror is None or acked == 0:
        return Settled(mirror=None)
    row = ensure_session(c, mirror, now)
    text = "\n".join(intent.chunks[:acked])
    append(c, row.id, "assistant", text, intent.id, now, partial=acked < len(intent.chunks))
    return Settled(mirror=row, mirror_text=text)


def defer(c: sqlite3.Connection, intent: IntentRow, next_at: float, reason: Reason, now: float) -> None:
    """See `core.store.port.Store.defer`."""
    state = next_state(intent.state, DeliveryEvent.DEFER)
    _move(
        c,
        intent,
        "state = ?, attempts = ?, next_at = ?, reason = ?, updated_at = ?",
        (state.value, intent.attempts, next_at, reason.value, now),
    )


def end_intent(
    c: sqlite3.Connection, intent: IntentRow, state: IntentState, reason: Reason, mirror: NewSession | None, now: float
) -> Settled:
    """See `core.store.port.Store.end_intent`."""
    if not may_end(intent.state, state, accepted_chunks=intent.acked):
        raise IllegalTransition(f"an intent that is {intent.state.value!r} cannot end as {state.value!r}")
    _move(
        c,
        intent,
        "state = ?, attempts = ?, reason = ?, next_at = NULL, updated_at = ?",
        (state.value, intent.attempts, reason.value, now),
    )
    return _mirror(c, intent, intent.acked, mirror, now)


def accept_delegation(c: sqlite3.Connection, row: DelegationRow) -> bool:
    """Store a task unless it is there; whether it is new."""
    cursor = c.execute(
        "INSERT INTO delegations (id, state, hand, task, agent_id, session_key, turn_id, inbound_id, origin,"
        " accepted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (
            row.id,
            row.state.value,
            row.hand,
            row.task,
            row.agent,
            row.session_key,
            row.turn,
            row.inbound,
            None if row.origin is None else _text(row.origin),
            row.accepted_at,
        ),
    )
    return cursor.rowcount == 1


def _delegation_state(c: sqlite3.Connection, delegation: DelegationId) -> DelegationState:
    row = c.execute("SELECT state FROM delegations WHERE id = ?", (delegation,)).fetchone()
    if row is None:
        raise IllegalTransition(f"there is no delegation {delegation}")
    return DelegationState(row[0])


def start_delegation(c: sqlite3.Connection, delegation: DelegationId) -> None:
    """The hand is about to work."""
    state = next_delegation_state(_delegation_state(c, delegation), DelegationEvent.START)
    c.execute("UPDATE delegations SET state = ? WHERE id = ?", (state.value, delegation))


def finish_delegation(
    c: sqlite3.Connection,
    delegation: DelegationId,
    result: HandResult,
    callback: tuple[Work, str, NewSession] | None,
    intents: Sequence[IntentRow],
    now: float,
) -> Finish:
    """The first result and what it sets going; no change when there was a result before."""
    try:
        state = next_delegation_state(_delegation_state(c, delegation), DelegationEvent.FINISH)
    except IllegalTransition:
        return Finish(first=False)
    c.execute(
        "UPDATE delegations SET state = ?, outcome = ?, result = ?, finished_at = ? WHERE id = ?",
        (
            # Without a callback the result is told by what is enqueued in this very transaction.
            (state if callback is not None else next_delegation_state(state, DelegationEvent.TELL)).value,
            result.outcome.value,
            result.text,
            now,
            delegation,
        ),
    )
    session = None if callback is None else admit(c, *callback, now).session
    for intent in intents:
        enqueue(c, intent, now)
    return Finish(first=True, session=session)
