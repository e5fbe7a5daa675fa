"""Who works a store, according to its lease."""

from __future__ import annotations

import sqlite3

from trunkline.core.store.sqlite import lease


def holder_of(c: sqlite3.Connection, now: float) -> str | None:
    """The process that works the store; none: none does."""
    row = lease.read(c)
    return row.owner if row.owner and now < row.until else None
