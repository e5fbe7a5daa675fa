"""The SQL of the SQLite store: each function is one write, given a connection inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

import msgspec

from trunkline.core.delivery.mirror_text import mirror_text
from trunkline.core.delivery.states import DeliveryEvent, may_end, next_state
from trunkline.core.errors import IllegalTransition
from trunkline.core.hands.states import DelegationEvent, DelegationState, next_delegation_state
from trunkline.core.reasons import Reason
from trunkline.core.store.records import (
    Admission,
    Begun,
    DelegationRow,
    Finish,
    IntentFate,
    IntentRow,
    NewSession,
    SendRow,
    SessionRow,
    Settled,
    Work,
    send_intent,
)
from trunkline.core.store.sqlite.sql.bindings import touch
from trunkline.core.store.sqlite.sql.intent_columns import INTENT_COLUMNS, values_of
from trunkline.core.store.sqlite.sql.intent_reads import find_fate, find_send
from trunkline.core.store.sqlite.sql.receipt_padding import PLAIN, ROOMY, WHILE_SENT, is_long, room_for
from trunkline.core.store.sqlite.sql.session_lookup import find_by_id, find_ended
from trunkline.core.store.sqlite.sql.session_moves import tie_nowhere
from trunkline.core.store.sqlite.sql.sessions import ensure_session, look
from trunkline.core.store.sqlite.sql.transcript import append, append_mirror
from trunkline.core.values import (
    DelegationId,
    HandResult,
    InboundId,
    IntentId,
    IntentState,
    Receipt,
    WorkKind,
)

_json = msgspec.json.Encoder().encode
_ROLES = {WorkKind.MESSAGE: "user", WorkKind.CALLBACK: "hand", WorkKind.WAKE: "user", WorkKind.CONTROL: "user"}


def _text(value: object) -> str:
    return _json(value).decode()


def admit(
    c: sqlite3.Connection, work: Work, identity: str, session: NewSession, now: float, own: SessionRow | None = None
) -> Admission:
    """Store a message once. See `core.store.port.Store.admit`. `own`: the session that it belongs to by its id."""
    seen = look(c, session, identity)
    if seen.known is not None:
        return Admission(session=None, first=InboundId(seen.known))
    row = own or ensure_session(c, session, now, seen)
    if work.kind is WorkKind.WAKE:
        tie_nowhere(c, work.agent, row.key)
    c.execute(
        "INSERT INTO inbox (id, identity, kind, session_key, session_id, agent_id, state, work, admitted_at)"
        " VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?)",
        (work.id, identity, work.kind.value, work.session_key, row.id, work.agent, _json(work), now),
    )
    append(c, row.id, _ROLES[work.kind], work.text, work.id, now)
    by_peer = work.binding is not None and work.kind is WorkKind.MESSAGE
    touched = touch(c, work.binding, now) if by_peer and work.binding is not None else None
    return Admission(session=row, touched=touched)


_MARKS = ", ".join("?" * len(INTENT_COLUMNS.split(",")))
_INSERT = f"INSERT INTO intents ({INTENT_COLUMNS}) VALUES ({_MARKS}) ON CONFLICT (id) DO NOTHING"  # noqa: S608 -- names only


def enqueue(c: sqlite3.Connection, intent: IntentRow, now: float) -> bool:
    """Store a prepared intent, or one that was cancelled, unless it is there; whether it is new."""
    return c.execute(_INSERT, values_of(intent, now)).rowcount == 1


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
    """Change an intent that is still as the caller saw it, and whole: with broken receipts it is set aside."""
    done = c.execute(
        f"UPDATE intents SET {sets} WHERE id = ? AND state = ? AND acked = ? AND json_valid(receipts)",  # noqa: S608 -- `sets`: the texts below
        (*values, intent.id, intent.state.value, intent.acked),
    )
    if done.rowcount != 1:
        raise IllegalTransition(f"intent {intent.id} is no longer {intent.state.value!r} with {intent.acked} acked")


def mark_sending(c: sqlite3.Connection, intent: IntentRow, now: float) -> None:
    """See `trunkline.core.store.port.Store.mark_sending`."""
    state = next_state(intent.state, DeliveryEvent.MARK)
    sets = f"state = ?, attempts = ?, updated_at = ?{WHILE_SENT if is_long(intent) else ''}"
    _move(c, intent, sets, (state.value, intent.attempts, now))


def ack_chunk(
    c: sqlite3.Connection,
    intent: IntentRow,
    receipt: Receipt,
    mirror: NewSession | None,
    now: float,
    *,
    mirror_due: bool = False,
) -> Settled:
    """Receipt of the next chunk; mirror and end with the last one."""
    acked = intent.acked + 1
    last = acked == len(intent.chunks)
    state, added = next_state(intent.state, DeliveryEvent.ACK_LAST if last else DeliveryEvent.ACK_CHUNK), _text(receipt)
    keeps = not last and is_long(intent)
    values = (state.value, acked, intent.attempts if last else 0, Reason.ACCEPTED.value, now)
    room = (room_for(added, acked),) if keeps else ()
    _move(
        c,
        intent,
        "state = ?, acked = ?, attempts = ?, reason = ?, next_at = NULL, updated_at = ?, marked = 0, doubt_at = NULL,"
        f" transport = NULL, receipts = {ROOMY if keeps else PLAIN}",
        (*values, *room, added),
    )
    if mirror_due:
        _mirror_is_due(c, intent)
    settled = _mirror(c, intent, acked, mirror, now) if last else Settled(mirror=None)
    if intent.binding is None:
        return settled
    # In the same transaction: what people have seen keeps their conversation bound (seed 002, invariant B2).
    return msgspec.structs.replace(settled, touched=touch(c, intent.binding, now))


def _mirror(c: sqlite3.Connection, intent: IntentRow, acked: int, mirror: NewSession | None, now: float) -> Settled:
    """Put what was accepted into the session of the conversation, once. No mirror: there is nothing new to tell."""
    if mirror is None or acked == 0:
        return Settled(mirror=None)
    row = own_session(c, intent) or ensure_session(c, mirror, now)
    # What has no text, as a payload that only its platform understands, is remembered all the same.
    text = mirror_text("\n".join(intent.chunks[:acked]), intent.media) or ""
    if not append_mirror(c, row.id, text, intent.id, now, partial=acked < len(intent.chunks)):
        return Settled(mirror=None)
    return Settled(mirror=row, mirror_text=text)


def _mirror_is_due(c: sqlite3.Connection, intent: IntentRow) -> None:
    c.execute("UPDATE intents SET mirror_due = 1 WHERE id = ?", (intent.id,))


def mirror_now(c: sqlite3.Connection, intent: IntentRow, mirror: NewSession, now: float) -> Settled:
    """See `trunkline.core.store.port.Store.mirror_now`."""
    c.execute("UPDATE intents SET mirror_due = 0 WHERE id = ?", (intent.id,))
    return _mirror(c, intent, intent.acked, mirror, now)


TOLD = "UPDATE intents SET untold = 0 WHERE id = ? AND untold = 1"


def mark_told(c: sqlite3.Connection, intent: IntentId) -> bool:
    """See `trunkline.core.store.port.Store.mark_told`."""
    return c.execute(TOLD, (intent,)).rowcount == 1


def bury(c: sqlite3.Connection, intent: IntentId, state: IntentState, reason: Reason, now: float) -> None:
    """See `trunkline.core.store.port.Store.bury`."""
    c.execute(
        "UPDATE intents SET state = ?, reason = ?, updated_at = ?, untold = 0, mirror_due = 0"
        " WHERE id = ? AND state IN ('prepared', 'sending')",
        (state.value, reason.value, now, intent),
    )


def own_session(c: sqlite3.Connection, intent: IntentRow) -> SessionRow | None:
    """The session that an intent belongs to, whatever its key has become; none when it names none."""
    if intent.session is None or intent.mirror_key is None:
        return None
    # Reset meanwhile: what it said stays in its own transcript.
    return find_by_id(c, intent.session) or find_ended(c, intent.session)


def misplace(
    c: sqlite3.Connection, intent: IntentRow, receipt: Receipt, mirror: NewSession | None, now: float
) -> Settled:
    """See `trunkline.core.store.port.Store.misplace`."""
    state = next_state(intent.state, DeliveryEvent.MISPLACE)
    _move(
        c,
        intent,
        "state = ?, acked = ?, attempts = ?, reason = ?, next_at = NULL, updated_at = ?,"
        " receipts = json_insert(receipts, '$[#]', json(?))",
        (state.value, intent.acked + 1, intent.attempts, Reason.MISPLACED.value, now, _text(receipt)),
    )
    # It is remembered where people see it, and not in the session that it was meant for.
    return _mirror(c, msgspec.structs.replace(intent, session=None), intent.acked + 1, mirror, now)


def begin_send(
    c: sqlite3.Connection,
    send: SendRow,
    intent: IntentRow,
    entry: NewSession | None,
    again: Callable[[IntentState], bool],
    now: float,
) -> Begun:
    """Store a client's send with its intent and the session that it goes to; see the port."""
    # Whether a key has sent again is asked of the keys: its first intent may have been removed before the later ones.
    if c.execute(SENT_AGAIN, (send.key,)).fetchone() is None and enqueue(c, intent, now):
        if send.tries > 1:
            _note_send(c, send, now)
    else:
        before = _before(c, send)
        tries = before[0].tries + 1
        # What hooks have seen is stored under the id that they have seen, or not at all.
        if not again(before[1].state) or (intent.untold and intent.id != send_intent(send.key, tries)):
            return Begun(new=False, send=before[0], fate=before[1])
        while not enqueue(c, msgspec.structs.replace(intent, id=send_intent(send.key, tries)), now):
            tries += 1
        intent = msgspec.structs.replace(intent, id=send_intent(send.key, tries))
        send = msgspec.structs.replace(send, intent=intent.id, tries=tries)
        _note_send(c, send, now)
    session = None if entry is None else ensure_session(c, entry, now)
    return Begun(new=True, send=send, intent=intent, session=session)


