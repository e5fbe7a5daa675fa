"""The SQL that reads intents and clients' sends: one function per query."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.core.delivery.states import is_final
from trunkline.core.reasons import Reason
from trunkline.core.store.queries import (
    ListDueMirrors,
    ListOpenIntents,
    ListUnnotified,
    LoadIntents,
)
from trunkline.core.store.records import (
    BoundPart,
    IntentFate,
    IntentRow,
    LoadedIntents,
    OpenIntent,
    SendRow,
    send_intent,
)
from trunkline.core.values import (
    Address,
    ChatKind,
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
_COLUMNS = (
    "id, kind, state, address, chunks, acked, attempts, agent_id, mirror_key, turn_id, inbound_id, delegation_id,"
    " reply_to, open_on, created_at, next_at, reason, session_id, named_session, media, forms, poll, payload,"
    " best_effort, transport, marked, doubt_at, untold, updated_at, bound"
)
#: ids in one statement
_MOST = 500
_UNBOUND = BoundPart()


def list_open(c: sqlite3.Connection, query: ListOpenIntents) -> tuple[OpenIntent, ...]:
    """Handle `ListOpenIntents`."""
    rows = c.execute(
        "SELECT n, id, CAST(address AS BLOB) FROM intents WHERE n > ? AND state IN ('prepared', 'sending')"
        " ORDER BY n LIMIT ?",
        (query.after, query.limit),
    )
    return tuple(OpenIntent(n=row[0], id=IntentId(row[1]), address=_place(row)) for row in rows.fetchall())


def _place(row: tuple[int, str, bytes]) -> Address:
    """The place of an open intent. One that cannot be read gets a lane of its own, where it is set aside."""
    try:
        return _address(row[2])
    except ValueError:
        return Address(channel="", account="", kind=ChatKind.DIRECT, conversation=row[1])


def load(c: sqlite3.Connection, query: LoadIntents) -> LoadedIntents:
    """Handle `LoadIntents`."""
    found, broken = read_intents(c, query.ids)
    return LoadedIntents(rows=tuple(row for _, row, _ in found), broken=broken)


_NumberedIntent = tuple[int, IntentRow, tuple[Receipt, ...]]


def read_intents(c: sqlite3.Connection, ids: Sequence[IntentId]) -> tuple[list[_NumberedIntent], dict[IntentId, str]]:
    """Intents with their numbers and receipts, by number; and those that cannot be read, and why.

    A row that cannot be read does not stop the others.
    """
    columns: list[tuple[Any, ...]] = []
    found: list[_NumberedIntent] = []
    broken: dict[IntentId, str] = {}
    for start in range(0, len(ids), _MOST):
        some = ids[start : start + _MOST]
        try:
            columns += _fetch(c, some)
        except sqlite3.OperationalError as error:
            _raise_unless_not_text(error)
            for one in some:
                try:
                    columns += _fetch(c, (one,))
                except sqlite3.OperationalError as wrong:
                    _raise_unless_not_text(wrong)
                    broken[one] = str(wrong)
    for row in sorted(columns, key=lambda row: row[-1]):
        try:
            found.append((row[-1], _sound(_intent_of(row)), _receipts(row[-2])))
        except (ValueError, TypeError) as error:
            broken[IntentId(row[0])] = f"{type(error).__name__}: {error}"
    return found, broken


def _fetch(c: sqlite3.Connection, ids: Sequence[IntentId]) -> list[tuple[Any, ...]]:
    marks = ", ".join("?" * len(ids))
    sql = f"SELECT {_COLUMNS}, receipts, n FROM intents WHERE id IN ({marks})"  # noqa: S608 -- names and marks only
    return c.execute(sql, tuple(ids)).fetchall()


def _raise_unless_not_text(error: sqlite3.OperationalError) -> None:
    """Raise again, unless a column just holds no valid text: the database is fine then."""
    if not str(error).startswith("Could not decode to UTF-8"):
        raise error


def _sound(row: IntentRow) -> IntentRow:
    """Check an intent. Raises `ValueError` when its columns contradict each other."""
    numbers = (row.acked, row.attempts, row.created_at, row.updated_at, row.next_at, row.doubt_at)
    if not all(_is_number(one) for one in numbers):
        raise ValueError("a number is none")
    # Only an intent that a hook cancelled has no text at all.
    some = bool(row.chunks) or row.state is IntentState.CANCELLED
    if not some or not 0 <= row.acked <= len(row.chunks) - (not is_final(row.state)):
        raise ValueError(f"{row.acked} of {len(row.chunks)} chunks are accepted, and it is {row.state.value}")
    return row


def _is_number(value: object) -> bool:
    # SQLite stores any value in a column of numbers.
    return value is None or isinstance(value, int | float)


def latest_send(c: sqlite3.Connection, key: str) -> SendRow | None:
    """The latest try of a client's send: its row if it was retried, else the intent that is named by the key."""
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
    """The channel of a place; empty when it cannot be read: the key is taken all the same."""
    try:
        return _address(address).channel
    except ValueError:
        return ""


def fate_of(c: sqlite3.Connection, intent: IntentId) -> IntentFate | None:
    """State, reason and receipts of an intent; no receipts when they cannot be read."""
    sql = "SELECT state, reason, CAST(receipts AS BLOB) FROM intents WHERE id = ?"
    row = c.execute(sql, (intent,)).fetchone()
    if row is None:
        return None
    known = None if row[1] is None else Reason(row[1])
    try:
        receipts = _receipts(row[2])
    except ValueError:
        receipts = ()
    return IntentFate(state=IntentState(row[0]), reason=known, receipts=receipts)


def list_unnotified(c: sqlite3.Connection, query: ListUnnotified) -> tuple[tuple[int, IntentRow, IntentFate], ...]:
    """Handle `ListUnnotified`. Rows that cannot be read are skipped: there is nothing to notify."""
    sql = (
        "SELECT id, n FROM intents WHERE untold = 1 AND n > ? AND state NOT IN ('prepared', 'sending')"
        " ORDER BY n LIMIT ?"
    )
    after = query.after
    found: list[_NumberedIntent] = []
    while not found and (rows := c.execute(sql, (after, query.limit)).fetchall()):
        found, _ = read_intents(c, [IntentId(row[0]) for row in rows])
        after = rows[-1][1]
    return tuple(
        (n, row, IntentFate(state=row.state, reason=row.reason, receipts=receipts)) for n, row, receipts in found
    )


def list_due_mirrors(c: sqlite3.Connection, _: ListDueMirrors) -> tuple[IntentRow, ...]:
    """Handle `ListDueMirrors`. Rows that cannot be read are skipped."""
    ids = [IntentId(row[0]) for row in c.execute("SELECT id FROM intents WHERE mirror_due = 1 ORDER BY n")]
    return tuple(row for _, row, _ in read_intents(c, ids)[0])


def _intent_of(row: tuple[Any, ...]) -> IntentRow:
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
        hooks_pending=bool(row[27]),
        updated_at=row[28],
        binding=bound.binding,
        identity=bound.identity,
        notice_to=bound.notice_to,
        notice_open_on=bound.notice_open_on,
    )
