"""A store on a server, opened beside a running gateway or without one. It is never created or migrated here."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import cast

from trunkline.core.errors import StoreError
from trunkline.core.store.postgres.address import server_address
from trunkline.core.store.postgres.connection import PgConnection
from trunkline.core.store.postgres.migrate import version_of
from trunkline.core.store.sqlite.migrate import newest
from trunkline.core.store.sqlite.offline.hand_worker import HandWorker


@contextmanager
def open_server(url: str) -> Generator[sqlite3.Connection, None, None]:
    """Open a store. Raises `StoreError`, naming it, unless it is there and of today's version."""
    address = server_address(url)
    try:
        with closing(PgConnection(address)) as connection:
            version = version_of(connection)
            if version != newest():
                facts = f"it has version {version}, and today's is {newest()}" if version else "no gateway has used it"
                raise StoreError(f"{address.shown}: {facts}: a gateway that starts brings it up to date")
            yield cast("sqlite3.Connection", connection)
    except sqlite3.Error as error:
        raise StoreError(f"{address.shown}: {error}") from error


class ServerWorker(HandWorker):
    """A `HandWorker` of a store on a server."""

    def __init__(self, url: str, *, name: str = "worker") -> None:
        super().__init__("", name=name)
        self._opened = lambda: open_server(url)
