"""Session bindings in the SQLite store: each function is one write, or one read, given a connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from core.bindings.places import place_id
from core.bindings.states import BindingEvent, next_binding_status
from core.bindings.values import BindingStatus, SessionBindingRecord
from core.reasons import Reason
from core.store.rows import NewSession, SessionRow
from core.store.sessions import ensure_session
from core.values import Address

_json = msgspec.json.Encoder().encode
_record = msgspec.json.Decoder(SessionBindingRecord).decode
_COLUMNS = "id, status, last_activity_at, body"


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
    return msgspec.structs.replace(_record(row[3]), status=BindingStatus(row[1]), last_activity_at=row[2])


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
    had = _find(c, "status = 'active' AND place = ?", place)
    ended = None
    if had is not None:
        ended = _change(c, had, BindingEvent.END, {"reason": Reason.REBOUND, "ended_at": now})
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
    """Something was said in a bound conversation; how it is then, or none where that is no news."""
    done = c.execute(
        "UPDATE bindings SET last_activity_at = ? WHERE id = ? AND status <> 'ended' AND last_activity_at < ?",
        (at, binding, at),
    )
    return find(c, binding) if done.rowcount == 1 else None


def open_bindings(c: sqlite3.Connection) -> tuple[tuple[SessionBindingRecord, ...], dict[str, str]]:
    """What is active or ending, in the order in which it was made; and what cannot be read, and why."""
    found: list[SessionBindingRecord] = []
    broken: dict[str, str] = {}
    for row in c.execute(f"SELECT {_COLUMNS} FROM bindings WHERE status <> 'ended' ORDER BY n"):  # noqa: S608 -- names
        try:
            found.append(_read(row))
        except (ValueError, TypeError) as error:
            broken[str(row[0])] = f"{type(error).__name__}: {error}"
    return tuple(found), broken


def under_way(c: sqlite3.Connection) -> dict[str, int]:
    """How many open messages there are for each binding."""
    sql = (
        "SELECT json_extract(bound, '$.binding') AS binding, count(*) FROM intents"
        " WHERE bound IS NOT NULL AND json_valid(bound) AND state IN ('prepared', 'sending') GROUP BY binding"
    )
    return {binding: count for binding, count in c.execute(sql).fetchall() if binding is not None}


def list_bindings(c: sqlite3.Connection, *, ended: bool = False) -> tuple[SessionBindingRecord, ...]:
    """Bindings in the order in which they were made; those that have ended too, where asked for."""
    where = "" if ended else " WHERE status <> 'ended'"
    rows = c.execute(f"SELECT {_COLUMNS} FROM bindings{where} ORDER BY n").fetchall()  # noqa: S608 -- fixed texts
    return tuple(_read(row) for row in rows)
