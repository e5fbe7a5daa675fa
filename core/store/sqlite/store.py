"""The SQLite store: the port's verbs over one connection and one writer. It is the default store."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import anyio

from trunkline.core.errors import LeaseLost, StoreError
from trunkline.core.events import EventSink
from trunkline.core.events.leases import LeaseGone as LeaseWasLost
from trunkline.core.keys import Migration, StoredKey
from trunkline.core.reasons import Reason
from trunkline.core.store.records import (
    Admission,
    Begun,
    DelegationRow,
    Finish,
    IntentRow,
    NewSession,
    Reset,
    SendRow,
    SessionRow,
    Settled,
    Unfinished,
    Work,
)
from trunkline.core.store.sqlite import lease
from trunkline.core.store.sqlite.binding_store import BindingVerbs
from trunkline.core.store.sqlite.connection import Db
from trunkline.core.store.sqlite.group_commit import Writer
from trunkline.core.store.sqlite.lease import Claim
from trunkline.core.store.sqlite.migrate import check_ours, migrate
from trunkline.core.store.sqlite.queries import SqliteReads
from trunkline.core.store.sqlite.sql import bulk_writes as bulk
from trunkline.core.store.sqlite.sql import queue_admin as operate
from trunkline.core.store.sqlite.sql import session_moves as rekey
from trunkline.core.store.sqlite.sql import sessions
from trunkline.core.store.sqlite.sql import unfinished as leftover
from trunkline.core.store.sqlite.sql import writes as ops
from trunkline.core.store.sqlite.sql.queue_admin import Filter, Nudge, Pruned, Verdict
from trunkline.core.values import (
    DelegationId,
    HandResult,
    IntentId,
    IntentState,
    Receipt,
)

T = TypeVar("T")


class SqliteStore(SqliteReads, BindingVerbs):
    """`core.store.port.Store` over SQLite. `connect` makes the connection; `events` hears of refused writes."""

    def __init__(self, connect: Callable[[], Db], events: EventSink) -> None:
        super().__init__(connect())
        self._events = events
        self._writer = Writer(self._db, events)
        self._lost = False

    @property
    def commits(self) -> int:
        """Transactions committed by this process."""
        return self._writer.commits

    async def open(self) -> None:
        """Open, and migrate what nobody works."""
        try:
            with anyio.CancelScope(shield=True):
                # Short; and a connection that came to be while nobody waited for it would never be closed.
                await self._db
            await self._db.run(_migrate_unless_held)
        except BaseException:
            # The connection's thread would keep the process from ending, or speak to a loop that is gone.
            with anyio.CancelScope(shield=True):
                await self._db.shut()
            raise

    async def close(self) -> None:
        """Give a claimed store back, and close the connection."""
        token = self._db.token
        try:
            if token is not None and not self._lost:
                # One that cannot be written to any more is taken from whoever has no lock on it.
                with contextlib.suppress(sqlite3.Error, ValueError):
                    await self._db.run(lambda c: lease.release(c, token))
        finally:
            # Only now: who gets the lock takes over at once.
            self._db.presence.drop()
            await self._db.close()

    async def run(self) -> None:
        """Run the writer."""
        try:
            await self._writer.run()
        except LeaseLost:
            self._tell_lost()
            raise

    # ------------------------------------------------------------ the lease

    async def claim(self, now: float, lasts: float) -> Claim:
        """See the port."""
        presence = self._db.presence

        def look(c: sqlite3.Connection) -> Claim:
            # Whoever held it meanwhile may have been of a newer version.
            check_ours(c)
            return lease.look(c, presence, now, lasts)

        found = await self._db.run(look)
        if not found.taken:
            return found
        claim = await self._writer.write(lambda c: lease.claim(c, presence, now, lasts), self._hold)
        if claim.taken:
            # Only now: whoever held it before, frozen perhaps, is shut out.
            await self._db.run(migrate)
        return claim

    def _hold(self, claim: Claim) -> Claim:
        # By the thread that committed: also when nobody waits for it any more.
        if claim.taken:
            self._db.token = claim.lease.token
        return claim

    async def renew(self, now: float, lasts: float) -> None:
        """See the port. It is one statement by itself: it need not wait for company, and nobody waits for it."""
        presence, token = self._db.presence, self._db.token
        assert token is not None
        try:
            kept = await self._db.run(lambda c: lease.renew(c, presence, token, now + lasts))
        except sqlite3.OperationalError as error:
            raise StoreError(str(error)) from error
        if not kept:
            self._tell_lost()
            raise LeaseLost(f"its token was {token}")

    def _tell_lost(self) -> None:
        if not self._lost:
            self._lost = True
            body = LeaseWasLost(owner=self._db.presence.name, token=self._db.token or 0, reason=Reason.LEASE_HELD)
            self._events.record(body)

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
        """See the port."""
        return await self._writer.write(
            lambda c: ops.ack_chunk(c, intent, receipt, mirror, now, mirror_due=mirror_due), story, then
        )

    def settle(
        self,
        intent: IntentRow,
        receipt: Receipt,
        mirror: NewSession | None,
        now: float,
        story: Callable[[Settled], T],
        *,
        then: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """See the port."""
        many = given = None
        if intent.binding is None:
            many, given = bulk.ack_last, bulk.Acking(intent, receipt, mirror, now)
        self._writer.submit(lambda c: ops.ack_chunk(c, intent, receipt, mirror, now), story, then, failed, many, given)

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
        *,
        mirror_due: bool = False,
        notice: IntentRow | None = None,
    ) -> T:
        """See the port."""
        return await self._writer.write(
            lambda c: ops.end_intent(c, intent, state, reason, mirror, now, mirror_due=mirror_due, notice=notice), story
        )

    async def mirror_now(self, intent: IntentRow, mirror: NewSession, now: float, story: Callable[[Settled], T]) -> T:
        """See the port."""
        return await self._writer.write(lambda c: ops.mirror_now(c, intent, mirror, now), story)

    async def mark_told(self, intent: IntentId, story: Callable[[bool], T]) -> T:
        """See the port."""
        return await self._writer.write(lambda c: ops.mark_told(c, intent), story)

    def note_told(self, intent: IntentId, story: Callable[[bool], None]) -> None:
        """See the port."""
        many = bulk.mark_told
        self._writer.submit(
            lambda c: ops.mark_told(c, intent), story, _nothing, _untold_again, many, intent, urgent=False
        )

    async def bury(
        self, intent: IntentId, state: IntentState, reason: Reason, now: float, story: Callable[[None], T]
    ) -> T:
        """See the port."""
        return await self._writer.write(lambda c: ops.bury(c, intent, state, reason, now), story)

    async def set_aside(self, left: Unfinished, now: float, story: Callable[[None], T]) -> T:
        """See the port."""
        return await self._writer.write(lambda c: leftover.set_aside(c, left, now), story)

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
        kept: bool = False,
    ) -> T:
        """See the port."""
        return await self._writer.write(
            lambda c: ops.finish_delegation(c, delegation, result, callback, intents, now, kept=kept), story, then
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
        entry: NewSession | None,
        again: Callable[[IntentState], bool],
        now: float,
        story: Callable[[Begun], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """See the port."""
        given = bulk.Sending(send, intent, now, entry)
        return await self._writer.write(
            lambda c: ops.begin_send(c, send, intent, entry, again, now), story, then, bulk.begin_sends, given
        )

    # ------------------------------------------------------------ operators, and keeping the store in order

    async def retry_intent(self, intent: str, now: float) -> None:
        """See the port."""
        await self._writer.write(lambda c: operate.retry(c, intent, now), _same)

    async def resolve_intent(self, intent: str, verdict: Verdict, now: float, *, provider_id: str = "") -> None:
        """See the port."""
        await self._writer.write(lambda c: operate.resolve(c, intent, verdict, now, provider_id=provider_id), _same)

    async def purge_intents(self, which: Filter, story: Callable[[int], T]) -> T:
        """See the port."""
        return await self._writer.write(lambda c: operate.purge(c, which), story)

    async def nudged(self, story: Callable[[tuple[Nudge, ...]], T]) -> T:
        """See the port."""
        return await self._writer.write(operate.nudged, story)

    async def prune(self, cutoff: float, story: Callable[[Pruned], T]) -> T:
        """See the port."""
        return await self._writer.write(lambda c: operate.prune(c, cutoff), story)


def _migrate_unless_held(c: sqlite3.Connection) -> None:
    """Bring a store up to date. One that another process has is changed by whoever takes it over, and not before."""
    check_ours(c)
    if not lease.is_held(c):
        migrate(c)


def _nothing(_: None) -> None: ...


def _untold_again(_: Exception) -> None:
    """Nothing is lost: whoever is still marked as untold is told at the next start."""


def _same(answer: Any) -> Any:
    return answer
