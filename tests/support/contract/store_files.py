"""What the tests of migrations share."""

import sqlite3
import sys
from pathlib import Path

import pytest

from trunkline.core.errors import StoreError
from trunkline.core.events import EventLog
from trunkline.core.store.sqlite.connection import Db, connect_file
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.store.sqlite.store import SqliteStore


def tables(raw: sqlite3.Connection) -> set[str]:
    return {row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def numbers(raw: sqlite3.Connection) -> tuple[int, int]:
    """Version and owner of a database."""
    return tuple(raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id"))  # type: ignore[return-value]


async def refusal(path: Path) -> StoreError:
    """What opening a file is refused with; its thread has ended afterwards."""
    dbs: list[Db] = []

    def connect() -> Db:
        dbs.append(connect_file(path))
        return dbs[0]

    with pytest.raises(StoreError) as refused:
        await SqliteStore(connect, EventLog(lambda: 0.0).recorder("gateway")).open()
    thread = dbs[0]._thread  # pyright: ignore[reportPrivateUsage]
    thread.join(30)
    assert not thread.is_alive()
    return refused.value


def set_migrations(monkeypatch: pytest.MonkeyPatch, *scripts: str) -> None:
    found = tuple(enumerate(scripts, 1))
    # By its module: in the package, the function `migrate` has the module's name.
    monkeypatch.setattr(sys.modules[migrate.__module__], "migrations", lambda: found)
