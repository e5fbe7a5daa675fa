"""The columns of a delegation, and how a row of them is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow, HandKind
from trunkline.core.records.origin import Origin
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.core.values import Address, DelegationId, InboundId, SessionId, TurnId

T = TypeVar("T")
_address = msgspec.json.Decoder(Address).decode
_origin = msgspec.json.Decoder(Origin).decode


def _number(value: object) -> float:
    if not isinstance(value, int | float):
        raise TypeError("a number is none")
    return value


def _text(value: bytes) -> str:
    return value.decode()


#: field, column, and how its value is read. Texts are read as bytes: invalid text would stop the whole statement
_FIELDS: tuple[tuple[str, str, Callable[[Any], object]], ...] = (
    ("id", "id", lambda value: DelegationId(_text(value))),
    ("state", "state", lambda value: WorkState(_text(value))),
    ("callback", "callback", lambda value: CallbackState(_text(value))),
    ("callback_reason", "callback_reason", lambda value: Reason(_text(value))),
    ("kind", "kind", lambda value: HandKind(_text(value))),
    ("hand", "hand", _text),
    ("task", "task", _text),
    ("label", "label", _text),
    ("agent", "agent_id", _text),
    ("session_key", "session_key", _text),
    ("session", "session_id", lambda value: SessionId(_text(value))),
    ("turn", "turn_id", lambda value: TurnId(_text(value))),
    ("inbound", "inbound_id", lambda value: InboundId(_text(value))),
    ("reply_to", "reply_to", _address),
    ("open_on", "open_on", _text),
    ("origin", "origin", _origin),
    ("parent", "parent", lambda value: DelegationId(_text(value))),
    ("depth", "depth", lambda value: int(_number(value))),
    ("outcome", "outcome", lambda value: HandOutcome(_text(value))),
    ("result", "result", _text),
    ("result_ref", "result_ref", _text),
    ("progress", "progress", _text),
    ("worker", "worker", _text),
    ("ticket", "ticket", _text),
    ("child_key", "child_key", _text),
    ("accepted_at", "accepted_at", _number),
    ("started_at", "started_at", _number),
    ("finished_at", "finished_at", _number),
    ("deadline", "deadline", _number),
    ("timeout", "timeout", _number),
    ("max_result", "max_result", lambda value: int(_number(value))),
)
_NUMBERS = frozenset({"max_result", "depth", "accepted_at", "started_at", "finished_at", "deadline", "timeout"})
#: the columns of a select, in the order that `delegation_of` expects
DELEGATION_COLUMNS = ", ".join(column if column in _NUMBERS else f"CAST({column} AS BLOB)" for _, column, _ in _FIELDS)


def delegation_of(row: Sequence[Any]) -> DelegationRow:
    """A delegation from its columns. Raises `ValueError` or `TypeError` for a row that cannot be read."""
    values = {name: read(value) for (name, _, read), value in zip(_FIELDS, row, strict=True) if value is not None}
    return DelegationRow(**{"reply_to": None, **values})  # pyright: ignore[reportArgumentType]
