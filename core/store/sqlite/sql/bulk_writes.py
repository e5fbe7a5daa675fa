"""Bulk handlers: many commands of one type as few statements, for what a busy gateway stores most often.

Each statement in the connection's thread releases the interpreter lock and has to get it back, which costs more than
SQLite's own work. So commands of one type that share a transaction are stored together. A bulk handler does exactly
what the single handler does; when it cannot, it raises, and its commands are run singly
(`core.store.sqlite.connection`).
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.core.records.rows import NewSession, SendAdmission, SessionRow, Settlement
from trunkline.core.store.commands import AckChunk, BeginSend, MarkNotified
from trunkline.core.store.sqlite.sql import intent_columns
from trunkline.core.store.sqlite.sql.intents import NOTIFIED, mirror_session
from trunkline.core.store.sqlite.sql.session_lookup import lane_text
from trunkline.core.store.sqlite.sql.sessions import session_for
from trunkline.core.text.mirror_text import mirror_text
from trunkline.core.values import IntentKind, SessionId

_json = msgspec.json.Encoder().encode
#: rows in one statement, largest first
_SIZES = (128, 32, 8, 1)


class NotBatchable(Exception):
    """A command of the group needs the single handler."""


def _inserts(table: str, columns: str) -> dict[int, str]:
    """Insert statements by their number of rows. ``OR FAIL``: everything is undone anyway, and it needs no journal."""
    row = f"({', '.join('?' * len(columns.split(',')))})"
    start = f"INSERT OR FAIL INTO {table} ({columns}) VALUES "  # noqa: S608 -- names only
    return {size: start + ", ".join([row] * size) for size in _SIZES}


_INTENTS = _inserts("intents", intent_columns.INTENT_COLUMNS)
_PLAIN = _inserts("intents", intent_columns.PLAIN_COLUMNS)
_SENT_AGAIN = "SELECT 1 FROM sends WHERE key IN (SELECT value FROM json_each(?)) LIMIT 1"
_LINES = _inserts("transcript", "session_id, role, text, ref, partial, at")
_ACK = (
    f"UPDATE intents SET {intent_columns.ACKED_COLUMNS}, receipts = {intent_columns.RECEIPTS}"  # noqa: S608 -- fixed texts
    " WHERE id = ? AND state = ? AND acked = ? AND json_valid(receipts)"
)
_SESSIONS = (
    "SELECT json_group_array(json_array(place, session_id, generation, tied, own_key, own_generation)) FROM ("
    "SELECT w.key AS place, s.session_id, s.generation, p.session_key AS tied, o.session_key AS own_key,"
    " o.generation AS own_generation FROM json_each(?) w"
    " LEFT JOIN session_map s ON s.session_key = json_extract(w.value, '$[0]')"
    " LEFT JOIN session_places p ON p.agent_id = json_extract(w.value, '$[1]')"
    " AND p.lane = json_extract(w.value, '$[2]')"
    " LEFT JOIN session_map o ON o.session_id = json_extract(w.value, '$[3]'))"
)
#: number of the command; id, generation and tied key of the session of the key; key and generation of the own session
_LookupRow = tuple[int, str | None, int | None, str | None, str | None, int | None]
_lookup_rows = msgspec.json.Decoder(list[_LookupRow]).decode


def is_first_try(command: BeginSend) -> bool:
    """Whether `begin_sends` takes a command."""
    return command.send.tries == 1


def begin_sends(c: sqlite3.Connection, writes: Sequence[BeginSend]) -> list[SendAdmission]:
    """Store first tries of sends. Raises `NotBatchable` or `sqlite3.IntegrityError` when a key has sent before."""
    keys = _json([write.send.key for write in writes]).decode()
    if c.execute(_SENT_AGAIN, (keys,)).fetchone() is not None:
        raise NotBatchable
    plain = all(intent_columns.is_plain(write.intent) for write in writes)
    values, statements = (intent_columns.plain_values_of, _PLAIN) if plain else (intent_columns.values_of, _INTENTS)
    intents: list[Any] = []
    for write in writes:
        intents += values(write.intent, write.now)
    _insert(c, statements, intents, len(writes))
    sessions = _entries(c, writes)
    return [
        SendAdmission(new=True, send=write.send, intent=write.intent, session=session)
        for write, session in zip(writes, sessions, strict=True)
    ]


def _entries(c: sqlite3.Connection, writes: Sequence[BeginSend]) -> list[SessionRow | None]:
    """The session that each send asks for, if any; missing ones are created."""
    found: list[SessionRow | None] = [None] * len(writes)
    asked = [_place(write.entry, None) for write in writes]
    if not any(asked):
        return found
    for n, session, generation, tied, _, _ in _look_up(c, asked):
        write = writes[n]
        if write.entry is not None:
            existing = _existing(write.entry, session, generation, tied)
            found[n] = existing or session_for(c, write.entry, write.now)
    return found


def is_plain_end(command: AckChunk) -> bool:
    """Whether `ack_last_chunks` takes a command."""
    intent = command.intent
    plain = intent.bound.binding is None and intent.delegation is None and intent.kind is not IntentKind.HEARTBEAT
    return plain and command.intent.is_last and not command.mirror_due


def ack_last_chunks(c: sqlite3.Connection, writes: Sequence[AckChunk]) -> list[Settlement]:
    """Store last receipts. Raises `NotBatchable` when one of the intents is no longer as its caller saw it."""
    acks: list[Any] = []
    lines: list[Any] = []
    answers: list[Settlement] = []
    for write, session in zip(writes, _sessions(c, writes), strict=True):
        text, intent, was = "", write.intent, write.intent.progress
        receipt = _json(write.receipt).decode()
        acks.append(
            (*intent_columns.acked_values_of(write.after, write.now), receipt, intent.id, was.state._value_, was.acked)
        )
        if session is not None:
            text = mirror_text(intent.content.text, intent.content.media) or ""
            lines += (session.id, "assistant", text, intent.id, 0, write.now)
        answers.append(Settlement(mirror=session, mirror_text=text))
    if c.executemany(_ACK, acks).rowcount != len(acks):
        raise NotBatchable
    _insert(c, _LINES, lines, len(lines) // 6)
    return answers


def mark_notified(c: sqlite3.Connection, writes: Sequence[MarkNotified]) -> list[bool]:
    """Record notified hooks. Raises `NotBatchable` when one of the intents was recorded before."""
    if c.executemany(NOTIFIED, [(write.intent,) for write in writes]).rowcount != len(writes):
        raise NotBatchable
    return [True] * len(writes)


def _sessions(c: sqlite3.Connection, writes: Sequence[AckChunk]) -> list[SessionRow | None]:
    """The session that mirrors each intent, if any; missing ones are created."""
    asked = [
        _place(write.mirror, None if write.intent.mirror_key is None else write.intent.session) for write in writes
    ]
    found: list[SessionRow | None] = [None] * len(writes)
    for n, session, generation, tied, own_key, own_generation in _look_up(c, asked):
        mirror, intent = writes[n].mirror, writes[n].intent
        if mirror is None:
            continue
        stays = own_key is not None and own_generation is not None and tied in (None, own_key)
        if stays and intent.session is not None:
            assert own_key is not None
            assert own_generation is not None
            found[n] = SessionRow(key=own_key, id=intent.session, generation=own_generation, created=False)
        else:
            # The session may have been reset or merged since, or its place may have left it.
            existing = None if intent.session is not None else _existing(mirror, session, generation, tied)
            found[n] = existing or mirror_session(c, intent, mirror, writes[n].now)
    return found


def _look_up(c: sqlite3.Connection, asked: Sequence[tuple[str | None, ...]]) -> list[_LookupRow]:
    """Look up sessions. The answer is a single row: each row of an answer costs as much as a statement."""
    return _lookup_rows(c.execute(_SESSIONS, (_json(asked).decode(),)).fetchone()[0])


def _existing(new: NewSession, session: str | None, generation: int | None, tied: str | None) -> SessionRow | None:
    """The session, if it exists and its place is tied to it, so that nothing has to change."""
    place = new.address is not None and new.key_of is not None
    if session is None or generation is None or (place and tied != new.key) or new.participant is not None:
        return None
    return SessionRow(key=new.key, id=SessionId(session), generation=generation, created=False)


def _place(new: NewSession | None, own: SessionId | None) -> tuple[str | None, ...]:
    """The columns that a session is looked up by: key, agent, place, own id; empty when none is needed."""
    if new is None:
        return ()
    return new.key, new.agent, None if new.address is None else lane_text(new.address), own


def _insert(c: sqlite3.Connection, statements: dict[int, str], values: Sequence[Any], rows: int) -> None:
    """Insert rows, given as one flat list, in as few statements as possible."""
    if not rows:
        return
    width, at = len(values) // rows, 0
    for size in _SIZES:
        while rows - at >= size:
            c.execute(statements[size], values[at * width : (at + size) * width])
            at += size
