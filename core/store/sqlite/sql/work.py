"""The SQL that writes inbound work and delegations: one function per command, inside a transaction."""

from __future__ import annotations

import sqlite3

import msgspec

from trunkline.core.errors import IllegalTransition
from trunkline.core.hands.states import DelegationEvent, DelegationState, next_delegation_state
from trunkline.core.store.commands import (
    AcceptDelegation,
    Admit,
    BeginRun,
    CountRuns,
    FinishDelegation,
    FinishTurn,
    SetAsideBroken,
    StartDelegation,
)
from trunkline.core.store.records import Admission, HandFinish, SessionRow
from trunkline.core.store.schedule import Fire
from trunkline.core.store.sqlite.sql.bindings import touch
from trunkline.core.store.sqlite.sql.intents import insert_intent
from trunkline.core.store.sqlite.sql.schedule import add_event, note_text, store_timer
from trunkline.core.store.sqlite.sql.session_lookup import has_left
from trunkline.core.store.sqlite.sql.session_moves import tie_nowhere
from trunkline.core.store.sqlite.sql.sessions import known_as, look_up, session_for
from trunkline.core.store.sqlite.sql.transcript import append
from trunkline.core.values import Address, DelegationId, HandOutcome, InboundId, IntentId, WorkKind

_json = msgspec.json.Encoder().encode
_address = msgspec.json.Decoder(Address).decode
_ROLES = {kind: "hand" if kind is WorkKind.CALLBACK else "user" for kind in WorkKind}
#: work that comes from no place
_FROM_NOWHERE = (WorkKind.WAKE, WorkKind.HEARTBEAT, WorkKind.CRON)


def admit(c: sqlite3.Connection, command: Admit, own: SessionRow | None = None) -> Admission:
    """Handle `Admit`. `own`: the session that the work belongs to by its id."""
    work, now = command.work, command.now
    lookup = look_up(c, command.session, command.identity)
    known = lookup.known
    if command.also:
        known = known or known_as(c, (command.identity, *command.also))
        _note_aliases(c, command, known)
    if known is not None:
        return Admission(session=None, first=InboundId(known))
    row = own or session_for(c, command.session, now, lookup)
    if work.kind in _FROM_NOWHERE and own is None:
        tie_nowhere(c, work.agent, row.key)
    c.execute(
        "INSERT INTO inbox (id, identity, kind, session_key, session_id, agent_id, state, work, admitted_at)"
        " VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?)",
        (work.id, command.identity, work.kind.value, work.session_key, row.id, work.agent, _json(work), now),
    )
    append(c, row.id, _ROLES[work.kind], work.text, work.id, now)
    by_peer = work.binding is not None and work.kind is WorkKind.MESSAGE
    touched = touch(c, work.binding, now) if by_peer and work.binding is not None else None
    return Admission(session=row, touched=touched)


def _note_aliases(c: sqlite3.Connection, command: Admit, known: str | None) -> None:
    """Note the identities that do not stand in `inbox` itself, under the message that they belong to."""
    identities = command.also if known is None else (command.identity, *command.also)
    c.executemany(
        "INSERT INTO inbox_aliases (identity, inbound_id, at) SELECT ?, ?, ?"
        " WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE identity = ?) ON CONFLICT DO NOTHING",
        [(identity, known or command.work.id, command.now, identity) for identity in identities],
    )


def begin_run(c: sqlite3.Connection, command: BeginRun) -> None:
    """Handle `BeginRun`."""
    c.execute("UPDATE inbox SET begun = 1 WHERE id = ?", (command.work,))


def count_runs(c: sqlite3.Connection, _: CountRuns) -> None:
    """Handle `CountRuns`."""
    c.execute("UPDATE inbox SET runs = runs + 1, begun = 0 WHERE state = 'pending' AND begun = 1")
    c.execute("UPDATE delegations SET runs = runs + 1, begun = 0 WHERE state = 'running' AND begun = 1")


def forget_begun(c: sqlite3.Connection, token: int) -> None:
    """The holder of a token stops in order: no run in progress has taken it down."""
    mine = "begun = 1 AND (SELECT token FROM lease) = ?"
    c.execute(f"UPDATE inbox SET begun = 0 WHERE state = 'pending' AND {mine}", (token,))  # noqa: S608 -- fixed text
    c.execute(f"UPDATE delegations SET begun = 0 WHERE state = 'running' AND {mine}", (token,))  # noqa: S608 -- fixed text


def finish_turn(c: sqlite3.Connection, command: FinishTurn) -> tuple[IntentId, ...]:
    """Handle `FinishTurn`."""
    c.execute("UPDATE inbox SET state = 'done' WHERE id = ?", (command.work.id,))
    if command.work.callback is not None:
        _mark_told(c, command.work.callback.delegation)
    new = tuple(intent.id for intent in command.intents if insert_intent(c, intent, command.now))
    if command.said is not None and command.said.intent in new:
        note_text(c, command.said, command.now)
    return new


