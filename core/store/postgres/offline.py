"""A store on a server, opened beside a running gateway or without. Nothing is created or migrated here."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import cast

from trunkline.core.errors import StoreError
from trunkline.core.store.postgres.address import server_address
from trunkline.core.store.postgres.connection import PgConnection
from trunkline.core.store.postgres.migrate import number_in
from trunkline.core.store.sqlite.migrate import newest, parts_of


@contextmanager
def open_server(url: str) -> Generator[sqlite3.Connection, None, None]:
    """Open a store. Raises `StoreError`, with its address, unless it is there and of today's version."""
    address = server_address(url)
    try:
        with closing(PgConnection(address)) as connection:
            version, _ = parts_of(number_in(connection))
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
