"""Many writes of one kind as few statements: what a busy gateway stores most often.

Each statement that runs in the connection's thread gives the interpreter away and has to get it back, which costs more
than what SQLite does in it. So of writes that share a transaction, those of one kind go in together. They do exactly
what the single functions of `sql.writes` do; where one of them cannot be done that way, all of them are undone and
done singly (`core.store.sqlite.connection`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.core.delivery.mirror_text import mirror_text
from trunkline.core.delivery.states import DeliveryEvent, next_state
from trunkline.core.reasons import Reason
from trunkline.core.store.records import Begun, IntentRow, NewSession, SendRow, SessionRow, Settled
from trunkline.core.store.sqlite.sql.intent_columns import (
    INTENT_COLUMNS,
    PLAIN_COLUMNS,
    is_plain,
    plain_values_of,
    values_of,
)
from trunkline.core.store.sqlite.sql.session_lookup import lane_text
from trunkline.core.store.sqlite.sql.sessions import ensure_session
from trunkline.core.store.sqlite.sql.writes import TOLD, own_session
from trunkline.core.values import IntentId, Receipt, SessionId

_json = msgspec.json.Encoder().encode
#: rows in one statement, largest first
_SIZES = (128, 32, 8, 1)


class Odd(Exception):
    """One of the writes is not as usual."""


class Sending(msgspec.Struct, frozen=True):
    """The arguments of `core.store.sqlite.sql.writes.begin_send`. No `entry`: the session is known to exist."""

    send: SendRow
    intent: IntentRow
    now: float
    entry: NewSession | None = None


class Acking(msgspec.Struct, frozen=True):
    """The arguments of `trunkline.core.store.sqlite.sql.writes.ack_chunk`, of a last chunk."""

    intent: IntentRow
    receipt: Receipt
    mirror: NewSession | None
    now: float


def _inserts(table: str, columns: str) -> dict[int, str]:
    """Statements that insert so many rows. ``OR FAIL``: it is all undone anyway, and other ways keep a journal."""
    one = f"({', '.join('?' * len(columns.split(',')))})"
    start = f"INSERT OR FAIL INTO {table} ({columns}) VALUES "  # noqa: S608 -- names only
    return {size: start + ", ".join([one] * size) for size in _SIZES}


_INTENTS = _inserts("intents", INTENT_COLUMNS)
_PLAIN = _inserts("intents", PLAIN_COLUMNS)
_SENT_AGAIN = "SELECT 1 FROM sends WHERE key IN (SELECT value FROM json_each(?)) LIMIT 1"
_LINES = _inserts("transcript", "session_id, role, text, ref, partial, at")
_ACK = (
    "UPDATE intents SET state = ?, acked = ?, attempts = ?, reason = ?, next_at = NULL, updated_at = ?, marked = 0,"
    " doubt_at = NULL, transport = NULL, receipts = json_insert(receipts, '$[#]', json(?))"
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
_Found = tuple[int, str | None, int | None, str | None, str | None, int | None]
_found = msgspec.json.Decoder(list[_Found]).decode


def begin_sends(c: sqlite3.Connection, writes: Sequence[Sending]) -> list[Begun]:
    """Store first tries of sends. Raises `Odd` or `sqlite3.IntegrityError` where a key has sent before."""
    if any(write.send.tries != 1 for write in writes):
        raise Odd
    keys = _json([write.send.key for write in writes]).decode()
    if c.execute(_SENT_AGAIN, (keys,)).fetchone() is not None:
        raise Odd
    plain = all(is_plain(write.intent) for write in writes)
    values, statements = (plain_values_of, _PLAIN) if plain else (values_of, _INTENTS)
    intents: list[Any] = []
    for write in writes:
        intents += values(write.intent, write.now)
    _insert(c, statements, intents, len(writes))
    sessions = _entries(c, writes)
    return [
        Begun(new=True, send=write.send, intent=write.intent, session=session)
        for write, session in zip(writes, sessions, strict=True)
    ]


def _entries(c: sqlite3.Connection, writes: Sequence[Sending]) -> list[SessionRow | None]:
    """The sessions that sends ask for; none where one asks for none. Those that are missing are made."""
    found: list[SessionRow | None] = [None] * len(writes)
    asked = [_place(write.entry, None) for write in writes]
    if not any(asked):
        return found
    for n, session, generation, tied, _, _ in _look(c, asked):
        write = writes[n]
        if write.entry is not None:
            there = _there(write.entry, session, generation, tied)
            found[n] = there or ensure_session(c, write.entry, write.now)
    return found


def ack_last(c: sqlite3.Connection, writes: Sequence[Acking]) -> list[Settled]:
    """Store the ends of intents. Raises `Odd` where one of them is no longer as its caller saw it."""
    acks: list[Any] = []
    lines: list[Any] = []
    answers: list[Settled] = []
    for write, session in zip(writes, _sessions(c, writes), strict=True):
        acks.append(_ack(write))
        text, intent = "", write.intent
        if session is not None:
            text = mirror_text("\n".join(intent.chunks), intent.media) or ""
            lines += (session.id, "assistant", text, intent.id, 0, write.now)
        answers.append(Settled(mirror=session, mirror_text=text))
    if c.executemany(_ACK, acks).rowcount != len(acks):
        raise Odd
    _insert(c, _LINES, lines, len(lines) // 6)
    return answers


def mark_told(c: sqlite3.Connection, intents: Sequence[IntentId]) -> list[bool]:
    """Note that the hooks were told of intents. Raises `Odd` where of one of them that is no news."""
    told = c.executemany(TOLD, [(intent,) for intent in intents])
    if told.rowcount != len(intents):
        raise Odd
    return [True] * len(intents)


def _ack(write: Acking) -> tuple[object, ...]:
    intent = write.intent
    return (
        next_state(intent.state, DeliveryEvent.ACK_LAST).value,
        intent.acked + 1,
        intent.attempts,
        Reason.ACCEPTED.value,
        write.now,
        _json(write.receipt).decode(),
        intent.id,
        intent.state.value,
        intent.acked,
    )


def _sessions(c: sqlite3.Connection, writes: Sequence[Acking]) -> list[SessionRow | None]:
    """The session that holds the text of each; none where none does. Those that are missing are made."""
    asked = [_asked(write) for write in writes]
    found: list[SessionRow | None] = [None] * len(writes)
    for n, session, generation, tied, own_key, own_generation in _look(c, asked):
        mirror, intent = writes[n].mirror, writes[n].intent
        if mirror is None:
            continue
        if own_key is not None and own_generation is not None and intent.session is not None:
            found[n] = SessionRow(key=own_key, id=intent.session, generation=own_generation, created=False)
        elif intent.session is not None:
            # It was reset or merged meanwhile.
            found[n] = own_session(c, intent) or ensure_session(c, mirror, writes[n].now)
        else:
            there = _there(mirror, session, generation, tied)
            found[n] = there or ensure_session(c, mirror, writes[n].now)
    return found


def _look(c: sqlite3.Connection, asked: Sequence[tuple[str | None, ...]]) -> list[_Found]:
    """What there is of sessions. One row whatever they are: each row of an answer is a statement's worth of waiting."""
    return _found(c.execute(_SESSIONS, (_json(asked).decode(),)).fetchone()[0])


def _there(new: NewSession, session: str | None, generation: int | None, tied: str | None) -> SessionRow | None:
    """The session, where it is there and its place is tied to it, so that nothing is to be changed."""
    place = new.address is not None and new.key_of is not None
    if session is None or generation is None or (place and tied != new.key) or new.person is not None:
        return None
    return SessionRow(key=new.key, id=SessionId(session), generation=generation, created=False)


def _asked(write: Acking) -> tuple[str | None, ...]:
    """What is to be known of a mirror: that of its session, and the session it belongs to by its id."""
    return _place(write.mirror, None if write.intent.mirror_key is None else write.intent.session)


def _place(new: NewSession | None, own: SessionId | None) -> tuple[str | None, ...]:
    """Key, agent and place of a session that is asked for."""
    if new is None:
        return ()
    return new.key, new.agent, None if new.address is None else lane_text(new.address), own


def _insert(c: sqlite3.Connection, statements: dict[int, str], values: Sequence[Any], rows: int) -> None:
    """Insert rows, given as one flat list, in as few statements as there may be."""
    if not rows:
        return
    width, at = len(values) // rows, 0
    for size in _SIZES:
        while rows - at >= size:
            c.execute(statements[size], values[at * width : (at + size) * width])
            at += size
