"""The SQL of sessions: created once for a key, tied to places, shared by people, reset. See also `sql.session_moves`.

Each function is part of one write, given a connection inside a transaction.
"""

from __future__ import annotations

import sqlite3

import msgspec

from trunkline.core.store.records import NewSession, Person, Reset, SessionRow
from trunkline.core.store.sqlite.sql.session_lookup import find_moved, lane_text
from trunkline.core.store.sqlite.sql.session_moves import leave, move, remember, takes_along, tie
from trunkline.core.values import SessionId

_json = msgspec.json.Encoder().encode
#: all that a message asks before it is stored, in one statement: each costs as much as a write
_LOOK = (
    "SELECT (SELECT id FROM inbox WHERE identity = ?),"
    " (SELECT session_key FROM session_places WHERE agent_id = ? AND lane = ?), session_id, generation"
    " FROM (SELECT 1) LEFT JOIN session_map ON session_key = ?"
)


class Seen(msgspec.Struct, frozen=True):
    """What there is when somebody asks for a session."""

    #: the session of the key
    row: SessionRow | None
    #: the key that the place has had last; none: no place asks, or none that is known
    tied: str | None
    #: the work that has this identity already
    known: str | None = None


def look(c: sqlite3.Connection, new: NewSession, identity: str | None = None) -> Seen:
    """Look for a session, for the place that asks for it, and for work with an identity."""
    lane = None if new.address is None or new.key_of is None else lane_text(new.address)
    known, tied, session, generation = c.execute(_LOOK, (identity, new.agent, lane, new.key)).fetchone()
    if session is None:
        return Seen(None, tied, known)
    return Seen(SessionRow(key=new.key, id=SessionId(session), generation=generation, created=False), tied, known)


def ensure_session(c: sqlite3.Connection, new: NewSession, now: float, seen: Seen | None = None) -> SessionRow:
    """The session of a key, created when there is none; the place that asks is tied to it.

    A place whose key has changed takes its session along where that is its alone to take; otherwise it leaves it, which
    the answer tells (S1, B072). A key that was decided under an older configuration changes nothing of that: it leads
    to the session that had it. `seen`: what was looked up already.
    """
    seen = seen or look(c, new)
    row = seen.row
    if new.address is not None and new.key_of is not None and seen.tied != new.key:
        row = _tied(c, new, row, seen.tied, now)
    if row is None:
        row = _create(c, new, now)
    people = 0 if new.person is None else _join(c, row.key, new.person)
    return msgspec.structs.replace(row, people=people) if people else row


def _tied(
    c: sqlite3.Connection, new: NewSession, row: SessionRow | None, tied: str | None, now: float
) -> SessionRow | None:
    """Tie a place to a key that it was not tied to. What comes of it for the session; none: it is to be created."""
    assert new.address is not None
    assert new.key_of is not None
    fits = new.key_of(new.address) == new.key
    if not fits:
        row = row or find_moved(c, new.key)
    if tied is None:
        # A session that is there, and is not the place's own by the configuration, is a matter of whoever asks.
        if fits or row is None:
            tie(c, new, new.key)
        return row
    if not fits:
        return row
    if row is None and takes_along(c, tied, new):
        return move(c, tied, new, now)
    left = leave(c, tied, new)
    if row is None:
        row = _create(c, new, now)
    return msgspec.structs.replace(row, left=left)


def _unused(c: sqlite3.Connection, session: str) -> SessionId:
    """An id that no session has or had: ids made from content may come again for a key that was moved away from."""
    taken = (
        "SELECT 1 FROM session_map WHERE session_id = ? UNION ALL SELECT 1 FROM session_history WHERE session_id = ?"
    )
    free, count = session, 1
    while c.execute(taken, (free, free)).fetchone() is not None:
        count += 1
        free = f"{session}+{count}"
    return SessionId(free)


def _create(c: sqlite3.Connection, new: NewSession, now: float) -> SessionRow:
    session, address = _unused(c, new.id), new.address
    entry = None if address is None or new.entry_of is None else _json(new.entry_of(address)).decode()
    c.execute(
        "INSERT INTO session_map (session_key, agent_id, session_id, address, entry, codec, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            new.key,
            new.agent,
            session,
            None if address is None else _json(address).decode(),
            entry,
            new.codec,
            now,
            now,
        ),
    )
    return SessionRow(key=new.key, id=session, generation=1, created=True)


def _join(c: sqlite3.Connection, key: str, person: Person) -> int:
    """Note who is in a session; how many there are, for each who comes as second or later, once."""
    done = c.execute(
        "INSERT INTO session_people (session_key, person) VALUES (?, ?) ON CONFLICT DO NOTHING", (key, person.name)
    )
    if done.rowcount == 0:
        return 0
    found = c.execute("SELECT person FROM session_people WHERE session_key = ? AND person <> ?", (key, person.name))
    others = {person.today(name) for (name,) in found}
    # Somebody who was linked since has been here under an id.
    return 0 if not others or person.name in others else len(others) + 1


def reset_session(c: sqlite3.Connection, new: NewSession, now: float) -> Reset | None:
    """Start a session anew: another id, the next generation. None when there is none for its key, or for its place."""
    seen = look(c, new)
    old = seen.row
    if old is None and seen.tied is not None and takes_along(c, seen.tied, new):
        # The scope has changed, and nobody has spoken since: the conversation's session is still under its old key.
        old = move(c, seen.tied, new, now)
    if old is None:
        return None
    remember(c, old, "reset", now)
    session, generation = _unused(c, new.id), old.generation + 1
    c.execute(
        "UPDATE session_map SET session_id = ?, generation = ?, shared = 0, updated_at = ? WHERE session_key = ?",
        (session, generation, now, old.key),
    )
    c.execute("DELETE FROM session_people WHERE session_key = ?", (old.key,))
    return Reset(row=msgspec.structs.replace(old, id=session, generation=generation), before=old.id)
