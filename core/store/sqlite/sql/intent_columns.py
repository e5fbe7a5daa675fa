"""An intent as column values: of a new row, and of the columns that change.

`_value_` is the `value` of an enum member without a call of Python code: each message needs five of them.
"""

from __future__ import annotations

import operator

import msgspec

from trunkline.core.records.rows import IntentRow

_json = msgspec.json.Encoder().encode


def _text(value: object) -> str:
    return _json(value).decode()


INTENT_COLUMNS = (
    "id, state, kind, address, chunks, mirror_key, agent_id, turn_id, inbound_id, delegation_id, reply_to, open_on,"
    " session_id, named_session, media, created_at, updated_at, reason, forms, poll, payload, best_effort, untold,"
    " bound, extra"
)


def values_of(intent: IntentRow, now: float) -> tuple[object, ...]:
    """The values of `INTENT_COLUMNS` of a new intent."""
    return (
        intent.id,
        intent.state._value_,
        intent.kind._value_,
        _text(intent.address),
        _text(intent.chunks),
        intent.mirror_key,
        intent.agent,
        intent.turn,
        intent.inbound,
        intent.delegation,
        intent.reply_to,
        intent.open_on,
        intent.session,
        # A plain number binds faster than a bool.
        int(intent.named_session),
        _text(intent.media) if intent.media else "[]",
        intent.created_at,
        now,
        None if intent.reason is None else intent.reason._value_,
        _text(intent.forms) if intent.forms else None,
        None if intent.poll is None else _text(intent.poll),
        intent.payload,
        int(intent.best_effort),
        int(intent.hooks_pending),
        None if intent.bound is None else _text(intent.bound),
        None if intent.extra is None else _text(intent.extra),
    )


#: the columns that most intents need; the others keep their defaults
PLAIN_COLUMNS = "id, state, kind, address, chunks, mirror_key, agent_id, created_at, updated_at, untold"
_PLAIN = frozenset({"id", "state", "kind", "address", "chunks", "mirror_key", "agent", "created_at", "hooks_pending"})
_others = [field for field in msgspec.structs.fields(IntentRow) if field.name not in _PLAIN]
_OTHERS = operator.attrgetter(*(field.name for field in _others))
_DEFAULTS = tuple(field.default for field in _others)


def is_plain(intent: IntentRow) -> bool:
    """Whether `PLAIN_COLUMNS` hold all of a new intent."""
    return _OTHERS(intent) == _DEFAULTS


def plain_values_of(intent: IntentRow, now: float) -> tuple[object, ...]:
    """The values of `PLAIN_COLUMNS`. Binding a null takes six times as long as binding a number."""
    return (
        intent.id,
        intent.state._value_,
        intent.kind._value_,
        _text(intent.address),
        _text(intent.chunks),
        intent.mirror_key,
        intent.agent,
        intent.created_at,
        now,
        int(intent.hooks_pending),
    )


#: the columns that change after an intent is stored, but for its receipts
CHANGED_COLUMNS = (
    "state = ?, acked = ?, attempts = ?, interrupted = ?, next_at = ?, reason = ?, marked = ?, doubt_at = ?,"
    " transport = ?, open_on = ?, bound = ?, updated_at = ?"
)


def changed_values_of(after: IntentRow, now: float) -> tuple[object, ...]:
    """The values of `CHANGED_COLUMNS` of an intent as it is after a command."""
    return (
        after.state._value_,
        after.acked,
        after.attempts,
        after.interrupted,
        after.next_at,
        None if after.reason is None else after.reason._value_,
        int(after.marked),
        after.doubt_at,
        None if after.transport is None else after.transport._value_,
        after.open_on,
        None if after.bound is None else _text(after.bound),
        now,
    )


#: the same of an intent with another receipt: nothing is left of the attempts at the chunk
ACKED_COLUMNS = (
    "state = ?, acked = ?, attempts = ?, interrupted = ?, reason = ?, updated_at = ?, next_at = NULL, marked = 0,"
    " doubt_at = NULL, transport = NULL, open_on = NULL"
)


def acked_values_of(after: IntentRow, now: float) -> tuple[object, ...]:
    """The values of `ACKED_COLUMNS`."""
    assert after.reason is not None
    return after.state._value_, after.acked, after.attempts, after.interrupted, after.reason._value_, now
