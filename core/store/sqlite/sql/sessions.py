"""The SQL that creates, ties, shares and resets sessions, inside a transaction. See also `sql.session_moves`."""

import sqlite3
from collections.abc import Sequence

import msgspec

from trunkline.core.records.rows import NewSession, Participant, ResetResult, SessionRow
from trunkline.core.store.commands import EnsureSession, ResetSession
from trunkline.core.store.sqlite.sql.session_lookup import find_moved, lane_text
from trunkline.core.store.sqlite.sql.session_moves import leave, move, owns_session, remember, tie
from trunkline.core.values import SessionId

_json = msgspec.json.Encoder().encode
#: everything that an admission looks up, in one statement: each statement costs as much as a write
_LOOK = (
    "SELECT coalesce((SELECT id FROM inbox WHERE identity = ?),"
    " (SELECT inbound_id FROM inbox_aliases WHERE identity = ?)),"
    " (SELECT session_key FROM session_places WHERE agent_id = ? AND lane = ?), session_id, generation"
    " FROM (SELECT 1) LEFT JOIN session_map ON session_key = ?"
)

_KNOWN = (
    "SELECT id FROM inbox WHERE identity = ? UNION ALL SELECT inbound_id FROM inbox_aliases WHERE identity = ? LIMIT 1"
)


class SessionLookup(msgspec.Struct, frozen=True, gc=False):
    """The store's knowledge of a session that a command asks for."""

    row: SessionRow | None
    #: the last key of the place; none: no place asks, or an unknown one
    tied: str | None
    #: the inbound that has this identity already
    known: str | None = None


def look_up(c: sqlite3.Connection, new: NewSession, identity: str | None = None) -> SessionLookup:
    """Look up a session, the place that asks for it, and the inbound with an identity."""
    lane = None if new.address is None or new.key_of is None else lane_text(new.address)
    known, tied, session, generation = c.execute(_LOOK, (identity, identity, new.agent, lane, new.key)).fetchone()
    if session is None:
        return SessionLookup(None, tied, known)
    row = SessionRow(key=new.key, id=SessionId(session), generation=generation, created=False)
    return SessionLookup(row, tied, known)


def known_as(c: sqlite3.Connection, identities: Sequence[str]) -> str | None:
    """The inbound that has one of some identities."""
    for identity in identities:
        row = c.execute(_KNOWN, (identity, identity)).fetchone()
        if row is not None:
            return str(row[0])
    return None


def ensure_session(c: sqlite3.Connection, command: EnsureSession) -> SessionRow:
    return session_for(c, command.session, command.now)


def session_for(c: sqlite3.Connection, new: NewSession, now: float, lookup: SessionLookup | None = None) -> SessionRow:
    """The session of a key, created when there is none; the place that asks is tied to it.

    A place whose key has changed moves its session to the new key if no other place uses it; otherwise it leaves the
    session behind, and the answer names it (invariant S1). A key that was decided under an older configuration leads to
    the session that had it. `lookup`: the result of `look_up`, if the caller has it.
    """
    lookup = lookup or look_up(c, new)
    row = lookup.row
    if new.address is not None and new.key_of is not None and lookup.tied != new.key:
        row = _tie_place(c, new, row, lookup.tied, now)
    if row is None:
        row = _create(c, new, now)
    people = 0 if new.participant is None else _join(c, row.key, new.participant)
    return msgspec.structs.replace(row, people=people) if people else row


def _tie_place(
    c: sqlite3.Connection, new: NewSession, row: SessionRow | None, tied: str | None, now: float
) -> SessionRow | None:
    """Tie a place to a key that it was not tied to. Returns the session; none: the caller creates it."""
    assert new.address is not None
    assert new.key_of is not None
    fits = new.key_of(new.address) == new.key
    if not fits:
        row = row or find_moved(c, new.key)
    if tied is None:
        # An existing session that is not the place's own by the configuration is the caller's business.
        if fits or row is None:
            tie(c, new, new.key)
        return row
    if not fits:
        return row
    if row is None and owns_session(c, tied, new):
        return move(c, tied, new, now)
    left = leave(c, tied, new)
    if row is None:
        row = _create(c, new, now)
    return msgspec.structs.replace(row, left=left)


def _unused(c: sqlite3.Connection, session: str) -> SessionId:
    """An id that no session has or had: ids made from content may repeat for a key that a session was moved from."""
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
        (new.key, new.agent, session, None if address is None else _json(address).decode(), entry, new.codec, now, now),
    )
    return SessionRow(key=new.key, id=session, generation=1, created=True)


def _join(c: sqlite3.Connection, key: str, person: Participant) -> int:
    """Note a participant; the number of participants, once for each after the first, else 0."""
    done = c.execute(
        "INSERT INTO session_people (session_key, person) VALUES (?, ?) ON CONFLICT DO NOTHING", (key, person.name)
    )
    if done.rowcount == 0:
        return 0
    found = c.execute("SELECT person FROM session_people WHERE session_key = ? AND person <> ?", (key, person.name))
    others = {person.today(name) for (name,) in found}
    # A person who was linked since is known under a platform id.
    return 0 if not others or person.name in others else len(others) + 1


def reset_session(c: sqlite3.Connection, command: ResetSession) -> ResetResult | None:
    new, now = command.session, command.now
    lookup = look_up(c, new)
    old = lookup.row
    if old is None and lookup.tied is not None and owns_session(c, lookup.tied, new):
        # The scope has changed since the last message: the conversation's session is still under its old key.
        old = move(c, lookup.tied, new, now)
    if old is None:
        return None
    remember(c, old, "reset", now)
    session, generation = _unused(c, new.id), old.generation + 1
    c.execute(
        "UPDATE session_map SET session_id = ?, generation = ?, shared = 0, updated_at = ? WHERE session_key = ?",
        (session, generation, now, old.key),
    )
    c.execute("DELETE FROM session_people WHERE session_key = ?", (old.key,))
    return ResetResult(row=msgspec.structs.replace(old, id=session, generation=generation), before=old.id)
