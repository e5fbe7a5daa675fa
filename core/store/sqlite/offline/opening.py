"""Opens the file of a store, beside a running gateway or without one. A file is never created or migrated here."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from trunkline.core.errors import StoreError
from trunkline.core.store.sqlite.damage import store_error
from trunkline.core.store.sqlite.file_watch import beside
from trunkline.core.store.sqlite.migrate import check_file, newest

#: seconds that a change waits for other writers
_TIMEOUT = 10.0


@contextmanager
def reading(path: Path, *, still: bool = False) -> Generator[sqlite3.Connection, None, None]:
    """Open a store file to read. Raises `StoreError`, naming the file, if it cannot be read or is no store.

    `still`: SQLite is to leave no files beside one that no process has open. Who opens it meanwhile is not noticed.
    """
    if not path.exists():
        raise StoreError(f"{path}: no such file")
    if path.is_dir():
        raise StoreError(f"{path}: a folder, and no store")
    if path.is_fifo():
        # SQLite would wait for ever for a writer.
        raise StoreError(f"{path}: a pipe, and no store")
    try:
        alone = "&immutable=1" if still and not beside(path, "-wal").exists() else ""
        uri = f"{path.absolute().as_uri()}?mode=ro{alone}"
        with closing(sqlite3.connect(uri, uri=True, timeout=10.0)) as connection:
            _check(path, connection)
            yield connection
    except sqlite3.Error as error:
        raise store_error(path, error) from error


@contextmanager
def open_to_read(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """Open a store in one read transaction. Raises `StoreError`, naming the file, unless it is of today's version."""
    with reading(path) as connection:
        _check(path, connection, today=True)
        connection.execute("BEGIN")
        yield connection


@contextmanager
def open_to_change(path: Path, *, today: bool = True) -> Generator[sqlite3.Connection, None, None]:
    """Open a store for changes; without `today`, also one of an earlier version. Raises as `open_to_read`."""
    with (open_to_read if today else reading)(path):
        pass
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_TIMEOUT)) as connection:
            connection.execute("PRAGMA synchronous=FULL")
            yield connection
    except sqlite3.Error as error:
        raise store_error(path, error) from error


def _check(path: Path, connection: sqlite3.Connection, *, today: bool = False) -> None:
    """Raise, naming the file, unless it is a store; with `today`, one of today's version."""
    version = check_file(path, connection)
    if version == 0:
        raise StoreError(f"{path}: an empty database: no gateway has worked with it")
    if today and version < newest():
        facts = f"it has version {version}, and today's is {newest()}: a gateway that starts brings it up to date"
        raise StoreError(f"{path}: {facts}")


@contextmanager
def in_transaction(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """Commit at the end, or roll back on an error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
