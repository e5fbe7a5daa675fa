"""Numbered migrations of a store on a server: the number is the same as in SQLite, for the same tables."""

import sqlite3
from pathlib import Path

import psycopg

from trunkline.core.errors import StoreError, StoreTooNew
from trunkline.core.store.postgres.address import ServerAddress
from trunkline.core.store.postgres.connection import PgConnection
from trunkline.core.store.sqlite.migrate import newest


def version_of(connection: PgConnection) -> int:
    """The version of a store; 0: there is none yet. Raises `StoreTooNew`."""
    known = connection.execute("SELECT to_regclass('store_version') IS NOT NULL").fetchone()[0]
    version = connection.execute("SELECT max(version) FROM store_version").fetchone()[0] if known else 0
    if version > newest():
        raise StoreTooNew(
            f"{connection.address.shown}: it has version {version}, this Trunkline knows up to {newest()}: upgrade it"
        )
    return version


def migrate(connection: PgConnection) -> None:
    """Bring a store to the newest version, or create a new store. Raises `StoreTooNew`."""
    if version_of(connection) == newest():
        return
    raw, schema = connection.raw, connection.address.schema
    try:
        # Two processes may start at once: the second waits, and finds it done.
        with raw.transaction():
            raw.execute("SELECT pg_advisory_xact_lock(1414680139, 0)")
            if raw.execute("SELECT to_regnamespace($1) IS NULL", [schema]).fetchone() == (True,):
                raw.execute(f"CREATE SCHEMA {schema}".encode())
            version = version_of(connection)
            for path in sorted(Path(__file__).with_name("migrations").glob("*.sql")):
                if int(path.name.partition("_")[0]) > version:
                    raw.execute(path.read_bytes())
            raw.execute(Path(__file__).with_name("functions.sql").read_bytes())
            raw.execute("DELETE FROM store_version")
            raw.execute("INSERT INTO store_version VALUES ($1)", [newest()])
    except (sqlite3.Error, psycopg.Error) as error:
        said = connection.in_words(error) if isinstance(error, psycopg.Error) else error
        raise StoreError(f"{connection.address.shown}: {said}") from error


def open_migrated(address: ServerAddress) -> PgConnection:
    """A connection to a store of the newest version, which is created if there is none. Raises `StoreError`."""
    try:
        connection = PgConnection(address)
    except sqlite3.Error as error:
        raise StoreError(f"{address.shown}: {error}") from error
    try:
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection
