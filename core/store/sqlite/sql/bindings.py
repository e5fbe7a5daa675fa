"""The SQL of session bindings: one function per command and query."""

import math
import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.rows import BindResult, StoredBindings
from trunkline.core.states.binding import BindingEvent, BindingStatus, next_binding_status
from trunkline.core.store.commands import Bind, ChangeBinding
from trunkline.core.store.queries import CountOpenByBinding, ListBindings, ListOwnWebhooks
from trunkline.core.store.sqlite.sql.sessions import session_for
from trunkline.core.values import Address

_json = msgspec.json.Encoder().encode
_record = msgspec.json.Decoder(SessionBindingRecord).decode
# As bytes: invalid text breaks one row, and not the whole statement.
_COLUMNS = (
    "CAST(id AS BLOB), CAST(status AS BLOB), CASE typeof(last_activity_at) WHEN 'real' THEN last_activity_at END,"
    " CAST(body AS BLOB)"
)
#: errors raised by reading a broken row
_BROKEN = (ValueError, TypeError)


def _place(address: Address) -> str:
    # Commands of operators only list bindings, and do not wait for the rules of all channels.
    from trunkline.core.bindings.conversation_match import place_id

    return _json(place_id(address)).decode()


def _read(row: tuple[Any, ...]) -> SessionBindingRecord:
    at = row[2]
    if not isinstance(at, float):
        # SQLite stores any value in a column of numbers.
        raise TypeError("its last activity is no time")
    return msgspec.structs.replace(_record(row[3]), status=BindingStatus(row[1].decode()), last_activity_at=at)


def find(c: sqlite3.Connection, where: str, value: str) -> SessionBindingRecord | None:
    """The binding that a condition selects, if any. Raises `ValueError` or `TypeError` for a broken row."""
    row = c.execute(f"SELECT {_COLUMNS} FROM bindings WHERE {where}", (value,)).fetchone()  # noqa: S608 -- fixed texts
    return None if row is None else _read(row)


def bind(c: sqlite3.Connection, command: Bind) -> BindResult:
    """Handle `Bind`. The binding that the conversation had until now ends with it."""
    record = command.record
    before = None if record.request is None else find(c, "request = ?", record.request)
    if before is not None:
        return BindResult(new=False, record=before)
    place = _place(record.conversation)
    ended = _end_at(c, place, command.now)
    row = None if command.session is None else session_for(c, command.session, command.now)
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
    return BindResult(new=True, record=record, ended=ended, session=row)


def _end_at(c: sqlite3.Connection, place: str, now: float) -> SessionBindingRecord | None:
    """End the active binding of a conversation; none when it has none, or one that cannot be read."""
    try:
        had = find(c, "status = 'active' AND place = ?", place)
    except _BROKEN:
        # It was reported when it was read, and binds nothing. It must not block its conversation for ever.
        c.execute("UPDATE bindings SET status = 'ended' WHERE status = 'active' AND place = ?", (place,))
        return None
    if had is None:
        return None
    return _change(c, had, BindingEvent.END, {"reason": Reason.REBOUND, "ended_at": now})


def change(c: sqlite3.Connection, command: ChangeBinding) -> SessionBindingRecord | None:
    record = find(c, "id = ?", command.binding)
    if record is None or record.status is BindingStatus.ENDED:
        return None
    if command.event is BindingEvent.DRAIN and record.status is BindingStatus.ENDING:
        return None
    return _change(c, record, command.event, command.changes)


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
    """Move a binding's last activity forward; the binding after it, or none when nothing changed.

    A binding past its deadlines is not revived. A row that cannot be read is skipped, so that the rest of the
    transaction is stored.
    """
    try:
        record = find(c, "id = ?", binding)
    except _BROKEN:
        return None
    if record is None or record.status is BindingStatus.ENDED or not record.last_activity_at < at < math.inf:
        return None
    if record.status is BindingStatus.ACTIVE and record.expired(at):
        return None
    c.execute("UPDATE bindings SET last_activity_at = ? WHERE id = ?", (at, binding))
    return msgspec.structs.replace(record, last_activity_at=at)


def list_own_webhooks(c: sqlite3.Connection, _: ListOwnWebhooks) -> tuple[tuple[str, str], ...]:
    """Handle `ListOwnWebhooks`. What these webhooks post comes back as an echo (invariant D8)."""
    sql = (
        "SELECT DISTINCT json_extract(body, '$.conversation.channel'), json_extract(body, '$.identity.id')"
        " FROM bindings WHERE json_valid(body) AND json_extract(body, '$.identity.id') IS NOT NULL"
    )
    return tuple((str(row[0]), str(row[1])) for row in c.execute(sql))


def count_open(c: sqlite3.Connection, _: CountOpenByBinding) -> dict[str, int]:
    sql = (
        "SELECT json_extract(bound, '$.binding') AS binding, count(*) FROM intents"
        " WHERE bound IS NOT NULL AND json_valid(bound) AND state IN ('prepared', 'sending') GROUP BY binding"
    )
    return {binding: count for binding, count in c.execute(sql).fetchall() if binding is not None}


def list_bindings(c: sqlite3.Connection, query: ListBindings) -> StoredBindings:
    found: list[SessionBindingRecord] = []
    broken: dict[str, str] = {}
    where = "" if query.ended else " WHERE status <> 'ended'"
    for row in c.execute(f"SELECT {_COLUMNS} FROM bindings{where} ORDER BY n"):  # noqa: S608 -- fixed texts
        try:
            found.append(_read(row))
        except _BROKEN as error:
            broken[row[0].decode(errors="replace")] = f"{type(error).__name__}: {error}"
    return StoredBindings(rows=tuple(found), broken=broken)
