"""Reads the sessions and transcripts of a store file, as JSON lines, also beside a running gateway.

No transaction stays open between two lines, so a slow reader does not block the gateway's checkpoints. Lines that are
added while the reader is at work are left out.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path

import msgspec

from trunkline.core.errors import KeyFormatError, StoreError
from trunkline.core.keys import canonical_key
from trunkline.core.store.sqlite.migrate import check_ours
from trunkline.core.store.sqlite.sql.session_lookup import find_moved
from trunkline.core.store.sqlite.sql.transcript import texts

#: version of the lines
TRANSCRIPT_VERSION = 1
#: keys before and after an unknown one that are compared with it
_NEAR = 500
#: escaped, because a terminal interprets them, and some readers take them for line ends
_UNSAFE = {number: f"\\u{number:04x}" for number in (*range(0x7F, 0xA0), 0x2028, 0x2029)}
_json = msgspec.json.Encoder().encode


class SessionHeader(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="session"):
    """The first line of a transcript."""

    version: int = TRANSCRIPT_VERSION
    session_key: str
    session_id: str
    generation: int
    #: why it ended: its key has another session now; none: it goes on
    ended: str | None = None


class SpokenLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="line"):
    """Every other line of a transcript."""

    role: str
    text: str
    #: the message or intent that it came from
    ref: str
    #: only a part of the intent was accepted
    partial: bool
    #: seconds on the gateway's clock, and the same as text; none: not a valid date
    at: float
    time: str | None
    #: what it said before its message was edited, oldest first
    was: tuple[str, ...] = ()
    #: its message was deleted
    deleted: bool = False


@contextmanager
def reading(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """Open a store file to read. Raises `StoreError`, naming the file, if it cannot be read or is no store."""
    if not path.exists():
        raise StoreError(f"{path}: no such file")
    if path.is_dir():
        raise StoreError(f"{path}: a folder, and no store")
    if path.is_fifo():
        # SQLite would wait for ever for a writer.
        raise StoreError(f"{path}: a pipe, and no store")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10.0)) as connection:
            if check_ours(connection) == 0:
                raise StoreError("an empty database: no gateway has worked with it")
            yield connection
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from error
    except StoreError as error:
        raise type(error)(f"{path}: {error.facts}") from None


def sessions(connection: sqlite3.Connection) -> Iterator[tuple[SessionHeader, int]]:
    """Every session with its number of lines, ordered by key and generation."""
    counted = "(SELECT count(*) FROM transcript WHERE transcript.session_id = s.session_id)"
    sql = f"SELECT s.*, {counted} FROM ({_all(connection)}) s ORDER BY 1, 3"  # noqa: S608 -- the texts below only
    for key, session, generation, ended, count in connection.execute(sql):
        yield SessionHeader(session_key=key, session_id=session, generation=generation, ended=ended), count


_TODAY = "SELECT session_key, session_id, generation, NULL AS reason FROM session_map"
_ENDED = "SELECT session_key, session_id, generation, reason FROM session_history"


def _all(connection: sqlite3.Connection) -> str:
    """All sessions, as SQL. A store of version 1 has no ended sessions."""
    return _TODAY if check_ours(connection) == 1 else f"{_TODAY} UNION ALL {_ENDED}"


def find_session(connection: sqlite3.Connection, name: str) -> SessionHeader | None:
    """The session with this key, in any form, or this former key; or with this id, even if it ended."""
    return _with(connection, "session_key", name) or _with(connection, "session_id", name) or _renamed(connection, name)


def _with(connection: sqlite3.Connection, column: str, name: str) -> SessionHeader | None:
    table = _TODAY if column == "session_key" else _all(connection)
    found = connection.execute(f"SELECT * FROM ({table}) WHERE {column} = ?", (name,)).fetchone()  # noqa: S608
    if found is None:
        return None
    return SessionHeader(session_key=found[0], session_id=found[1], generation=found[2], ended=found[3])


def _renamed(connection: sqlite3.Connection, name: str) -> SessionHeader | None:
    moved = None if check_ours(connection) == 1 else find_moved(connection, name)
    if moved is not None:
        return _with(connection, "session_key", moved.key)
    try:
        key = str(canonical_key(name))
    except KeyFormatError:
        return None
    return None if key == name else find_session(connection, key)


def near(connection: sqlite3.Connection, name: str) -> tuple[str, ...]:
    """A few session keys that resemble an unknown one: first those that contain it."""
    sql = "SELECT session_key FROM session_map WHERE"
    within = connection.execute(f"{sql} instr(session_key, ?) ORDER BY session_key LIMIT 3", (name,))
    after = connection.execute(f"{sql} session_key > ? ORDER BY session_key LIMIT ?", (name, _NEAR))
    before = connection.execute(
        f"{sql} session_key < ? ORDER BY session_key DESC LIMIT ?",
        (name, _NEAR),
    )
    found = [row[0] for row in within] if name else []
    close = get_close_matches(name[:200], [row[0] for rows in (before, after) for row in rows], n=3)
    return tuple(dict.fromkeys((*found, *close)))[:3]


def transcript_lines(connection: sqlite3.Connection, session: SessionHeader) -> Iterator[str]:
    """A transcript as JSON lines: the session, then its lines in the order in which they were stored."""
    yield _line(session)
    # Row numbers only: the texts are read one at a time.
    spoken = _SPOKEN if check_ours(connection) >= _WITH_CHANGES else _UNCHANGED
    numbers = array("q", (row[0] for row in connection.execute(f"{_NUMBERS} ORDER BY n", (session.session_id,))))
    for number in numbers:
        row = connection.execute(spoken, (number,)).fetchone()
        if row is not None:
            yield _line(_spoken(row))


_NUMBERS = "SELECT n FROM transcript WHERE session_id = ?"
_SPOKEN = "SELECT role, text, ref, partial, at, was, deleted FROM transcript WHERE n = ?"
#: a store of an earlier version
_UNCHANGED = "SELECT role, text, ref, partial, at, NULL, 0 FROM transcript WHERE n = ?"
#: version of the tables from which on lines are edited and deleted
_WITH_CHANGES = 6


def _spoken(row: tuple[str, str, str, int, float, str | None, int]) -> SpokenLine:
    role, text, ref, partial, at, was, deleted = row
    return SpokenLine(
        role=role,
        text=text,
        ref=ref,
        partial=bool(partial),
        at=at,
        time=_time(at),
        was=() if was is None else texts(was),
        deleted=bool(deleted),
    )


def _line(value: msgspec.Struct) -> str:
    return _json(value).decode().translate(_UNSAFE)


def _time(at: float) -> str | None:
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return None
