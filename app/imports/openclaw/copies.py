"""Databases that another process may be writing: they are copied, and the copy is read.

SQLite, even opened to read, may write beside a database whose write-ahead log is in use, and cannot read a locked one.
A copy of the file and its log leaves the folder as it is. It is taken again if the files changed meanwhile.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from trunkline.core.errors import UsageError

_TRIES = 8
_PAUSE = 0.1


class NotReadable(UsageError):
    """A database could not be read; says why."""


@contextmanager
def copied(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """Open a copy of a database. Raises `NotReadable`."""
    with tempfile.TemporaryDirectory(prefix="trunkline-import-") as folder:
        copy = Path(folder) / "copy.sqlite"
        try:
            _copy(path, copy)
        except OSError as error:
            raise NotReadable(error.strerror or str(error)) from error
        try:
            with closing(sqlite3.connect(copy)) as connection:
                connection.row_factory = sqlite3.Row
                # One row with bytes that are no text must not hide the others.
                connection.text_factory = _text
                connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
                yield connection
        except sqlite3.Error as error:
            raise NotReadable(str(error)) from error


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _copy(path: Path, to: Path) -> None:
    log = path.with_name(f"{path.name}-wal")
    for _ in range(_TRIES):
        before = _state(path), _state(log)
        shutil.copyfile(path, to)
        copied_log = to.with_name(f"{to.name}-wal")
        copied_log.unlink(missing_ok=True)
        if before[1] is not None:
            try:
                shutil.copyfile(log, copied_log)
            except FileNotFoundError:
                continue
        if (_state(path), _state(log)) == before:
            return
        time.sleep(_PAUSE)
    raise NotReadable("it is being written all the time; stop the gateway, or copy the folder while it is stopped")


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


def columns_of(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """The columns of a table; none if it is not there."""
    return frozenset(str(row["name"]) for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,)))


def user_version(connection: sqlite3.Connection) -> int:
    """The version of the schema, as OpenClaw counts it."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
