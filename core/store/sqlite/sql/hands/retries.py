"""The SQL of an operator's retry of a failed report."""

import sqlite3

import msgspec

from trunkline.core.errors import IllegalTransition
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import Work
from trunkline.core.states.delegation import CallbackEvent, CallbackState
from trunkline.core.states.intent import OPEN, TRANSITIONS, DeliveryEvent
from trunkline.core.store.delegations import CallbackRetry, RetryCallback
from trunkline.core.store.sqlite.sql import queue
from trunkline.core.store.sqlite.sql.callbacks import callback_states, posts
from trunkline.core.store.sqlite.sql.session_lookup import find_by_id
from trunkline.core.values import InboundId, IntentId, IntentState, SessionId

#: where a report can be tried again; a parked one if its call has ended
_AGAIN = frozenset({CallbackState.UNDELIVERABLE, CallbackState.PARKED})

_json = msgspec.json.Encoder().encode
_work = msgspec.json.Decoder(Work).decode


def retry_callback(c: sqlite3.Connection, command: RetryCallback) -> CallbackRetry:
    name = command.delegation
    if not posts.take_post(c, command.post):
        raise IllegalTransition(f"{name}: this retry was applied before")
    if c.execute("SELECT 1 FROM delegations WHERE id = ?", (name,)).fetchone() is None:
        raise posts.unknown(c, name)
    before = callback_states.state_of(c, name)
    if before is None or before not in _AGAIN:
        now = "cannot be read" if before is None else f"is {before.value}"
        raise IllegalTransition(
            f"{name}: only a report that is undeliverable or parked is tried again, and this one {now}"
        )
    messages = [message for message in callback_states.messages_of(c, name) if not message.is_notice]
    if any(message.state is IntentState.UNKNOWN for message in messages):
        raise IllegalTransition(f"{name}: a message of it is in doubt; say first what became of it (queue resolve)")
    if any(message.state in OPEN for message in messages):
        raise IllegalTransition(f"{name}: a message of it is queued, and is sent when its place takes messages again")
    again = [message.id for message in messages if DeliveryEvent.RETRY in TRANSITIONS[message.state]]
    if not again:
        return _run_again(c, command, before)
    for intent in again:
        queue.retry_of_report(c, intent, command.now)
    change = callback_states.move(c, name, before, CallbackEvent.RESUME, Reason.OPERATOR_RETRY)
    return CallbackRetry(change=change, intents=tuple(IntentId(intent) for intent in again))


#: the turns of one callback: the first one, and those that operators had run again. Not by their ids: what such a turn
#: delegates itself has an id that begins with that of the turn
_TURNS = "(identity = ? OR (identity > ? AND identity < ?))"
_LAST = f"SELECT work, session_id FROM inbox WHERE {_TURNS} ORDER BY n DESC LIMIT 1"  # noqa: S608 -- fixed texts


def _read(name: str, stored: bytes) -> Work:
    try:
        return _work(stored)
    except ValueError as error:
        raise IllegalTransition(f"{name}: its turn cannot be read ({error})") from error


def _run_again(c: sqlite3.Connection, command: RetryCallback, before: CallbackState) -> CallbackRetry:
    """Have the callback turn run again, as new work: nothing of the former one is sent again unnoticed."""
    name = command.delegation
    first = f"callback/{name}"
    row = c.execute(_LAST, (first, f"{first}+", f"{first},")).fetchone()
    if row is None:
        raise IllegalTransition(f"{name}: its turn is no longer stored")
    work, session = _read(name, row[0]), find_by_id(c, SessionId(row[1] or ""))
    if session is None:
        raise IllegalTransition(f"{name}: the session that delegated was reset since")
    last = work.id.removeprefix(f"{name}.back").removeprefix("+")
    number = int(last or "1") + 1
    work = msgspec.structs.replace(work, id=InboundId(f"{name}.back+{number}"), session_key=session.key)
    # Its transcript has the line of the result already.
    c.execute(
        "INSERT INTO inbox (id, identity, kind, session_key, session_id, agent_id, state, work, admitted_at)"
        " VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?)",
        (
            work.id,
            f"callback/{name}+{number}",
            work.kind.value,
            session.key,
            session.id,
            work.agent,
            _json(work),
            command.now,
        ),
    )
    change = callback_states.move(c, name, before, CallbackEvent.RERUN, Reason.OPERATOR_RETRY)
    return CallbackRetry(change=change, work=work, session=session.id)
