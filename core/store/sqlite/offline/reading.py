"""Opens the file of a store to read, also beside a running gateway."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from trunkline.core.errors import StoreError
from trunkline.core.store.sqlite.migrate import check_ours


@contextmanager
def reading(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """Open a store file to read. Raises `StoreError`, naming the file, if it cannot be read or is no store."""
    if not path.exists():
        raise StoreError(f"{path}: no such file")
    if path.is_dir():
        raise StoreError(f"{path}: a folder, and no store")
    if path.is_fifo():
        # SQLite would wait for ever for a writer.
        raise StoreError(f"{path}: a pipe, and no store")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10.0)) as connection:
            if check_ours(connection) == 0:
                raise StoreError("an empty database: no gateway has worked with it")
            yield connection
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from error
    except StoreError as error:
        raise type(error)(f"{path}: {error.facts}") from None
