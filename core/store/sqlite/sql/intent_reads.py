"""Intents as they are read from the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.core.delivery.states import is_final
from trunkline.core.reasons import Reason
from trunkline.core.store.records import BoundPart, IntentFate, IntentRow, Loaded, SendRow, send_intent
from trunkline.core.values import (
    Address,
    DelegationId,
    InboundId,
    IntentId,
    IntentKind,
    IntentState,
    Piece,
    Poll,
    Receipt,
    SessionId,
    Transport,
    TurnId,
)

_address = msgspec.json.Decoder(Address).decode
_texts = msgspec.json.Decoder(tuple[str, ...]).decode
_forms = msgspec.json.Decoder(tuple[Piece, ...]).decode
_poll = msgspec.json.Decoder(Poll).decode
_bound = msgspec.json.Decoder(BoundPart).decode
_receipts = msgspec.json.Decoder(tuple[Receipt, ...]).decode
COLUMNS = (
    "id, kind, state, address, chunks, acked, attempts, agent_id, mirror_key, turn_id, inbound_id, delegation_id,"
    " reply_to, open_on, created_at, next_at, reason, session_id, named_session, media, forms, poll, payload,"
    " best_effort, transport, marked, doubt_at, untold, updated_at, bound"
)
#: ids in one statement
_MOST = 500
_UNBOUND = BoundPart()


def load(c: sqlite3.Connection, ids: Sequence[IntentId]) -> Loaded:
    """The intents with these ids that there are, in the order in which they were created."""
    found, broken = read(c, ids)
    return Loaded(rows=tuple(row for _, row, _ in found), broken=broken)


_Found = tuple[int, IntentRow, tuple[Receipt, ...]]


def read(c: sqlite3.Connection, ids: Sequence[IntentId]) -> tuple[list[_Found], dict[IntentId, str]]:
    """Intents with their numbers and receipts, by number; and those that cannot be read, and why.

    One row that cannot be read stops no other.
    """
    columns: list[tuple[Any, ...]] = []
    found: list[_Found] = []
    broken: dict[IntentId, str] = {}
    for start in range(0, len(ids), _MOST):
        some = ids[start : start + _MOST]
        try:
            columns += _fetch(c, some)
        except sqlite3.OperationalError as error:
            _only_no_text(error)
            for one in some:
                try:
                    columns += _fetch(c, (one,))
                except sqlite3.OperationalError as wrong:
                    _only_no_text(wrong)
                    broken[one] = str(wrong)
    for row in sorted(columns, key=lambda row: row[-1]):
        try:
            found.append((row[-1], _sound(intent_of(row)), _receipts(row[-2])))
        except (ValueError, TypeError) as error:
            broken[IntentId(row[0])] = f"{type(error).__name__}: {error}"
    return found, broken


def _fetch(c: sqlite3.Connection, ids: Sequence[IntentId]) -> list[tuple[Any, ...]]:
    marks = ", ".join("?" * len(ids))
    sql = f"SELECT {COLUMNS}, receipts, n FROM intents WHERE id IN ({marks})"  # noqa: S608 -- names and marks only
    return c.execute(sql, tuple(ids)).fetchall()


def _only_no_text(error: sqlite3.OperationalError) -> None:
    """Raise what is more than a column that holds no text: the database is well then."""
    if not str(error).startswith("Could not decode to UTF-8"):
        raise error


def _sound(row: IntentRow) -> IntentRow:
    """An intent that can be worked with. Raises `ValueError` for one whose columns do not fit together."""
    numbers = (row.acked, row.attempts, row.created_at, row.updated_at, row.next_at, row.doubt_at)
    if not all(_is_number(one) for one in numbers):
        raise ValueError("a number is none")
    # Only what a hook took back has no text at all.
    some = bool(row.chunks) or row.state is IntentState.CANCELLED
    if not some or not 0 <= row.acked <= len(row.chunks) - (not is_final(row.state)):
        raise ValueError(f"{row.acked} of {len(row.chunks)} chunks are accepted, and it is {row.state.value}")
    return row


def _is_number(value: object) -> bool:
    # SQLite keeps whatever it is given in a column of numbers.
    return value is None or isinstance(value, int | float)


def find_send(c: sqlite3.Connection, key: str) -> SendRow | None:
    """The latest try of a client's send: a row for what was tried again, else the intent that is named by the key."""
    sql = "SELECT intent_id, tries, session_key, channel FROM sends WHERE key = ?"
    row = c.execute(sql, (key,)).fetchone()
    if row is not None:
        return SendRow(key=key, intent=IntentId(row[0]), tries=row[1], session_key=row[2], channel=row[3])
    first = send_intent(key, 1)
    sql = "SELECT CAST(mirror_key AS BLOB), CAST(address AS BLOB) FROM intents WHERE id = ?"
    row = c.execute(sql, (first,)).fetchone()
    if row is None:
        return None
    session = None if row[0] is None else row[0].decode(errors="replace")
    return SendRow(key=key, intent=first, tries=1, session_key=session, channel=_channel(row[1]))


