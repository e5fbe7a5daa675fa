"""Numbered migrations: ``migrations/NNNN_name.sql``, each in one transaction with the number that it reaches."""

import sqlite3
from functools import cache
from pathlib import Path

from trunkline.core.errors import StoreError, StoreTooNew

#: "TRNK": marks a SQLite file as ours
APPLICATION_ID = 0x54524E4B
#: in one statement: another process may be creating the store at this moment
_LOOK = (
    "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),"
    " EXISTS (SELECT 1 FROM sqlite_master)"
)


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Number and SQL of every migration, in order."""
    found: list[tuple[int, str]] = []
    # `importlib.resources` would load `tempfile` and `zipfile`, for which an operator at a prompt waits.
    for entry in Path(__file__).with_name("migrations").glob("*.sql"):
        found.append((int(entry.name.split("_", 1)[0]), entry.read_text(encoding="utf-8")))
    return tuple(sorted(found))


def newest() -> int:
    """Number of the newest migration known to this version."""
    return migrations()[-1][0]


def check_ours(connection: sqlite3.Connection) -> int:
    """Read the version of a database.

    Raises `StoreTooNew` for one of a newer version and `StoreError` for the file of another program.
    """
    version, owner, has_tables = connection.execute(_LOOK).fetchone()
    if version > newest():
        raise StoreTooNew(f"it has version {version}, this Trunkline knows up to {newest()}: upgrade Trunkline")
    if owner not in (0, APPLICATION_ID) or (owner == 0 and has_tables):
        raise StoreError("the file is a SQLite database of another program: choose another path")
    return version


def check_file(path: Path, connection: sqlite3.Connection) -> int:
    """Like `check_ours`; the errors name the file."""
    try:
        return check_ours(connection)
    except StoreError as error:
        raise type(error)(f"{path}: {error.facts}") from None


def migrate(connection: sqlite3.Connection) -> int:
    """Migrate a database; returns how many migrations ran.

    Raises `StoreTooNew` for one of a newer version and `StoreError` for the file of another program; both are left
    untouched.
    """
    version = check_ours(connection)
    due, ran = [(number, sql) for number, sql in migrations() if number > version], 0
    for number, sql in due:
        script = f"BEGIN IMMEDIATE;{sql};PRAGMA user_version={number};PRAGMA application_id={APPLICATION_ID};COMMIT;"
        try:
            connection.executescript(script)
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if check_ours(connection) >= number:
                # Another process opened the store at the same time, and was faster.
                continue
            raise StoreError(f"migration {number} failed and was undone: {error}") from error
        ran += 1
    return ran
