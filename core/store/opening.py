"""Opens a store, a file or on a server, beside the gateway that works it."""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from trunkline.core.store.postgres.address import is_address

Opened = AbstractContextManager[sqlite3.Connection]


def open_store(store: Path | str, open_file: Callable[[Path], Opened]) -> Opened:
    """Open a store on a server by its address, or a file with `open_file`. Raises `StoreError`."""
    if isinstance(store, Path) or not is_address(store):
        return open_file(Path(store))
    from trunkline.core.store.postgres.migrate import open_server

    return open_server(store)
