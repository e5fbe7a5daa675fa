"""Copies a store file to a server: rows go in parts, and the store is one when all were read back and compared.

A copy that was cut off goes on behind the last part that arrived. Until it is whole, no gateway opens the store.
"""

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
from trunkline.core.store.postgres.migrate import COPYING, is_copied_into, open_migrated
from trunkline.core.store.sqlite.copies import NotOverwritten, back_up
from trunkline.core.store.sqlite.file_watch import beside
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.store.sqlite.process_lock import FileLock

#: rows that are sent or read at once, and those of a transaction
_BATCH, _PART = 500, 20_000
#: what rows of other tables move: sent last, with the commit
_LAST = ("lease", "sqlite_sequence")
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

    @property
    def insert(self) -> str:
        marks = ", ".join("?" * len(self.columns))
        return f"INSERT INTO {self.name} ({', '.join(self.columns)}) VALUES ({marks})"  # noqa: S608


def copy_to_server(file: Path, url: str) -> CopiedStore:
    """Copy the store of a gateway that is stopped. The file stays as it is; rows that are there already are compared.

    Raises `NotOverwritten` while a gateway works with the file, or if the schema holds something else. Raises
    `StoreError` for all that goes wrong: the call can be repeated, and goes on where the last one ended.
    """
    address = server_address(url)
    with _stopped(file), _snapshot(file) as source, closing(open_migrated(address, copying=True)) as target:
        begun = False
        try:
            begun = _begin(target)
            tables = tuple(_tables(source))
            for table in tables if begun else ():
                if table.name not in _LAST:
                    _send(source, target, table)
            target.execute("BEGIN IMMEDIATE")
            if begun:
                _send_last(source, target, [table for table in tables if table.name in _LAST])
            rows = {table.name: _compared(source, target, table) for table in tables}
            target.execute("COMMIT")
        except NotOverwritten as error:
            facts = "the server gave back something else" if begun else "it holds another store"
            raise NotOverwritten(f"{address.shown}: {facts}, {error.facts}: choose another schema") from None
        except (sqlite3.Error, psycopg.Error) as error:
            said = target.in_words(error) if isinstance(error, psycopg.Error) else error
            raise StoreError(f"{address.shown}: {said}; the copy is not whole: repeat it, it goes on") from error
    return CopiedStore(path=str(file), server=address.shown, rows=rows, before=not begun)


def _begin(target: PgConnection) -> bool:
    """Mark an unused schema as one that is copied into; false: it holds a store."""
    if is_copied_into(target):
        return True
    target.execute("BEGIN IMMEDIATE")
    (unused,) = target.execute(_UNUSED).fetchone()
    if unused:
        target.execute(f"CREATE TABLE {COPYING} ()")
    target.execute("COMMIT" if unused else "ROLLBACK")
    return unused


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
    """Every table."""
    for (name,) in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        about = source.execute("SELECT name, pk FROM pragma_table_info(?)", (name,)).fetchall()
        key = ", ".join(column for column, place in sorted(about, key=lambda row: row[1]) if place)
        yield _Table(name, tuple(column for column, _ in about), key or "name")


def _send(source: sqlite3.Connection, target: PgConnection, table: _Table) -> None:
    """Send the rows of a table that the server does not have: it has the first ones, by their key."""
    (there,) = target.execute(f"SELECT count(*) FROM {table.name}").fetchone()  # noqa: S608 -- a name of ours
    rows = source.execute(f"{table.rows} LIMIT -1 OFFSET {there}")
    while part := rows.fetchmany(_PART):
        target.execute("BEGIN IMMEDIATE")
        for n in range(0, len(part), _BATCH):
            target.executemany(table.insert, part[n : n + _BATCH])
        target.execute("COMMIT")


def _send_last(source: sqlite3.Connection, target: PgConnection, tables: Iterable[_Table]) -> None:
    for table in tables:
        target.execute(f"DELETE FROM {table.name}")  # noqa: S608 -- a name of ours
        target.executemany(table.insert, source.execute(table.rows).fetchall())
    target.execute(f"DROP TABLE {COPYING}")


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
