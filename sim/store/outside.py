"""The store as another process uses it: short transactions on the same disk, whether or not a gateway works it."""

import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

from trunkline.core.errors import StoreError
from trunkline.core.store.commands import Write
from trunkline.core.store.queries import Read
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.sim.store.disk import Disk

A = TypeVar("A")


class OutsideStore:
    """Runs commands that any process may write. It holds no lease, and needs none."""

    def __init__(self, disk: Disk, changed: Callable[[Write[Any]], Write[Any]] = lambda command: command) -> None:
        self._disk = disk
        #: what a defect makes of a command
        self._changed = changed

    def write(self, command: Write[A]) -> A:
        """Commit a command. Raises what the command raises, and `StoreError` when the disk refuses it: try again."""
        connection = self._disk.open()
        try:
            self._disk.reach()
            connection.execute("BEGIN IMMEDIATE")
            answer = execute(connection, self._changed(command))
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(str(error)) from error
        finally:
            # Of a command that was refused, or whose commit failed.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        self._disk.notify(left=answer is not None)
        return answer

    def read(self, query: Read[Any]) -> Any:
        """Answer a query."""
        return ask(self._disk.open(), query)
