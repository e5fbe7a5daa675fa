"""The store: a port of domain verbs, and SQLite behind it."""

from core.store.db import Db, connect_file
from core.store.migrate import migrate, newest
from core.store.port import Store
from core.store.rows import (
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
from core.store.sqlite import SqliteStore

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
