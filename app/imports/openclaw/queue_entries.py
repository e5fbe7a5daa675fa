"""Entries of OpenClaw's delivery queue: rows of its database, and the files that older versions had.

A row has columns, and the whole entry as JSON. Where a column is empty, as in migrated rows, the entry counts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from trunkline.app.imports.openclaw.fields import Json, number, objects, parsed, part, place_of, time_of, word
from trunkline.app.imports.openclaw.values import ForeignPlace, QueuedDelivery, QueueStatus, UnreadableEntry

#: attempts after which OpenClaw gives up, unless the entry says otherwise
MAX_ATTEMPTS = 5
TABLE = "delivery_queue_entries"
_NEEDED = frozenset({"queue_name", "id", "status", "entry_json"})
#: folders of older versions -> the name of their queue
_FOLDERS: Mapping[str, str] = {"delivery-queue": "outbound", "session-delivery-queue": "session"}
#: entries and files that are longer are not read
_LONGEST = 8_000_000


class QueueReading(msgspec.Struct, frozen=True):
    """The contents of a queue; `completed` counts the receipts of finished deliveries."""

    entries: tuple[QueuedDelivery, ...] = ()
    completed: int = 0
    unreadable: tuple[UnreadableEntry, ...] = ()


def queue_rows(connection: sqlite3.Connection, columns: frozenset[str]) -> QueueReading:
    """The queue of a database. A row that cannot be read does not hide the others. Raises `sqlite3.Error`."""
    if not columns >= _NEEDED:
        return QueueReading() if not columns else QueueReading(unreadable=(_without(columns),))
    entries, unreadable, completed = list[QueuedDelivery](), list[UnreadableEntry](), 0
    for row in connection.execute(f"SELECT * FROM {TABLE} ORDER BY rowid"):  # noqa: S608 -- a constant
        values = {str(name): row[name] for name in row.keys()}  # noqa: SIM118 -- a row has no other way
        if values["status"] == QueueStatus.COMPLETED.value:
            completed += 1
            continue
        try:
            entries.append(_of_row(values))
        except ValueError as error:
            unreadable.append(UnreadableEntry(where=f"{TABLE} {values['id']}", why=str(error)))
    return QueueReading(tuple(entries), completed, tuple(unreadable))


def _without(columns: frozenset[str]) -> UnreadableEntry:
    missing = ", ".join(sorted(_NEEDED - columns))
    return UnreadableEntry(where=TABLE, why=f"the table has no {missing}: another version of OpenClaw")


def _of_row(values: Mapping[str, Any]) -> QueuedDelivery:
    text = values["entry_json"]
    if len(text or "") > _LONGEST:
        raise ValueError("too long to be an entry")
    entry = parsed(text or "")
    found = _entry(entry, word(values["id"]), word(values["queue_name"]), _status(word(values["status"])), TABLE)
    own = place_of(
        {"channel": values.get("channel"), "to": values.get("target"), "accountId": values.get("account_id")}
    )
    place = found.place
    if place is None or (own is not None and (own.channel, own.target) != (place.channel, place.target)):
        place = own
    return msgspec.structs.replace(
        found,
        place=place,
        session_key=word(values.get("session_key")) or found.session_key,
        last_error=word(values.get("last_error")) or found.last_error,
        recovery=word(values.get("recovery_state")) or found.recovery,
        enqueued=time_of(values.get("enqueued_at")) or found.enqueued,
        last_attempt=time_of(values.get("last_attempt_at")) or found.last_attempt,
        failed=time_of(values.get("failed_at")) or found.failed,
    )


def _status(text: str) -> QueueStatus:
    try:
        return QueueStatus(text)
    except ValueError:
        raise ValueError(f"unknown status {text!r}") from None


def queue_files(folder: Path) -> QueueReading:
    """The queues that versions before the database kept as files, below a state folder."""
    entries, unreadable, completed = list[QueuedDelivery](), list[UnreadableEntry](), 0
    for name, queue in _FOLDERS.items():
        for sub, status in (("", QueueStatus.PENDING), ("failed", QueueStatus.FAILED)):
            for path in _files(folder / name / sub):
                if path.suffix == ".delivered":
                    completed += 1
                    continue
                where = path.relative_to(folder).as_posix()
                try:
                    entries.append(_of_file(path, queue, status, where))
                except (OSError, ValueError) as error:
                    unreadable.append(UnreadableEntry(where=where, why=getattr(error, "strerror", None) or str(error)))
    return QueueReading(tuple(entries), completed, tuple(unreadable))


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix in (".json", ".delivered") and path.is_file())


def _of_file(path: Path, queue: str, status: QueueStatus, where: str) -> QueuedDelivery:
    if path.stat().st_size > _LONGEST:
        raise ValueError("too long to be an entry")
    return _entry(parsed(path.read_bytes()), path.stem, queue, status, where)


def _entry(entry: Json, name: str, queue: str, status: QueueStatus, where: str) -> QueuedDelivery:
    return QueuedDelivery(
        id=name or word(entry.get("id")),
        queue=queue,
        status=status,
        where=where,
        place=_place(entry),
        session_key=word(part(entry, "session").get("key")) or word(entry.get("sessionKey")),
        texts=_texts(entry),
        attempts=max(number(entry.get("retryCount")), number(entry.get("attemptCount"))),
        max_attempts=number(entry.get("maxRetries")) or MAX_ATTEMPTS,
        last_error=word(entry.get("lastError")),
        recovery=word(entry.get("recoveryState")),
        enqueued=time_of(entry.get("enqueuedAt")),
        last_attempt=time_of(entry.get("lastAttemptAt")) or time_of(entry.get("platformSendStartedAt")),
        failed=time_of(entry.get("failedAt")),
        available=time_of(entry.get("availableAt")),
    )


def _place(entry: Json) -> ForeignPlace | None:
    return place_of(entry) or place_of(part(entry, "deliveryContext")) or place_of(part(entry, "route"))


def _texts(entry: Json) -> tuple[str, ...]:
    """The visible texts, by the newest form first: prepared batch, rendered plan, payloads; a wake-up's message."""
    prepared = objects(part(entry, "preparedBatch"), "entries")
    accepted = [part(payload, "payload") for payload in prepared if payload.get("status") in (None, "accepted")]
    for payloads in (accepted, objects(part(entry, "renderedBatchPlan"), "items"), objects(entry, "payloads")):
        texts = tuple(text for payload in payloads if (text := word(payload.get("text"))))
        if texts:
            return texts
    alone = word(entry.get("text")) or word(entry.get("message"))
    return (alone,) if alone else ()
