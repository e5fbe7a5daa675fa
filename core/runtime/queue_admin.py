"""The queue for operators: the same changes for a gateway that runs and for a store file."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from trunkline.core.store.commands import PurgeIntents, ResolveIntent, RetryIntent
from trunkline.core.store.operators.queue import ChangeQueue, QueueChanges, check_purge, check_retry, joined
from trunkline.core.store.queries import CountPurgeable, ListIntents, Read, ShowIntent
from trunkline.core.store.queue_admin import BATCH, IntentDetails, PurgedBatch, QueueFilter, QueueRow, QueueVerdict
from trunkline.core.values import IntentState

A = TypeVar("A")
#: intents that one transaction reopens
_RETRIED = 100


class QueueAdmin(ABC):
    """Intents for operators. A subclass reads and writes them: in the process of the gateway, or in its file."""

    async def intents(self, which: QueueFilter, *, after: int = 0, limit: int = 100) -> tuple[QueueRow, ...]:
        return await self.read(ListIntents(which=which, after=after, limit=limit))

    async def show(self, intent: str) -> IntentDetails:
        """An intent with the receipts. Raises `UnknownName`, or `StoreError` for an unreadable row."""
        return await self.read(ShowIntent(intent=intent))

    async def retry(self, *intents: str) -> QueueChanges:
        """Retry ended intents, all or none. Raises `UnknownName` or `IllegalTransition`."""
        return await self._retry(tuple(dict.fromkeys(intents)))

    async def retry_all(self, which: QueueFilter) -> QueueChanges:
        """Retry all intents of these states that can be retried. Raises `IllegalTransition` for other states."""
        check_retry(which)
        found: list[QueueRow] = []
        while page := await self.intents(which, after=found[-1].n if found else 0, limit=BATCH):
            found += page
        done = QueueChanges(changes=())
        for start in range(0, len(found), _RETRIED):
            some = [row.id for row in found[start : start + _RETRIED]]
            done = joined(done, await self._retry(some, skip=True))
        return done

    async def _retry(self, intents: Sequence[str], *, skip: bool = False) -> QueueChanges:
        now = self.now()
        changes = tuple(RetryIntent(intent=intent, now=now) for intent in intents)
        return await self._change(ChangeQueue(changes=changes, skip=skip, now=now))

    async def resolve(self, intent: str, verdict: QueueVerdict, provider_id: str = "") -> QueueChanges:
        """Resolve a chunk in doubt. Raises `UnknownName` or `IllegalTransition`."""
        now = self.now()
        change = ResolveIntent(intent=intent, verdict=verdict, now=now, provider_id=provider_id)
        return await self._change(ChangeQueue(changes=(change,), now=now))

    async def purgeable(self, which: QueueFilter) -> dict[IntentState, int]:
        """How many intents `purge` would remove, by state. Raises `IllegalTransition` for open states."""
        check_purge(which)
        return await self.read(CountPurgeable(which=which))

    async def purge(self, which: QueueFilter) -> int:
        """Remove ended intents in batches; returns their number. Raises `IllegalTransition` for open states."""
        check_purge(which)
        total, progress = 0, 0
        while progress is not None:
            done = await self._remove(PurgeIntents(which=which, past=progress))
            total, progress = total + done.removed, done.progress
        return total

    @abstractmethod
    def now(self) -> float:
        """The time, on the gateway's clock."""

    @abstractmethod
    async def read(self, query: Read[A]) -> A:
        """Answer a query."""

    @abstractmethod
    async def _change(self, command: ChangeQueue) -> QueueChanges:
        """Commit changes, and have the gateway act."""

    @abstractmethod
    async def _remove(self, command: PurgeIntents) -> PurgedBatch:
        """Remove one batch, and have the gateway record that."""
