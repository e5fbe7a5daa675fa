"""The store: a port of domain verbs, and SQLite behind it."""

from trunkline.core.store.port import Store
from trunkline.core.store.records import (
    Admission,
    DelegationRow,
    Finish,
    IntentRow,
    NewSession,
    SessionRow,
    Settled,
    TranscriptLine,
    Unfinished,
    Work,
)
from trunkline.core.store.sqlite.connection import Db, connect_file
from trunkline.core.store.sqlite.migrate import migrate, newest
from trunkline.core.store.sqlite.store import SqliteStore

__all__ = [
    "Admission",
    "Db",
    "DelegationRow",
    "Finish",
    "IntentRow",
    "NewSession",
    "SessionRow",
    "Settled",
    "SqliteStore",
    "Store",
    "TranscriptLine",
    "Unfinished",
    "Work",
    "connect_file",
    "migrate",
    "newest",
]
