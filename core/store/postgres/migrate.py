"""Stores on a server, opened and migrated: a migration has the same number as in SQLite, for the same tables."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

import psycopg

from trunkline.core.errors import StoreError, StoreTooNew
from trunkline.core.store.postgres.address import ServerAddress, server_address
from trunkline.core.store.postgres.connection import PgConnection
from trunkline.core.store.sqlite.migrate import check_number, contracting, expanded, newest, parts_of, scripts

FOLDER = Path(__file__).with_name("migrations")
#: the table that a store has while it is copied into
COPYING = "copying"


def number_in(connection: PgConnection) -> int:
    """The number of a store, see `parts_of`; 0: there is none yet. Raises `StoreTooNew`."""
    known = connection.execute("SELECT to_regclass('store_version') IS NOT NULL").fetchone()[0]
    number = connection.execute("SELECT max(version) FROM store_version").fetchone()[0] if known else 0
    try:
        check_number(number)
    except StoreTooNew as error:
        raise StoreTooNew(f"{connection.shown}: {error.facts}") from None
    return number


def migrate(connection: PgConnection, *, contracts: bool = False) -> int:
    """Expand or create a store, and with `contracts` contract it; returns the number of migrations."""
    if parts_of(number_in(connection))[0] >= newest() and not contracts:
        return 0
    raw, schema, ran = connection.raw, connection.address.schema, 0
    try:
        # Two processes may start at once: the second waits, and finds it done.
        with raw.transaction():
            raw.execute("SELECT pg_advisory_xact_lock(1414680139, 0)")
            if raw.execute("SELECT to_regnamespace($1) IS NULL", [schema]).fetchone() == (True,):
                raw.execute(f"CREATE SCHEMA {schema}".encode())
            number = number_in(connection)
            for migration, sql in scripts(FOLDER):
                if migration > parts_of(number)[0]:
                    raw.execute(sql.encode())
                    number, ran = expanded(number, migration), ran + 1
            for _, sql, after in contracting(number, FOLDER) if contracts else ():
                raw.execute(sql.encode())
                number, ran = after, ran + 1
            raw.execute(Path(__file__).with_name("functions.sql").read_bytes())
            raw.execute("DELETE FROM store_version")
            raw.execute("INSERT INTO store_version VALUES ($1)", [number])
    except (sqlite3.Error, psycopg.Error) as error:
        said = connection.in_words(error) if isinstance(error, psycopg.Error) else error
        raise StoreError(f"{connection.shown}: {said}") from error
    return ran


def is_copied_into(connection: PgConnection) -> bool:
    """Whether a copy into a store is not whole."""
    return connection.execute(f"SELECT to_regclass('{COPYING}') IS NOT NULL").fetchone()[0]


def check_whole(connection: PgConnection) -> None:
    """Raise `StoreError` if a copy into a store is not whole."""
    if is_copied_into(connection):
        raise StoreError(f"{connection.shown}: a copy into it is not whole: repeat `trunkline store copy`")


def open_migrated(address: ServerAddress, *, copying: bool = False) -> PgConnection:
    """A connection to a store of the newest version, which is created if there is none. Raises `StoreError`."""
    try:
        connection = PgConnection(address)
    except sqlite3.Error as error:
        raise StoreError(f"{address.shown}: {error}") from error
    try:
        migrate(connection)
        if not copying:
            check_whole(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def migrate_server(url: str) -> int:
    """Expand and contract a store; returns the number of migrations. Raises `StoreError`."""
    address = server_address(url)
    try:
        with closing(PgConnection(address)) as connection:
            if number_in(connection) == 0:
                raise StoreError(f"{address.shown}: no gateway has used it")
            return migrate(connection, contracts=True)
    except sqlite3.Error as error:
        raise StoreError(f"{address.shown}: {error}") from error


@contextmanager
def open_server(url: str) -> Generator[sqlite3.Connection, None, None]:
    """Open a store. Raises `StoreError`, with its address, unless it is there and of today's version."""
    address = server_address(url)
    try:
        with closing(PgConnection(address)) as connection:
            version, _ = parts_of(number_in(connection))
            check_whole(connection)
            if version < newest():
                facts = f"it has version {version}, and today's is {newest()}" if version else "no gateway has used it"
                raise StoreError(f"{address.shown}: {facts}: a gateway that starts brings it up to date")
            yield cast("sqlite3.Connection", connection)
    except sqlite3.Error as error:
        raise StoreError(f"{address.shown}: {error}") from error


def server_time(url: str) -> float:
    """The time on the server's clock, by which leases are judged."""
    with open_server(url) as connection:
        return cast("PgConnection", connection).time()
