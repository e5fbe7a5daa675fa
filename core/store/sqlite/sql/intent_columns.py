"""An intent as column values: of a new row, and of the columns that change.

`_value_` is the `value` of an enum member without a call of Python code: each message needs five of them.
"""

import operator

import msgspec

from trunkline.core.records.rows import BoundPart, ContentPart, ExtraPart, IntentRow, ProgressPart
from trunkline.core.values import IntentState

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
    content, progress = intent.content, intent.progress
    return (
        intent.id,
        progress.state._value_,
        intent.kind._value_,
        _text(intent.address),
        _text(content.chunks),
        intent.mirror_key,
        intent.agent,
        intent.turn,
        intent.inbound,
        intent.delegation,
        content.reply_to,
        progress.open_on,
        intent.session,
        # A plain number binds faster than a bool.
        int(intent.named_session),
        _text(content.media) if content.media else "[]",
        intent.created_at,
        now,
        None if progress.reason is None else progress.reason._value_,
        _text(content.forms) if content.forms else None,
        None if content.poll is None else _text(content.poll),
        content.payload,
        int(intent.best_effort),
        int(intent.hooks_pending),
        None if intent.bound == _UNBOUND else _text(intent.bound),
        None if intent.extra == _NO_EXTRA else _text(intent.extra),
    )


_UNBOUND, _NO_EXTRA = BoundPart(), ExtraPart()

#: the columns that most intents need; the others keep their defaults
PLAIN_COLUMNS = "id, state, kind, address, chunks, mirror_key, agent_id, created_at, updated_at, untold"
_PLAIN = frozenset(
    {"id", "kind", "address", "mirror_key", "agent", "created_at", "hooks_pending", "content", "progress"}
)
_others = [field for field in msgspec.structs.fields(IntentRow) if field.name not in _PLAIN]
_OTHERS = operator.attrgetter(*(field.name for field in _others))
_DEFAULTS = tuple(field.default for field in _others)


def is_plain(intent: IntentRow) -> bool:
    """Whether `PLAIN_COLUMNS` hold all of a new intent."""
    plain = ContentPart(chunks=intent.content.chunks), ProgressPart(state=intent.progress.state)
    return (intent.content, intent.progress) == plain and _OTHERS(intent) == _DEFAULTS


def plain_values_of(intent: IntentRow, now: float) -> tuple[object, ...]:
    """The values of `PLAIN_COLUMNS`. Binding a null takes six times as long as binding a number."""
    return (
        intent.id,
        intent.progress.state._value_,
        intent.kind._value_,
        _text(intent.address),
        _text(intent.content.chunks),
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
    progress = after.progress
    return (
        progress.state._value_,
        progress.acked,
        progress.attempts,
        progress.interrupted,
        progress.next_at,
        None if progress.reason is None else progress.reason._value_,
        int(progress.marked),
        progress.doubt_at,
        None if progress.transport is None else progress.transport._value_,
        progress.open_on,
        None if after.bound == _UNBOUND else _text(after.bound),
        now,
    )


#: the same of an intent with another receipt: nothing is left of the attempts at the chunk
ACKED_COLUMNS = (
    "state = ?, acked = ?, attempts = ?, interrupted = ?, reason = ?, updated_at = ?, next_at = NULL, marked = 0,"
    " doubt_at = NULL, transport = NULL, open_on = NULL"
)


def acked_values_of(after: IntentRow, now: float) -> tuple[object, ...]:
    progress = after.progress
    assert progress.reason is not None
    return progress.state._value_, progress.acked, progress.attempts, progress.interrupted, progress.reason._value_, now


# The receipts of a long text are padded, so that an update rewrites only the pages that changed. SQLite rewrites a row
# that changes its size as a whole: without padding, a text of some hundred chunks would be written some hundred times.
# The padding is blanks behind the JSON of the receipts: room for the next ones.

#: characters from which on a text is long
_LONG = 32_768
_LEAST = 4096
#: pads the row while its state is the shorter "sending", in front of the text, so that the text does not move
_BLANKS = " " * (len(IntentState.PREPARED.value) - len(IntentState.SENDING.value))
WHILE_SENT = f", address = rtrim(address) || '{_BLANKS}'"
#: the receipts with one more; and the same, padded
RECEIPTS = "json_insert(receipts, '$[#]', json(?))"
RECEIPTS_PADDED = f"printf('%-*s', ?, {RECEIPTS}), address = rtrim(address)"


def is_long(intent: IntentRow) -> bool:
    """Whether the row of an intent is padded."""
    return len(intent.content.chunks) > 1 and sum(map(len, intent.content.chunks)) >= _LONG


def padded_size(receipt: str, count: int) -> int:
    """Bytes for `count` receipts like this one, and for some more."""
    wanted = count * (len(receipt.encode()) + 1) + 2
    return max(_LEAST, 1 << wanted.bit_length())