SENT_AGAIN = "SELECT 1 FROM sends WHERE key = ?"
_NOTE_SEND = (
    "INSERT OR REPLACE INTO sends (key, intent_id, tries, session_key, channel, asked_at) VALUES (?, ?, ?, ?, ?, ?)"
)


def _note_send(c: sqlite3.Connection, send: SendRow, now: float) -> None:
    """Remember which try of a send is the latest. The first has no row: its intent, named by the key, tells it all."""
    c.execute(_NOTE_SEND, (send.key, send.intent, send.tries, send.session_key, send.channel, now))


def _before(c: sqlite3.Connection, send: SendRow) -> tuple[SendRow, IntentFate]:
    """The latest try of a send, and what became of it."""
    row = find_send(c, send.key)
    fate = None if row is None else find_fate(c, row.intent)
    if row is None or fate is None:
        raise IllegalTransition(f"send {send.key!r}: its intent {(row or send).intent} is gone")
    return row, fate


def defer(c: sqlite3.Connection, intent: IntentRow, next_at: float, reason: Reason, now: float) -> None:
    """See `trunkline.core.store.port.Store.defer`."""
    state = next_state(intent.state, DeliveryEvent.DEFER)
    transport = None if intent.transport is None else intent.transport.value
    bound = None if intent.bound is None else _text(intent.bound)
    _move(
        c,
        intent,
        "state = ?, attempts = ?, next_at = ?, reason = ?, updated_at = ?, marked = ?, doubt_at = ?, transport = ?,"
        " bound = ?",
        (state.value, intent.attempts, next_at, reason.value, now, intent.marked, intent.doubt_at, transport, bound),
    )


