"""What the SQLite store reads; the writes are in `trunkline.core.store.sqlite.store`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.core.store.records import (
    IntentFate,
    IntentRow,
    Loaded,
    OpenIntent,
    SendRow,
    SessionRow,
    TranscriptLine,
    Unfinished,
)
from trunkline.core.store.sqlite.connection import Db
from trunkline.core.store.sqlite.sql import intent_reads as intents
from trunkline.core.store.sqlite.sql import queue_admin as operate
from trunkline.core.store.sqlite.sql import session_lookup as lookup
from trunkline.core.store.sqlite.sql import unfinished as leftover
from trunkline.core.store.sqlite.sql.queue_admin import Filter, QueueRow, Shown
from trunkline.core.values import (
    Address,
    ChatKind,
    InboundId,
    IntentId,
    IntentState,
    SessionId,
)

_address = msgspec.json.Decoder(Address).decode


class SqliteReads:
    """The reading verbs of `trunkline.core.store.port.Store`, over a connection."""

    def __init__(self, db: Db) -> None:
        self._db = db

    async def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return await self._db.run(lambda c: c.execute(sql, values).fetchall())

    async def unfinished(self) -> Unfinished:
        """See the port."""
        return await self._db.run(leftover.unfinished)

    async def open_intents(self, after: int, limit: int) -> tuple[OpenIntent, ...]:
        """See the port."""
        rows = await self._rows(
            "SELECT n, id, CAST(address AS BLOB) FROM intents WHERE n > ? AND state IN ('prepared', 'sending')"
            " ORDER BY n LIMIT ?",
            after,
            limit,
        )
        return tuple(OpenIntent(n=row[0], id=IntentId(row[1]), address=_place(row)) for row in rows)

    async def load_intents(self, ids: Sequence[IntentId]) -> Loaded:
        """See the port."""
        return await self._db.run(lambda c: intents.load(c, ids))

    async def session(self, session_key: str) -> SessionRow | None:
        """See the port."""
        return await self._db.run(lambda c: lookup.find(c, session_key))

    async def session_by_id(self, session: SessionId) -> SessionRow | None:
        """See the port."""
        return await self._db.run(lambda c: lookup.find_by_id(c, session))

    async def history(self, session: SessionId) -> tuple[TranscriptLine, ...]:
        """See the port."""
        return _lines(
            await self._rows(
                "SELECT role, text, ref, partial, at FROM transcript WHERE session_id = ? ORDER BY n", session
            )
        )

    async def transcript(self, session_key: str) -> tuple[TranscriptLine, ...]:
        """See the port."""
        rows = await self._rows(
            "SELECT t.role, t.text, t.ref, t.partial, t.at FROM transcript t JOIN session_map s USING (session_id)"
            " WHERE s.session_key = ? ORDER BY t.n",
            session_key,
        )
        return _lines(rows)

    async def due_mirrors(self) -> tuple[IntentRow, ...]:
        """See the port."""
        return await self._db.run(intents.due_mirrors)

    async def untold(self, after: int, limit: int) -> tuple[tuple[int, IntentRow, IntentFate], ...]:
        """See the port."""
        return await self._db.run(lambda c: intents.untold(c, after, limit))

    async def list_intents(self, which: Filter, *, after: int = 0, limit: int = 100) -> tuple[QueueRow, ...]:
        """See the port."""
        return await self._db.run(lambda c: operate.list_intents(c, which, after=after, limit=limit))

    async def show_intent(self, intent: str) -> Shown:
        """See the port."""
        return await self._db.run(lambda c: operate.show(c, intent))

    async def nudges_wait(self) -> bool:
        """See the port."""
        return bool(await self._rows("SELECT 1 FROM nudges LIMIT 1"))

    async def find_send(self, key: str) -> SendRow | None:
        """See the port."""
        return await self._db.run(lambda c: intents.find_send(c, key))

    async def intent_fate(self, intent: IntentId) -> IntentFate | None:
        """See the port."""
        return await self._db.run(lambda c: intents.find_fate(c, intent))

    async def intent_state(self, intent: IntentId) -> IntentState | None:
        """See the port."""
        rows = await self._rows("SELECT state FROM intents WHERE id = ?", intent)
        return IntentState(rows[0][0]) if rows else None

    async def find_inbound(self, identity: str) -> InboundId | None:
        """See the port."""
        rows = await self._rows("SELECT id FROM inbox WHERE identity = ?", identity)
        return InboundId(rows[0][0]) if rows else None


def _place(row: tuple[int, str, bytes]) -> Address:
    """Where an open intent goes. One whose place cannot be read has a lane of its own, and is set aside there."""
    try:
        return _address(row[2])
    except ValueError:
        return Address(channel="", account="", kind=ChatKind.DIRECT, conversation=row[1])


def _lines(rows: Sequence[tuple[Any, ...]]) -> tuple[TranscriptLine, ...]:
    return tuple(TranscriptLine(role=r[0], text=r[1], ref=r[2], partial=bool(r[3]), at=r[4]) for r in rows)
