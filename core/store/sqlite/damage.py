"""Damage of a store file: the errors of SQLite, the words for people, and the check at a start."""

import sqlite3
from pathlib import Path
from shlex import quote

from trunkline.core.errors import StoreDamaged, StoreError

#: result codes of SQLite for content that is wrong
_WRONG = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
#: bytes of a file whose pages are all checked at each start (0.1 to 0.2 s)
WHOLE = 64 << 20
#: after a process that did not close it: with its indexes (1 to 3 s), and without them (1 to 3 s)
WITH_INDEXES = 256 << 20
WHOLE_AFTER_CRASH = 1 << 30
#: what a check reports at most
_MOST = 20


def is_damage(error: BaseException) -> bool:
    """Whether an error means wrong content of the file, against which no repetition helps."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.DatabaseError) and code is not None and code & 0xFF in _WRONG


def store_error(path: Path | None, error: BaseException) -> StoreError:
    """An error of SQLite or of the system in words, with the file and, if damaged, the remedy."""
    if is_damage(error):
        return damaged(path, str(error))
    said = str(error) or "out of memory"
    return StoreError(f"{path}: {said}" if path is not None else said)


def damaged(path: Path | None, finding: str) -> StoreDamaged:
    if path is None:
        return StoreDamaged(finding)
    restore = f"trunkline store restore BACKUP {quote(str(path))}"
    return StoreDamaged(f"{path}: {finding}. Move the file away and restore a backup: {restore}")


def findings(connection: sqlite3.Connection, check: str) -> tuple[str, ...]:
    """The findings of ``quick_check`` or ``integrity_check`` a sentence each; none for a sound file."""
    try:
        rows = [str(row[0]) for row in connection.execute(f"PRAGMA {check}({_MOST})")]
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return (str(error),)
    # SQLite puts several into one row, below a line with the name of the database.
    lines = (line.strip() for row in rows for line in row.splitlines())
    return tuple(line for line in lines if line not in ("ok", "") and not line.startswith("***"))[:_MOST]


def check_start(connection: sqlite3.Connection, path: Path, *, closed: bool) -> None:
    """Raise `StoreDamaged` for a damaged file, as far as a start can afford to look.

    Always the header, the size, the schema and the beginning of each table; all pages of a small file, and of a
    larger one that the process before has not closed. Then also whether tables and indexes agree: where a disk has
    lost some of its writes, pages of two moments are mixed, each of them sound.
    """
    size = path.stat().st_size
    if not closed and size <= WITH_INDEXES:
        found = findings(connection, "integrity_check")
    elif size <= (WHOLE if closed else WHOLE_AFTER_CRASH):
        found = findings(connection, "quick_check")
    else:
        found = ()
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0").fetchall()
        for (name,) in tables:
            escaped = str(name).replace('"', '""')
            connection.execute(f'SELECT * FROM "{escaped}" LIMIT 1').fetchall()  # noqa: S608 -- a name of its schema
    if found:
        raise damaged(path, found[0])
