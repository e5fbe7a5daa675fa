"""Stored session keys, and which row to keep if several name one conversation."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class StoredKey(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a session map."""

    key: str
    session_id: str
    #: when the session was last used, seconds
    updated_at: float


def freshest(rows: Sequence[StoredKey], *preferred: str) -> StoredKey:
    """The row to keep: the newest; of equally new ones, one with a preferred spelling, else the first."""
    newest = max(row.updated_at for row in rows)
    ties = [row for row in rows if row.updated_at == newest]
    return next((row for key in preferred for row in ties if row.key == key), ties[0])