def end_intent(
    c: sqlite3.Connection,
    intent: IntentRow,
    state: IntentState,
    reason: Reason,
    mirror: NewSession | None,
    now: float,
    *,
    mirror_due: bool = False,
    notice: IntentRow | None = None,
) -> Settled:
    """See `trunkline.core.store.port.Store.end_intent`."""
    if not may_end(intent.state, state, accepted_chunks=intent.acked):
        raise IllegalTransition(f"an intent that is {intent.state.value!r} cannot end as {state.value!r}")
    _move(
        c,
        intent,
        "state = ?, attempts = ?, reason = ?, next_at = NULL, updated_at = ?",
        (state.value, intent.attempts, reason.value, now),
    )
    if notice is not None:
        enqueue(c, notice, now)
    if mirror_due:
        _mirror_is_due(c, intent)
    return _mirror(c, intent, intent.acked, mirror, now)


def accept_delegation(c: sqlite3.Connection, row: DelegationRow) -> bool:
    """Store a task unless it is there; whether it is new."""
    cursor = c.execute(
        "INSERT INTO delegations (id, state, hand, task, agent_id, session_key, session_id, turn_id, inbound_id,"
        " origin, accepted_at, child_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (
            row.id,
            row.state.value,
            row.hand,
            row.task,
            row.agent,
            row.session_key,
            row.session,
            row.turn,
            row.inbound,
            None if row.origin is None else _text(row.origin),
            row.accepted_at,
            row.child_key,
        ),
    )
    return cursor.rowcount == 1


