"""Copies a store file to a server: all rows in one transaction, read back and compared before it is committed."""

import sqlite3
import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from trunkline.core.errors import StoreError
from trunkline.core.store.postgres.address import server_address
from trunkline.core.store.postgres.connection import PgConnection, stored_value
from trunkline.core.store.postgres.migrate import open_migrated
from trunkline.core.store.sqlite.copies import NotOverwritten, back_up
from trunkline.core.store.sqlite.file_watch import beside
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.store.sqlite.process_lock import FileLock

#: rows that are sent or read at once
_BATCH = 500
#: whether nothing was ever stored there
_UNUSED = "SELECT token = 0 AND NOT EXISTS (SELECT 1 FROM session_map) AND NOT EXISTS (SELECT 1 FROM inbox) FROM lease"


class CopiedStore(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    server: str
    #: table -> its rows
    rows: dict[str, int]
    #: whether they were there already
    before: bool


class _Table(msgspec.Struct, frozen=True):
    name: str
    columns: tuple[str, ...]
    key: str

    @property
    def rows(self) -> str:
        return f"SELECT {', '.join(self.columns)} FROM {self.name} ORDER BY {self.key}"  # noqa: S608 -- names of ours


def copy_to_server(file: Path, url: str) -> CopiedStore:
    """Copy the store of a gateway that is stopped. The file stays as it is; rows that are there already are compared.

    Raises `NotOverwritten` while a gateway works with the file, or if the schema holds something else. Raises
    `StoreError` for all that goes wrong: the server then has nothing of it, and the call can be repeated.
    """
    address = server_address(url)
    with _stopped(file), _snapshot(file) as source, closing(open_migrated(address)) as target:
        unused = False
        try:
            tables = tuple(_tables(source))
            target.execute("BEGIN IMMEDIATE")
            (unused,) = target.execute(_UNUSED).fetchone()
            for table in tables if unused else ():
                _send(source, target, table)
            rows = {table.name: _compared(source, target, table) for table in tables}
            target.execute("COMMIT")
        except NotOverwritten as error:
            facts = "the server gave back something else" if unused else f"it holds another store, {error.facts}"
            raise NotOverwritten(f"{address.shown}: {facts}: choose another schema") from None
        except (sqlite3.Error, psycopg.Error) as error:
            said = target.in_words(error) if isinstance(error, psycopg.Error) else error
            raise StoreError(f"{address.shown}: {said}; nothing was copied") from error
    return CopiedStore(path=str(file), server=address.shown, rows=rows, before=not unused)


@contextmanager
def _stopped(file: Path) -> Generator[None]:
    """Keep gateways from the file meanwhile."""
    lock = FileLock(file)
    if beside(file, ".lock").exists() and not lock.take():
        raise NotOverwritten(f"a gateway works with {file}: stop it, as what it stores from now on would be missing")
    try:
        yield
    finally:
        lock.drop()


@contextmanager
def _snapshot(file: Path) -> Generator[sqlite3.Connection]:
    """A copy of the file, of today's version."""
    with tempfile.TemporaryDirectory() as folder:
        back_up(file, copy := Path(folder) / "store.db")
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            migrate(connection)
            yield connection


def _tables(source: sqlite3.Connection) -> Iterator[_Table]:
    """Every table; what counts the numbers of others comes last, as their rows move it."""
    names = source.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name = 'sqlite_sequence', name"
    )
    for (name,) in names.fetchall():
        about = source.execute("SELECT name, pk FROM pragma_table_info(?)", (name,)).fetchall()
        key = ", ".join(column for column, place in sorted(about, key=lambda row: row[1]) if place)
        yield _Table(name, tuple(column for column, _ in about), key or "name")


def _send(source: sqlite3.Connection, target: PgConnection, table: _Table) -> None:
    # The row of the lease, and numbers that rows have moved.
    target.execute(f"DELETE FROM {table.name}")  # noqa: S608 -- a name of ours
    marks = ", ".join("?" * len(table.columns))
    insert = f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({marks})"  # noqa: S608
    rows = source.execute(table.rows)
    while batch := rows.fetchmany(_BATCH):
        target.executemany(insert, batch)


def _compared(source: sqlite3.Connection, target: PgConnection, table: _Table) -> int:
    """The rows of a table, which are the same in both. Raises `NotOverwritten` if they are not."""
    count = 0
    with target.raw.cursor("copied", binary=True) as found:
        found.itersize = _BATCH
        found.execute(table.rows.encode())
        for ours, theirs in zip_longest(_plain(source.execute(table.rows)), _plain(found)):
            if ours != theirs:
                raise NotOverwritten(f"{table.name} differs at row {count + 1}")
            count += 1
    return count


def _plain(rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    return (tuple(map(stored_value, row)) for row in rows)
