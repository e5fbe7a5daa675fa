"""The SQL to find sessions: by key, by id, by a former key."""

import sqlite3

from trunkline.core.records.rows import SessionRow
from trunkline.core.store.queries import FindRequester, FindSession
from trunkline.core.values import Address, SessionId

_SEPARATOR = "\x1f"
#: the sessions that some keys have, or had before they were reset
SESSIONS_OF_KEYS = (
    "SELECT session_id FROM session_map WHERE session_key IN (SELECT value FROM json_each(:keys))"
    " UNION SELECT session_id FROM session_history WHERE session_key IN (SELECT value FROM json_each(:keys))"
)


def lane_text(address: Address) -> str:
    """A conversation as a column value. The kind keeps a direct conversation apart from a group with the same id."""
    return _SEPARATOR.join((address.kind.value, *address.lane))


def _find(c: sqlite3.Connection, source: str, *values: str) -> SessionRow | None:
    """The session that a table `s` has for some values. `source`: the table, with its conditions."""
    sql = f"SELECT s.session_key, s.session_id, s.generation FROM {source}"  # noqa: S608 -- fixed texts
    found = c.execute(sql, values).fetchone()
    if found is None:
        return None
    return SessionRow(key=found[0], id=SessionId(found[1]), generation=found[2], created=False)


def find_session(c: sqlite3.Connection, query: FindSession) -> SessionRow | None:
    return find_by_key(c, query.key)


def find_by_key(c: sqlite3.Connection, key: str) -> SessionRow | None:
    return _find(c, "session_map s WHERE session_key = ?", key)


def find_by_id(c: sqlite3.Connection, session: str) -> SessionRow | None:
    """The session with this id, if a key has it today."""
    return _find(c, "session_map s WHERE session_id = ?", session)


def find_ended(c: sqlite3.Connection, session: str) -> SessionRow | None:
    """The session with this id, if it was reset or merged, under its last key."""
    return _find(c, "session_history s WHERE session_id = ?", session)


def has_left(c: sqlite3.Connection, session: str, address: Address) -> bool:
    """Whether a place has left a session for another one."""
    sql = "SELECT 1 FROM session_left WHERE session_id = ? AND lane = ?"
    return c.execute(sql, (session, lane_text(address))).fetchone() is not None


def find_tied(c: sqlite3.Connection, agent: str, address: Address) -> SessionRow | None:
    """The present session of a place."""
    of_place = (
        "session_places p JOIN session_map s ON s.session_key = p.session_key WHERE p.agent_id = ? AND p.lane = ?"
    )
    return _find(c, of_place, agent, lane_text(address))


def find_requester(c: sqlite3.Connection, query: FindRequester) -> SessionRow | None:
    if query.origin is not None and has_left(c, query.session, query.origin):
        return None
    return find_by_id(c, query.session)


def find_moved(c: sqlite3.Connection, key: str) -> SessionRow | None:
    """The session that was moved away from a key."""
    return _find(c, "session_moves m JOIN session_map s ON s.session_key = m.new_key WHERE m.old_key = ?", key)