def _delegation_state(c: sqlite3.Connection, delegation: DelegationId) -> DelegationState:
    row = c.execute("SELECT state FROM delegations WHERE id = ?", (delegation,)).fetchone()
    if row is None:
        raise IllegalTransition(f"there is no delegation {delegation}")
    return DelegationState(row[0])


def _requester(c: sqlite3.Connection, delegation: DelegationId) -> tuple[DelegationState, bool, SessionRow | None]:
    """State of a delegation, whether it belongs to a session, and that session if some key has it today."""
    row = c.execute(
        "SELECT d.state, d.session_id, s.session_key, s.generation FROM delegations d"
        " LEFT JOIN session_map s ON s.session_id = d.session_id WHERE d.id = ?",
        (delegation,),
    ).fetchone()
    if row is None:
        raise IllegalTransition(f"there is no delegation {delegation}")
    state, session, key, generation = row
    if key is None:
        return DelegationState(state), session is not None, None
    return DelegationState(state), True, SessionRow(key=key, id=session, generation=generation, created=False)


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
    *,
    kept: bool = False,
) -> Finish:
    """The first result and what it sets going; no change when there was a result before.

    A callback belongs to the session that delegated: when that was reset meanwhile, nothing is stored (S5).
    """
    before, belongs, own = _requester(c, delegation)
    try:
        state = next_delegation_state(before, DelegationEvent.FINISH)
    except IllegalTransition:
        return Finish(first=False)
    if callback is not None and belongs and own is None:
        return Finish(first=True, replaced=True)
    c.execute(
        "UPDATE delegations SET state = ?, outcome = ?, result = ?, finished_at = ? WHERE id = ?",
        (
            # Without a callback the result is told by what is enqueued in this very transaction.
            (state if callback is not None else next_delegation_state(state, DelegationEvent.TELL)).value,
            result.outcome.value,
            # What a hook made of one that is posted is in the intents, and what it took back is nowhere.
            result.text if kept or callback is not None else None,
            now,
            delegation,
        ),
    )
    session = None if callback is None else admit(c, *callback, now, own).session
    for intent in intents:
        enqueue(c, intent, now)
    return Finish(first=True, session=session)
