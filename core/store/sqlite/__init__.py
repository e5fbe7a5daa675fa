"""The SQLite store."""

from trunkline.core.store.sqlite.connection import Db, connect_file
from trunkline.core.store.sqlite.migrate import migrate, newest
from trunkline.core.store.sqlite.store import SqliteStore

__all__ = ["Db", "SqliteStore", "connect_file", "migrate", "newest"]
