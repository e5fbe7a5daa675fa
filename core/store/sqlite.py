"""The SQLite store: the port's verbs over one connection and one writer. It is the default store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import anyio
import msgspec

from core.events import EventSink
from core.hands.states import DelegationState
from core.keys import Migration, StoredKey
from core.reasons import Reason
from core.store import lookup, ops, rekey, sessions
from core.store.db import Db
from core.store.migrate import migrate
from core.store.rows import (
    Admission,
    DelegationRow,
    Finish,
    IntentFate,
    IntentRow,
    NewSession,
    Reset,
    SendRow,
    SessionRow,
    Settled,
    TranscriptLine,
    Unfinished,
    Work,
)
from core.store.writer import Writer
from core.values import (
    Address,
    DelegationId,
    HandResult,
    InboundId,
    IntentId,
    IntentKind,
    IntentState,
    Receipt,
    SessionId,
    TurnId,
)

T = TypeVar("T")
_work = msgspec.json.Decoder(Work).decode
_address = msgspec.json.Decoder(Address).decode
_texts = msgspec.json.Decoder(tuple[str, ...]).decode
_receipts = msgspec.json.Decoder(tuple[Receipt, ...]).decode


class SqliteStore:
    """`core.store.port.Store` over SQLite. `connect` makes the connection; `events` hears of refused writes."""

    def __init__(self, connect: Callable[[], Db], events: EventSink) -> None:
        self._db = connect()
        self._writer = Writer(self._db, events)

    @property
    def commits(self) -> int:
        """Transactions committed by this process."""
        return self._writer.commits

    async def open(self) -> None:
        """Open and migrate."""
        try:
            with anyio.CancelScope(shield=True):
                # Short; and a connection that came to be while nobody waited for it would never be closed.
                await self._db
            await self._db.run(migrate)
        except BaseException:
            # The connection's thread would keep the process from ending, or speak to a loop that is gone.
            with anyio.CancelScope(shield=True):
                await self._db.shut()
            raise

    async def close(self) -> None:
        """Close the connection."""
        await self._db.close()

    async def run(self) -> None:
        """Run the writer."""
        await self._writer.run()

    async def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return await self._db.run(lambda c: c.execute(sql, values).fetchall())

    # ------------------------------------------------------------ verbs

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
        """See the port."""
        return await self._writer.write(lambda c: ops.admit(c, work, identity, session, now), story, then)

    async def finish_turn(
        self,
        work: Work,
        intents: Sequence[IntentRow],
        now: float,
        story: Callable[[tuple[IntentId, ...]], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """See the port."""
        return await self._writer.write(lambda c: ops.finish_turn(c, work, intents, now), story, then)

    async def enqueue(
        self, intent: IntentRow, now: float, story: Callable[[bool], T], *, then: Callable[[T], None] | None = None
    ) -> T:
        """See the port."""
        return await self._writer.write(lambda c: ops.enqueue(c, intent, now), story, then)

    async def mark_sending(self, intent: IntentRow, now: float) -> None:
        """See the port."""
        await self._writer.write(lambda c: ops.mark_sending(c, intent, now), _same)

    async def ack_chunk(
        self, intent: IntentRow, receipt: Receipt, mirror: NewSession | None, now: float, story: Callable[[Settled], T]
    ) -> T:
        """See the port."""
        return await self._writer.write(lambda c: ops.ack_chunk(c, intent, receipt, mirror, now), story)

    async def defer(
        self, intent: IntentRow, next_at: float, reason: Reason, now: float, story: Callable[[None], T]
    ) -> T:
        """See the port."""
        return await self._writer.write(lambda c: ops.defer(c, intent, next_at, reason, now), story)

    async def end_intent(
        self,
        intent: IntentRow,
        state: IntentState,
        reason: Reason,
        mirror: NewSession | None,
        now: float,
        story: Callable[[Settled], T],
    ) -> T:
        """See the port."""
        return await self._writer.write(lambda c: ops.end_intent(c, intent, state, reason, mirror, now), story)

    async def accept_delegation(self, row: DelegationRow, story: Callable[[bool], T]) -> T:
        """See the port."""
        return await self._writer.write(lambda c: ops.accept_delegation(c, row), story)

    async def start_delegation(self, delegation: DelegationId) -> None:
        """See the port."""
        await self._writer.write(lambda c: ops.start_delegation(c, delegation), _same)

    async def finish_delegation(
        self,
        delegation: DelegationId,
        result: HandResult,
        callback: tuple[Work, str, NewSession] | None,
        intents: Sequence[IntentRow],
        now: float,
        story: Callable[[Finish], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """See the port."""
        return await self._writer.write(
            lambda c: ops.finish_delegation(c, delegation, result, callback, intents, now), story, then
        )

    async def ensure_session(self, session: NewSession, now: float, story: Callable[[SessionRow], T]) -> T:
        """See the port."""
        return await self._writer.write(lambda c: sessions.ensure_session(c, session, now), story)

    async def reset_session(self, session: NewSession, now: float, story: Callable[[Reset | None], T]) -> T:
        """See the port."""
        return await self._writer.write(lambda c: sessions.reset_session(c, session, now), story)

    async def migrate_keys(
        self,
        codec: str,
        plan: Callable[[Sequence[StoredKey]], Migration],
        now: float,
        story: Callable[[Migration | None], T],
    ) -> T:
        """See the port."""
        return await self._writer.write(lambda c: rekey.migrate_keys(c, codec, plan, now), story)

    async def misplace(
        self, intent: IntentRow, receipt: Receipt, mirror: NewSession | None, now: float, story: Callable[[Settled], T]
    ) -> T:
        """See the port."""
        return await self._writer.write(lambda c: ops.misplace(c, intent, receipt, mirror, now), story)

    async def begin_send(
        self,
        send: SendRow,
        intent: IntentRow,
        now: float,
        story: Callable[[bool], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """See the port."""
        return await self._writer.write(lambda c: ops.begin_send(c, send, intent, now), story, then)

    # ------------------------------------------------------------ reads

    async def unfinished(self) -> Unfinished:
        """See the port."""
        works = await self._rows("SELECT work, session_id FROM inbox WHERE state = 'pending' ORDER BY n")
        intents = await self._rows(
            "SELECT id, kind, state, address, chunks, acked, attempts, agent_id, mirror_key, turn_id, inbound_id,"
            " delegation_id, reply_to, open_on, created_at, next_at, reason, session_id, named_session, media"
            " FROM intents"
            " WHERE state IN ('prepared', 'sending') ORDER BY n"
        )
        delegations = await self._rows(
            "SELECT id, state, hand, task, agent_id, session_key, turn_id, inbound_id, origin, accepted_at,"
            " session_id FROM delegations WHERE state IN ('accepted', 'running') ORDER BY n"
        )
        return Unfinished(
            works=tuple((_work(row[0]), SessionId(row[1])) for row in works),
            intents=tuple(_intent(row) for row in intents),
            delegations=tuple(_delegation(row) for row in delegations),
        )

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

    async def find_send(self, key: str) -> SendRow | None:
        """See the port."""
        rows = await self._rows("SELECT intent_id, tries, session_key, channel FROM sends WHERE key = ?", key)
        if not rows:
            return None
        intent, tries, session_key, channel = rows[0]
        return SendRow(key=key, intent=IntentId(intent), tries=tries, session_key=session_key, channel=channel)

    async def intent_fate(self, intent: IntentId) -> IntentFate | None:
        """See the port."""
        rows = await self._rows("SELECT state, reason, receipts FROM intents WHERE id = ?", intent)
        if not rows:
            return None
        state, reason, receipts = rows[0]
        known = None if reason is None else Reason(reason)
        return IntentFate(state=IntentState(state), reason=known, receipts=_receipts(receipts))

    async def intent_state(self, intent: IntentId) -> IntentState | None:
        """See the port."""
        rows = await self._rows("SELECT state FROM intents WHERE id = ?", intent)
        return IntentState(rows[0][0]) if rows else None

    async def find_inbound(self, identity: str) -> InboundId | None:
        """See the port."""
        rows = await self._rows("SELECT id FROM inbox WHERE identity = ?", identity)
        return InboundId(rows[0][0]) if rows else None


def _lines(rows: Sequence[tuple[Any, ...]]) -> tuple[TranscriptLine, ...]:
    return tuple(TranscriptLine(role=r[0], text=r[1], ref=r[2], partial=bool(r[3]), at=r[4]) for r in rows)


def _same(answer: Any) -> Any:
    return answer


def _intent(row: tuple[Any, ...]) -> IntentRow:
    return IntentRow(
        id=IntentId(row[0]),
        kind=IntentKind(row[1]),
        state=IntentState(row[2]),
        address=_address(row[3]),
        chunks=_texts(row[4]),
        acked=row[5],
        attempts=row[6],
        agent=row[7],
        mirror_key=row[8],
        turn=None if row[9] is None else TurnId(row[9]),
        inbound=None if row[10] is None else InboundId(row[10]),
        delegation=None if row[11] is None else DelegationId(row[11]),
        reply_to=row[12],
        open_on=row[13],
        created_at=row[14],
        next_at=row[15],
        reason=None if row[16] is None else Reason(row[16]),
        session=None if row[17] is None else SessionId(row[17]),
        named_session=bool(row[18]),
        media=_texts(row[19]),
    )


def _delegation(row: tuple[Any, ...]) -> DelegationRow:
    return DelegationRow(
        id=DelegationId(row[0]),
        state=DelegationState(row[1]),
        hand=row[2],
        task=row[3],
        agent=row[4],
        session_key=row[5],
        turn=TurnId(row[6]),
        inbound=InboundId(row[7]),
        origin=None if row[8] is None else _address(row[8]),
        accepted_at=row[9],
        session=None if row[10] is None else SessionId(row[10]),
    )