def _mark_told(c: sqlite3.Connection, delegation: DelegationId) -> None:
    """Record that the requester got the result. A callback turn that runs again finds it recorded."""
    state = _state(c, delegation)
    if state is not DelegationState.TOLD:
        told = next_delegation_state(state, DelegationEvent.TELL)
        c.execute("UPDATE delegations SET state = ? WHERE id = ?", (told.value, delegation))


def fire(c: sqlite3.Connection, command: Fire) -> Admission | None:
    """Handle `Fire`."""
    if command.timer is not None:
        store_timer(c, command.timer)
    if command.event is not None:
        add_event(c, command.event, command.now)
    if command.admit is None:
        return None
    admission = admit(c, command.admit)
    if admission.session is not None and command.taken:
        agent = command.admit.work.agent
        c.execute("DELETE FROM system_events WHERE agent_id = ? AND n <= ?", (agent, command.taken))
    return admission


# -------------------------------------------------------------------- delegations


def accept_delegation(c: sqlite3.Connection, command: AcceptDelegation) -> bool:
    """Handle `AcceptDelegation`."""
    row = command.row
    cursor = c.execute(
        "INSERT INTO delegations (id, state, hand, task, agent_id, session_key, session_id, turn_id, inbound_id,"
        " origin, accepted_at, child_key, open_on) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO NOTHING",
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
            None if row.origin is None else _json(row.origin).decode(),
            row.accepted_at,
            row.child_key,
            row.open_on,
        ),
    )
    return cursor.rowcount == 1


def start_delegation(c: sqlite3.Connection, command: StartDelegation) -> None:
    """Handle `StartDelegation`."""
    state = next_delegation_state(_state(c, command.delegation), DelegationEvent.START)
    c.execute("UPDATE delegations SET state = ?, begun = 1 WHERE id = ?", (state.value, command.delegation))


def finish_delegation(c: sqlite3.Connection, command: FinishDelegation) -> HandFinish:
    """Handle `FinishDelegation`. Nothing is stored for a requester's session that was reset or left meanwhile."""
    callback, returns = command.callback, command.callback is not None or command.line is not None
    before, has_session, own = _requester(c, command.delegation)
    try:
        state = next_delegation_state(before, DelegationEvent.FINISH)
    except IllegalTransition:
        return HandFinish(first=False)
    if returns and has_session and own is None:
        return HandFinish(first=True, replaced=True)
    if callback is None:
        # The intents of this transaction carry the result to the requester.
        state = next_delegation_state(state, DelegationEvent.TELL)
    # A hook may have changed or cancelled a posted text: the intents have what is left.
    text = command.result.text if command.keep_text or callback is not None else None
    c.execute(
        "UPDATE delegations SET state = ?, outcome = ?, result = ?, finished_at = ? WHERE id = ?",
        (state.value, command.result.outcome.value, text, command.now, command.delegation),
    )
    session = None if callback is None else admit(c, callback, own).session
    if command.line is not None and own is not None:
        append(c, own.id, _ROLES[WorkKind.CALLBACK], command.line, f"{command.delegation}.back", command.now)
        session = own
    for intent in command.intents:
        insert_intent(c, intent, command.now)
    return HandFinish(first=True, session=session)


def _state(c: sqlite3.Connection, delegation: DelegationId) -> DelegationState:
    row = c.execute("SELECT state FROM delegations WHERE id = ?", (delegation,)).fetchone()
    if row is None:
        raise IllegalTransition(f"there is no delegation {delegation}")
    return DelegationState(row[0])


def _requester(c: sqlite3.Connection, delegation: DelegationId) -> tuple[DelegationState, bool, SessionRow | None]:
    """State of a delegation, whether it belongs to a session, and that session unless it was reset or left."""
    row = c.execute(
        "SELECT d.state, d.session_id, s.session_key, s.generation, d.origin FROM delegations d"
        " LEFT JOIN session_map s ON s.session_id = d.session_id WHERE d.id = ?",
        (delegation,),
    ).fetchone()
    if row is None:
        raise IllegalTransition(f"there is no delegation {delegation}")
    state, session, key, generation, origin = row
    if key is None or (origin is not None and has_left(c, session, _address(origin))):
        return DelegationState(state), session is not None, None
    return DelegationState(state), True, SessionRow(key=key, id=session, generation=generation, created=False)


def set_aside_broken(c: sqlite3.Connection, command: SetAsideBroken) -> None:
    """Handle `SetAsideBroken`."""
    left = command.left
    c.executemany("UPDATE inbox SET state = 'broken' WHERE n = ?", [(row.n,) for row in left.broken_works])
    finished = next_delegation_state(DelegationState.RUNNING, DelegationEvent.FINISH)
    told = next_delegation_state(finished, DelegationEvent.TELL)
    c.executemany(
        "UPDATE delegations SET state = ?, outcome = ?, finished_at = ? WHERE n = ?",
        [(told.value, HandOutcome.LOST.value, command.now, row.n) for row in left.broken_delegations],
    )