def _channel(address: bytes) -> str:
    """The channel of a place; none of one that cannot be read: whether its key has sent is known all the same."""
    try:
        return _address(address).channel
    except ValueError:
        return ""


def find_fate(c: sqlite3.Connection, intent: IntentId) -> IntentFate | None:
    """Where an intent stands, and its receipts."""
    sql = "SELECT state, reason, CAST(receipts AS BLOB) FROM intents WHERE id = ?"
    row = c.execute(sql, (intent,)).fetchone()
    if row is None:
        return None
    known = None if row[1] is None else Reason(row[1])
    try:
        receipts = _receipts(row[2])
    except ValueError:
        # Its row is broken: how it ended is known all the same.
        receipts = ()
    return IntentFate(state=IntentState(row[0]), reason=known, receipts=receipts)


def untold(c: sqlite3.Connection, after: int, limit: int) -> tuple[tuple[int, IntentRow, IntentFate], ...]:
    """Intents that have ended and whose hooks were not told; see `trunkline.core.store.port.Store.untold`.

    Of one that cannot be read there is nothing to tell.
    """
    sql = (
        "SELECT id, n FROM intents WHERE untold = 1 AND n > ? AND state NOT IN ('prepared', 'sending')"
        " ORDER BY n LIMIT ?"
    )
    found: list[_Found] = []
    while not found and (rows := c.execute(sql, (after, limit)).fetchall()):
        found, _ = read(c, [IntentId(row[0]) for row in rows])
        after = rows[-1][1]
    return tuple(
        (n, row, IntentFate(state=row.state, reason=row.reason, receipts=receipts)) for n, row, receipts in found
    )


def due_mirrors(c: sqlite3.Connection) -> tuple[IntentRow, ...]:
    """Intents whose mirror is to be stored later, as far as they can be read."""
    ids = [IntentId(row[0]) for row in c.execute("SELECT id FROM intents WHERE mirror_due = 1 ORDER BY n")]
    return load(c, ids).rows


def intent_of(row: tuple[Any, ...]) -> IntentRow:
    """The intent of a row with `COLUMNS`."""
    bound = _UNBOUND if row[29] is None else _bound(row[29])
    return IntentRow(
        id=IntentId(row[0]),
        kind=IntentKind(row[1]),
        state=IntentState(row[2]),
        address=_address(row[3]),
        chunks=_texts(row[4]),
        acked=row[5],
        attempts=row[6],
        agent=row[7],
        mirror_key=row[8],
        turn=None if row[9] is None else TurnId(row[9]),
        inbound=None if row[10] is None else InboundId(row[10]),
        delegation=None if row[11] is None else DelegationId(row[11]),
        reply_to=row[12],
        open_on=row[13],
        created_at=row[14],
        next_at=row[15],
        reason=None if row[16] is None else Reason(row[16]),
        session=None if row[17] is None else SessionId(row[17]),
        named_session=bool(row[18]),
        media=_texts(row[19]),
        forms=() if row[20] is None else _forms(row[20]),
        poll=None if row[21] is None else _poll(row[21]),
        payload=row[22],
        best_effort=bool(row[23]),
        transport=None if row[24] is None else Transport(row[24]),
        marked=bool(row[25]),
        doubt_at=row[26],
        untold=bool(row[27]),
        updated_at=row[28],
        binding=bound.binding,
        identity=bound.identity,
        notice_to=bound.notice_to,
    )
