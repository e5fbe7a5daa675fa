"""The SQL of sessions and transcripts for operators. It reads stores of earlier versions too."""

import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any

import msgspec

from trunkline.core.errors import BadCursor, KeyFormatError, UnknownName
from trunkline.core.keys import canonical_key
from trunkline.core.store.operators import sessions
from trunkline.core.store.operators.cursors import cursor_of, read_cursor
from trunkline.core.store.sqlite.migrate import check_ours
from trunkline.core.store.sqlite.sql.session_lookup import find_moved
from trunkline.core.store.sqlite.sql.transcript import texts

#: keys before and after an unknown one that are compared with it
_NEAR = 500
#: characters of texts after which a page ends
_PAGE = 100_000
_TODAY = "SELECT session_key, session_id, generation, NULL AS reason FROM session_map"
_ENDED = "SELECT session_key, session_id, generation, reason FROM session_history"
# Both read the index alone, and of the table one line: the newest is the one that was stored last.
_COUNTED = (
    "(SELECT count(*) FROM transcript WHERE transcript.session_id = s.session_id),"
    " (SELECT at FROM transcript WHERE n = (SELECT max(n) FROM transcript WHERE transcript.session_id = s.session_id))"
)
#: version of the tables from which on lines are edited and deleted
_WITH_CHANGES = 6


