"""Numbered migrations: ``migrations/NNNN_name.sql``, each in one transaction with the number that it reaches.

A migration expands: the release before goes on working with the store. What only that one needed is removed a release
later by ``migrations/contract/NNNN_name.sql``, of the same number, when an operator says so (`contract`). So the number
that a store keeps says two things: its version, and the oldest Trunkline that works with it.
"""

import sqlite3
from functools import cache
from pathlib import Path

from trunkline.core.errors import StoreError, StoreTooNew

FOLDER = Path(__file__).with_name("migrations")
#: the oldest version is in the millions of a number; without them it is the version itself
_STEP = 1_000_000
#: migrations up to this one came before the rule, and did not only expand
_STRICT = 10
#: "TRNK": marks a SQLite file as ours
APPLICATION_ID = 0x54524E4B
#: in one statement: another process may be creating the store at this moment
_LOOK = (
    "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),"
    " EXISTS (SELECT 1 FROM sqlite_master)"
)

#: fails if another process has migrated the store since its number was read
_UNCHANGED = "SELECT CASE WHEN (SELECT user_version FROM pragma_user_version) <> {} THEN json('') END"


@cache
def scripts(folder: Path) -> tuple[tuple[int, str], ...]:
    """Number and SQL of every migration of a folder, in order."""
    # `importlib.resources` would load `tempfile` and `zipfile`, for which an operator at a prompt waits.
    found = [(int(entry.name.split("_", 1)[0]), entry.read_text(encoding="utf-8")) for entry in folder.glob("*.sql")]
    return tuple(sorted(found))


def migrations() -> tuple[tuple[int, str], ...]:
    """Number and SQL of every expanding migration."""
    return scripts(FOLDER)


def newest() -> int:
    """Number of the newest migration known to this version."""
    return migrations()[-1][0]


def parts_of(number: int) -> tuple[int, int]:
    """The version of a store, and the oldest version whose Trunkline works with the store."""
    oldest, version = divmod(number, _STEP)
    return (version, oldest) if oldest else (number, number)


def number_of(version: int, oldest: int) -> int:
    """The number in a store; the opposite of `parts_of`."""
    return version if version == oldest else oldest * _STEP + version


def expanded(number: int, migration: int) -> int:
    """The number of a store after an expansion: the oldest version stays."""
    return number_of(migration, max(parts_of(number)[1], min(migration, _STRICT)))


def contracting(number: int, folder: Path) -> list[tuple[int, str, int]]:
    """The due contractions: the number of each, its SQL, and the number of the store afterwards."""
    version, oldest = parts_of(number)
    due = [(of, sql) for of, sql in scripts(folder / "contract") if oldest < of <= version]
    return [(of, sql, number_of(version, of)) for of, sql in due]


def check_number(number: int) -> int:
    """Read the version in a store's number. Raises `StoreTooNew` after a contraction for a newer version."""
    version, oldest = parts_of(number)
    if oldest > newest():
        raise StoreTooNew(f"it has version {version}, this Trunkline knows up to {newest()}: upgrade Trunkline")
    return version


def check_ours(connection: sqlite3.Connection) -> int:
    """Read the version of a database. Expansions of a newer version are taken.

    Raises `StoreTooNew` after its contractions and `StoreError` for the file of another program.
    """
    number, owner, has_tables = connection.execute(_LOOK).fetchone()
    version = check_number(number)
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
    """Expand a database; returns how many migrations ran.

    Raises `StoreTooNew` for one of a newer version and `StoreError` for the file of another program; both are left
    untouched.
    """
    version = check_ours(connection)
    return sum(_run_migration(connection, number, sql) for number, sql in migrations() if number > version)


def contract(connection: sqlite3.Connection) -> int:
    """Contract a database; returns the number of migrations. Raises as `migrate`."""
    check_ours(connection)
    due = contracting(_number(connection), FOLDER)
    return sum(_run_migration(connection, of, sql, contracts=True) for of, sql, _ in due)


def _number(connection: sqlite3.Connection) -> int:
    return connection.execute(_LOOK).fetchone()[0]


def _run_migration(connection: sqlite3.Connection, migration: int, sql: str, *, contracts: bool = False) -> bool:
    """Run a migration; false if another process was faster."""
    before = _number(connection)
    version, oldest = parts_of(before)
    if (oldest if contracts else version) >= migration:
        return False
    number = number_of(version, migration) if contracts else expanded(before, migration)
    script = f"{sql};PRAGMA user_version={number};PRAGMA application_id={APPLICATION_ID};COMMIT;"
    try:
        connection.executescript(f"BEGIN IMMEDIATE;{_UNCHANGED.format(before)};{script}")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if _number(connection) != before:
            return _run_migration(connection, migration, sql, contracts=contracts)
        raise StoreError(f"migration {migration} failed and was undone: {error}") from error
    return True
