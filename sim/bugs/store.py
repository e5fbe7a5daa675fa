"""Stores with defects: the real one, with one verb done as real gateways did it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from trunkline.core.keys import Migration, StoredKey
from trunkline.core.store import SqliteStore
from trunkline.core.store.records import Admission, DelegationRow, IntentRow, NewSession, SessionRow, Settled, Work
from trunkline.core.store.sqlite.sql import writes as ops
from trunkline.core.values import IntentId, Receipt, SessionId
from trunkline.sim.run.wiring import Wiring

T = TypeVar("T")
_COLUMNS = "session_key, agent_id, session_id, generation, address, entry, codec, created_at, updated_at"


def _lose(c: sqlite3.Connection, where: str, *values: object) -> None:
    """Sessions that no key leads to any more; their ids are never given again."""
    gone = f"SELECT session_id, session_key, generation, 'lost', 0 FROM session_map {where}"  # noqa: S608
    c.execute(f"INSERT OR IGNORE INTO session_history {gone}", values)
    c.execute(f"DELETE FROM session_map {where}", values)  # noqa: S608


class UnmigratedStore(SqliteStore):
    """Takes stored keys as they are, whatever wrote them."""

    async def migrate_keys(
        self,
        codec: str,
        plan: Callable[[Sequence[StoredKey]], Migration],
        now: float,
        story: Callable[[Migration | None], T],
    ) -> T:
        """Nothing is looked at."""
        return story(None)


class ForgetfulStore(SqliteStore):
    """Looks for the new key exactly, and knows nothing of the one that the place had before."""

    async def admit(
        self,
        work: Work,
        identity: str,
        session: NewSession,
        now: float,
        story: Callable[[Admission], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """Without the place."""
        exact = msgspec.structs.replace(session, key_of=None)
        return await super().admit(work, identity, exact, now, story, then=then)


class ForkingStore(SqliteStore):
    """Looks whether there is a session, and then, in another step, creates one."""

    async def admit(
        self,
        work: Work,
        identity: str,
        session: NewSession,
        now: float,
        story: Callable[[Admission], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """What was seen before decides; the last one who creates wins."""
        missing = await self.session(session.key) is None

        def write(c: sqlite3.Connection) -> Admission:
            if missing:
                _lose(c, "WHERE session_key = ?", session.key)
            return ops.admit(c, work, identity, session, now)

        return await self._writer.write(write, story, then)


class SnapshotStore(SqliteStore):
    """Reads the whole session map when a turn begins to end, and writes it back whole."""

    _snapshot: list[tuple[Any, ...]] | None = None

    async def admit(
        self,
        work: Work,
        identity: str,
        session: NewSession,
        now: float,
        story: Callable[[Admission], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """The first message takes the snapshot that every turn will write back."""
        if self._snapshot is None:
            self._snapshot = await self._rows(f"SELECT {_COLUMNS} FROM session_map")  # noqa: S608 -- the text above
        return await super().admit(work, identity, session, now, story, then=then)

    async def finish_turn(
        self,
        work: Work,
        intents: Sequence[IntentRow],
        now: float,
        story: Callable[[tuple[IntentId, ...]], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """What others wrote since the snapshot is gone; the turn's own entry is computed anew."""
        snapshot = self._snapshot or []
        self._snapshot = None

        def write(c: sqlite3.Connection) -> tuple[IntentId, ...]:
            own = c.execute(
                f"SELECT {_COLUMNS} FROM session_map WHERE session_key = ?",  # noqa: S608
                (work.session_key,),
            ).fetchall()
            _lose(c, "")
            marks = ", ".join("?" * len(_COLUMNS.split(",")))
            rows = f"INSERT OR REPLACE INTO session_map ({_COLUMNS}) VALUES ({marks})"  # noqa: S608
            c.executemany(rows, [*snapshot, *own])
            return ops.finish_turn(c, work, intents, now)

        return await self._writer.write(write, story, then)


class UnfencedStore(SqliteStore):
    """A delegation belongs to the key of its requester, whichever session has it."""

    async def session_by_id(self, session: SessionId) -> SessionRow | None:
        """The one that has the key now, where that session was reset."""
        found = await super().session_by_id(session)
        rows = await self._rows("SELECT session_key FROM session_history WHERE session_id = ?", session)
        return await self.session(rows[0][0]) if found is None and rows else found

    async def accept_delegation(self, row: DelegationRow, story: Callable[[bool], T]) -> T:
        """Without the session."""
        return await super().accept_delegation(msgspec.structs.replace(row, session=None), story)


class LoggingStore(SqliteStore):
    """A transcript line that is refused when its receipt comes is not kept for later."""

    async def ack_chunk(
        self,
        intent: IntentRow,
        receipt: Receipt,
        mirror: NewSession | None,
        now: float,
        story: Callable[[Settled], T],
        *,
        then: Callable[[T], None] | None = None,
        mirror_due: bool = False,
    ) -> T:
        """The receipt is all that is stored."""
        return await super().ack_chunk(intent, receipt, mirror, now, story, then=then)


def keeping(store: type[SqliteStore]) -> Callable[[Wiring], None]:
    """An installer that gives the process such a store."""

    def install(wiring: Wiring) -> None:
        wiring.make_store = store

    return install