class _BehindSession(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    generation: int


class _AtLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A position in a transcript: the number of a line. `until`: the newest line of this walk; none: no end is set."""

    session: str
    line: int
    until: int | None = None


def _all(c: sqlite3.Connection) -> str:
    """All sessions, as SQL. A store of version 1 has no ended sessions."""
    return _TODAY if check_ours(c) == 1 else f"{_TODAY} UNION ALL {_ENDED}"


def read_sessions(c: sqlite3.Connection, query: sessions.ReadSessions) -> sessions.SessionsPage:
    behind = read_cursor(query.cursor, _BehindSession) if query.cursor else _BehindSession("", -1)
    sql = (
        f"SELECT s.*, {_COUNTED} FROM ({_all(c)}) s"  # noqa: S608 -- the texts above only
        " WHERE (s.session_key, s.generation) > (?, ?) ORDER BY 1, 3 LIMIT ?"
    )
    rows = c.execute(sql, (behind.key, behind.generation, query.limit + 1)).fetchall()
    found = tuple(
        sessions.SessionSummary(session=_header(row), lines=row[4], last_at=_number(row[5]))
        for row in rows[: query.limit]
    )
    if len(rows) <= query.limit:
        return sessions.SessionsPage(sessions=found)
    last = found[-1].session
    return sessions.SessionsPage(sessions=found, next=cursor_of(_BehindSession(last.session_key, last.generation)))


def _header(row: Iterable[Any]) -> sessions.SessionHeader:
    key, session, generation, ended, *_ = row
    return sessions.SessionHeader(session_key=key, session_id=session, generation=generation, ended=ended)


def _number(value: object) -> float | None:
    """A time; none for what SQLite stores instead in a column of numbers."""
    return float(value) if isinstance(value, int | float) else None


def describe_session(c: sqlite3.Connection, query: sessions.DescribeSession) -> sessions.SessionSummary:
    header = find_session(c, query.name)
    sql = f"SELECT {_COUNTED} FROM (SELECT ? AS session_id) s"  # noqa: S608 -- the text above only
    lines, last = c.execute(sql, (header.session_id,)).fetchone()
    return sessions.SessionSummary(session=header, lines=lines, last_at=_number(last))


def find_session(c: sqlite3.Connection, name: str) -> sessions.SessionHeader:
    """The session with a name; see `DescribeSession`."""
    found = _named(c, name.strip())
    if found is not None:
        return found
    close = ", ".join(_near(c, name.strip()))
    hint = f"did you mean: {close}?" if close else "the list of sessions has all of them"
    raise UnknownName(f"there is no session {name!r}; {hint}")


def _named(c: sqlite3.Connection, name: str) -> sessions.SessionHeader | None:
    return _with(c, "session_key", name) or _with(c, "session_id", name) or _renamed(c, name)


def _with(c: sqlite3.Connection, column: str, name: str) -> sessions.SessionHeader | None:
    table = _TODAY if column == "session_key" else _all(c)
    found = c.execute(f"SELECT * FROM ({table}) WHERE {column} = ?", (name,)).fetchone()  # noqa: S608 -- fixed texts
    return None if found is None else _header(found)


def _renamed(c: sqlite3.Connection, name: str) -> sessions.SessionHeader | None:
    moved = None if check_ours(c) == 1 else find_moved(c, name)
    if moved is not None:
        return _with(c, "session_key", moved.key)
    try:
        key = str(canonical_key(name))
    except KeyFormatError:
        return None
    return None if key == name else _named(c, key)


def _near(c: sqlite3.Connection, name: str) -> tuple[str, ...]:
    """A few session keys that resemble an unknown one: first those that contain it."""
    sql = "SELECT session_key FROM session_map WHERE"
    within = c.execute(f"{sql} instr(session_key, ?) ORDER BY session_key LIMIT 3", (name,))
    after = c.execute(f"{sql} session_key > ? ORDER BY session_key LIMIT ?", (name, _NEAR))
    before = c.execute(f"{sql} session_key < ? ORDER BY session_key DESC LIMIT ?", (name, _NEAR))
    found = [row[0] for row in within] if name else []
    close = get_close_matches(name[:200], [row[0] for rows in (before, after) for row in rows], n=3)
    return tuple(dict.fromkeys((*found, *close)))[:3]


def read_transcript_page(c: sqlite3.Connection, query: sessions.ReadTranscriptPage) -> sessions.TranscriptPage:
    session = find_session(c, query.name)
    at = _position(c, session, query)
    order, compare = ("DESC", "<") if query.backwards else ("", ">")
    until = "" if at.until is None else f" AND n <= {at.until:d}"
    # Row numbers first: the index has them, and sorting the texts would read all of them.
    numbers = f"SELECT n FROM transcript WHERE session_id = ? AND n {compare} ?{until} ORDER BY n {order} LIMIT ?"  # noqa: S608 -- fixed texts
    wanted = [n for (n,) in c.execute(numbers, (session.session_id, at.line, query.limit + 1))]
    spoken = _SPOKEN if check_ours(c) >= _WITH_CHANGES else _UNCHANGED
    lines: list[tuple[int, sessions.SpokenLine]] = []
    size = 0
    for n in wanted[: query.limit]:
        if lines and size > _PAGE:
            break
        row = c.execute(spoken, (n,)).fetchone()
        if row is None:
            continue
        line = _spoken(row)
        size += len(line.text) + sum(map(len, line.was))
        lines.append((n, line))
    more = bool(lines) and wanted[-1] != lines[-1][0]
    if query.backwards:
        lines.reverse()
    return _page(session, lines, at, more=more, backwards=query.backwards)


def _position(c: sqlite3.Connection, session: sessions.SessionHeader, query: sessions.ReadTranscriptPage) -> _AtLine:
    if query.cursor:
        at = read_cursor(query.cursor, _AtLine)
        if at.session != session.session_id:
            raise BadCursor(f"it is of another session, and not of {session.session_id}")
        return at
    if query.backwards:
        return _AtLine(session.session_id, 2**63 - 1)
    # What is added while a reader walks to the end is left out, so that the walk has an end.
    (newest,) = c.execute("SELECT max(n) FROM transcript WHERE session_id = ?", (session.session_id,)).fetchone()
    return _AtLine(session.session_id, 0, newest or 0)


def _page(
    session: sessions.SessionHeader,
    lines: list[tuple[int, sessions.SpokenLine]],
    at: _AtLine,
    *,
    more: bool,
    backwards: bool,
) -> sessions.TranscriptPage:
    found = tuple(line for _, line in lines)
    if not lines:
        here = None if at.line in (0, 2**63 - 1) else cursor_of(_AtLine(at.session, at.line))
        return sessions.TranscriptPage(session=session, lines=(), more=False, older=here, newer=here)
    until = at.until if more and not backwards else None
    return sessions.TranscriptPage(
        session=session,
        lines=found,
        more=more,
        older=cursor_of(_AtLine(session.session_id, lines[0][0])),
        newer=cursor_of(_AtLine(session.session_id, lines[-1][0], until)),
    )


_SPOKEN = "SELECT role, text, ref, partial, at, was, deleted FROM transcript WHERE n = ?"
#: a store of an earlier version
_UNCHANGED = "SELECT role, text, ref, partial, at, NULL, 0 FROM transcript WHERE n = ?"


def _spoken(row: tuple[str, str, str, int, float, str | None, int]) -> sessions.SpokenLine:
    role, text, ref, partial, at, was, deleted = row
    return sessions.SpokenLine(
        role=role,
        text=text,
        ref=ref,
        partial=bool(partial),
        at=at,
        time=_time(at),
        was=() if was is None else texts(was),
        deleted=bool(deleted),
    )


def _time(at: float) -> str | None:
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return None
