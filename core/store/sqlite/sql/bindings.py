"""Session bindings in the SQLite store: each function is one write, or one read, given a connection."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from trunkline.core.bindings.conversation_match import place_id
from trunkline.core.bindings.records import BindingStatus, SessionBindingRecord
from trunkline.core.bindings.states import BindingEvent, next_binding_status
from trunkline.core.reasons import Reason
from trunkline.core.store.records import NewSession, SessionRow
from trunkline.core.store.sqlite.sql.sessions import ensure_session
from trunkline.core.values import Address

_json = msgspec.json.Encoder().encode
_record = msgspec.json.Decoder(SessionBindingRecord).decode
# As bytes: what is no text is one broken row, and not a refusal of the whole database.
_COLUMNS = (
    "CAST(id AS BLOB), CAST(status AS BLOB), CASE typeof(last_activity_at) WHEN 'real' THEN last_activity_at END,"
    " CAST(body AS BLOB)"
)
#: what reading a broken row raises
BROKEN = (ValueError, TypeError)


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a binding that was to be made. `new` false: the same request made `record` before."""

    new: bool
    record: SessionBindingRecord
    #: the one that the conversation had until now
    ended: SessionBindingRecord | None = None
    #: the session that it is bound to, where it was to be made with it
    session: SessionRow | None = None


def _place(address: Address) -> str:
    return _json(place_id(address)).decode()


def _read(row: tuple[Any, ...]) -> SessionBindingRecord:
    at = row[2]
    if not isinstance(at, float):
        # SQLite keeps whatever it is given in a column of numbers.
        raise TypeError("its last activity is no time")
    return msgspec.structs.replace(_record(row[3]), status=BindingStatus(row[1].decode()), last_activity_at=at)


def _find(c: sqlite3.Connection, where: str, value: str) -> SessionBindingRecord | None:
    row = c.execute(f"SELECT {_COLUMNS} FROM bindings WHERE {where}", (value,)).fetchone()  # noqa: S608 -- fixed texts
    return None if row is None else _read(row)


def find(c: sqlite3.Connection, binding: str) -> SessionBindingRecord | None:
    """The binding with an id, whatever its status."""
    return _find(c, "id = ?", binding)


def by_request(c: sqlite3.Connection, request: str) -> SessionBindingRecord | None:
    """The binding that a request made, whatever its status."""
    return _find(c, "request = ?", request)


def bind(c: sqlite3.Connection, record: SessionBindingRecord, session: NewSession | None, now: float) -> Bound:
    """Store a binding; the one that its conversation had ends with it. A request makes one binding, ever."""
    before = None if record.request is None else by_request(c, record.request)
    if before is not None:
        return Bound(new=False, record=before)
    place = _place(record.conversation)
    ended = _leave(c, place, now)
    row = None if session is None else ensure_session(c, session, now)
    c.execute(
        "INSERT INTO bindings (id, place, session_key, status, last_activity_at, request, body)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            record.binding_id,
            place,
            record.target_session_key,
            record.status.value,
            record.last_activity_at,
            record.request,
            _json(record).decode(),
        ),
    )
    return Bound(new=True, record=record, ended=ended, session=row)


def _leave(c: sqlite3.Connection, place: str, now: float) -> SessionBindingRecord | None:
    """End the binding that a conversation has until now; none where it has none, or one that nobody can read."""
    try:
        had = _find(c, "status = 'active' AND place = ?", place)
    except BROKEN:
        # It was told of when it was read last, and binds nothing. It must not keep its conversation for ever.
        c.execute("UPDATE bindings SET status = 'ended' WHERE status = 'active' AND place = ?", (place,))
        return None
    if had is None:
        return None
    return _change(c, had, BindingEvent.END, {"reason": Reason.REBOUND, "ended_at": now})


def change(
    c: sqlite3.Connection, binding: str, event: BindingEvent, changes: Mapping[str, Any]
) -> SessionBindingRecord | None:
    """Let something happen to a binding; how it is then, or none where the event came too late for it."""
    record = find(c, binding)
    if record is None or record.status is BindingStatus.ENDED:
        return None
    if event is BindingEvent.DRAIN and record.status is BindingStatus.ENDING:
        return None
    return _change(c, record, event, changes)


def _change(
    c: sqlite3.Connection, record: SessionBindingRecord, event: BindingEvent, changes: Mapping[str, Any]
) -> SessionBindingRecord:
    after = msgspec.structs.replace(record, status=next_binding_status(record.status, event), **changes)
    c.execute(
        "UPDATE bindings SET status = ?, last_activity_at = ?, body = ? WHERE id = ?",
        (after.status.value, after.last_activity_at, _json(after).decode(), after.binding_id),
    )
    return after


def touch(c: sqlite3.Connection, binding: str, at: float) -> SessionBindingRecord | None:
    """Something was said in a bound conversation; how it is then, or none where that is no news.

    One that is over by its deadlines already does not come back by that. Nor does a touch fail for a row that cannot be
    read: whatever it comes with is stored.
    """
    try:
        record = find(c, binding)
    except BROKEN:
        return None
    if record is None or record.status is BindingStatus.ENDED or not record.last_activity_at < at < math.inf:
        return None
    if record.status is BindingStatus.ACTIVE and record.expired(at):
        return None
    c.execute("UPDATE bindings SET last_activity_at = ? WHERE id = ?", (at, binding))
    return msgspec.structs.replace(record, last_activity_at=at)


def open_bindings(c: sqlite3.Connection) -> tuple[tuple[SessionBindingRecord, ...], dict[str, str]]:
    """What is active or ending, in the order in which it was made; and what cannot be read, and why."""
    return read_all(c, ended=False)


def own_webhooks(c: sqlite3.Connection) -> tuple[tuple[str, str], ...]:
    """Channel and id of each webhook that a binding has or had: what comes back of them is no message (D8)."""
    sql = (
        "SELECT DISTINCT json_extract(body, '$.conversation.channel'), json_extract(body, '$.identity.id')"
        " FROM bindings WHERE json_valid(body) AND json_extract(body, '$.identity.id') IS NOT NULL"
    )
    return tuple((str(row[0]), str(row[1])) for row in c.execute(sql))


def under_way(c: sqlite3.Connection) -> dict[str, int]:
    """How many open messages there are for each binding."""
    sql = (
        "SELECT json_extract(bound, '$.binding') AS binding, count(*) FROM intents"
        " WHERE bound IS NOT NULL AND json_valid(bound) AND state IN ('prepared', 'sending') GROUP BY binding"
    )
    return {binding: count for binding, count in c.execute(sql).fetchall() if binding is not None}


def read_all(c: sqlite3.Connection, *, ended: bool) -> tuple[tuple[SessionBindingRecord, ...], dict[str, str]]:
    """Bindings in the order in which they were made; and by id what cannot be read, and why."""
    found: list[SessionBindingRecord] = []
    broken: dict[str, str] = {}
    where = "" if ended else " WHERE status <> 'ended'"
    for row in c.execute(f"SELECT {_COLUMNS} FROM bindings{where} ORDER BY n"):  # noqa: S608 -- fixed texts
        try:
            found.append(_read(row))
        except BROKEN as error:
            broken[row[0].decode(errors="replace")] = f"{type(error).__name__}: {error}"
    return tuple(found), broken


def list_bindings(c: sqlite3.Connection, *, ended: bool = False) -> tuple[SessionBindingRecord, ...]:
    """Bindings in the order in which they were made, as far as they can be read; ended ones too, where asked for."""
    return read_all(c, ended=ended)[0]
