"""The columns of a delegation: the values of a new row, and how a row is read."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from trunkline.core.records.delegations import DelegationRow
from trunkline.core.records.rows import BrokenRow

T = TypeVar("T")
_json = msgspec.json.Encoder().encode

#: columns that are not named like their fields
_OTHER_NAMES = {"agent": "agent_id", "session": "session_id", "turn": "turn_id", "inbound": "inbound_id"}
_NUMBERS = frozenset({"max_result", "depth", "accepted_at", "started_at", "finished_at", "deadline", "timeout"})
#: fields that are stored as JSON
_VALUES = frozenset({"reply_to", "origin"})
_COLUMNS = {field: _OTHER_NAMES.get(field, field) for field in DelegationRow.__struct_fields__}

#: the columns of a select, in the order that `delegation_of` expects. Texts are read as bytes: invalid text would stop
#: the whole statement
DELEGATION_COLUMNS = ", ".join(
    column if column in _NUMBERS else f"CAST({column} AS BLOB)" for column in _COLUMNS.values()
)
_MARKS = ", ".join("?" * len(_COLUMNS))
#: takes `values_of` a delegation
INSERT = f"INSERT INTO delegations ({', '.join(_COLUMNS.values())}) VALUES ({_MARKS}) ON CONFLICT (id) DO NOTHING"  # noqa: S608 -- names only


def values_of(row: DelegationRow) -> tuple[object, ...]:
    values = (getattr(row, field) for field in _COLUMNS)
    return tuple(_json(value).decode() if isinstance(value, msgspec.Struct) else value for value in values)


def delegation_of(row: Sequence[Any]) -> DelegationRow:
    """A delegation from its columns. Raises `ValueError` or `TypeError` for a row that cannot be read."""
    values = {field: _read(field, value) for field, value in zip(_COLUMNS, row, strict=True) if value is not None}
    return msgspec.convert({"reply_to": None, **values}, DelegationRow)


def _read(field: str, value: Any) -> object:
    if field in _VALUES:
        return msgspec.json.decode(value)
    return value.decode() if isinstance(value, bytes) else value


def read_rows(
    rows: Iterable[tuple[Any, ...]], read: Callable[[tuple[Any, ...]], T]
) -> tuple[tuple[T, ...], tuple[BrokenRow, ...]]:
    """What rows hold that begin with number and id; and the rows that cannot be read."""
    found: list[T] = []
    broken: list[BrokenRow] = []
    for row in rows:
        try:
            found.append(read(row))
        except (ValueError, TypeError) as error:
            name = (row[1] or b"").decode("utf-8", "replace")
            broken.append(BrokenRow(n=row[0], id=name, problem=f"{type(error).__name__}: {error}"))
    return tuple(found), tuple(broken)
