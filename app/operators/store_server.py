"""A gateway through its store on a PostgreSQL server, beside the running gateway or without one."""

import sqlite3
from contextlib import AbstractContextManager
from shlex import quote

from trunkline.app.operators.store_file import FileGateway, StoreFileOperator
from trunkline.core.store.postgres.address import server_address
from trunkline.core.store.postgres.offline import ServerWorker, open_server
from trunkline.core.store.postgres.store import TIME, rewrite_tables


class ServerGateway(FileGateway):
    """The store of a gateway on a server. Its clock is the server's, by which the lease is judged."""

    def __init__(self, url: str) -> None:
        self._url = url

    def now(self) -> float:
        with open_server(self._url) as connection:
            return connection.execute(TIME).fetchone()[0]

    def _reading(self, *, today: bool) -> AbstractContextManager[sqlite3.Connection]:
        del today
        return open_server(self._url)

    def _to_change(self) -> AbstractContextManager[sqlite3.Connection]:
        return open_server(self._url)

    def _scrub(self, connection: sqlite3.Connection) -> None:
        rewrite_tables(connection)

    def _worker(self, name: str) -> ServerWorker:
        return ServerWorker(self._url, name=name)


class StoreServerOperator(StoreFileOperator):
    """Answers verbs from a store on a server (see `Operator`)."""

    def __init__(self, url: str) -> None:
        self._gateway = ServerGateway(url)
        self._option = f"--store {quote(server_address(url).shown)}"
