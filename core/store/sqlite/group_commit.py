"""Group commit: one writer; what is ready while the last commit ran shares the next transaction.

No timer and no target size: waiting for company would only add latency (`docs/architecture.md`, "Group commit").
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel

from trunkline.core.errors import LeaseLost, StoreError
from trunkline.core.events import EventSink
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.reasons import Reason
from trunkline.core.store.sqlite.connection import Db, Failed, Op, Write

_RETRY_FIRST = 0.05
_RETRY_LAST = 5.0
#: so many writes at once may be followed by others, for which the writer lets so many turns of the loop pass
_MANY = 16
_TURNS = 4


class _Batch:
    __slots__ = ("answers", "done", "urgent", "writes")

    def __init__(self) -> None:
        self.writes: list[Write] = []
        self.answers: list[Any] = []
        #: somebody waits for one of the writes
        self.urgent = False
        self.done = anyio.Event()


class Writer:
    """Takes writes from any task and commits them in groups."""

    def __init__(self, db: Db, events: EventSink) -> None:
        self._db = db
        self._events = events
        self._batch = _Batch()
        self._wake = anyio.Semaphore(0)
        self._committing: _Batch | None = None
        #: why nothing is written any more
        self._ended: StoreError | None = None
        #: transactions committed
        self.commits = 0

    @property
    def ended(self) -> StoreError | None:
        """Why nothing is written any more; none while it is."""
        return self._ended

    async def write(
        self,
        op: Op,
        story: Callable[[Any], Any],
        then: Callable[[Any], None] | None = None,
        bulk: Any = None,
        given: Any = None,
    ) -> Any:
        """Have a write committed; returns what its story returned. Raises what the write itself raised.

        `then` is called with that answer in the order of the commits, before anybody who waits goes on. For `bulk` and
        `given` see `trunkline.core.store.sqlite.connection.Write`.
        """
        if self._ended is not None:
            # Whoever is cancelled together with the writer ends so, and not with an error.
            await anyio.lowlevel.checkpoint_if_cancelled()
            raise self._ended
        batch = self._batch
        batch.urgent = True
        place = len(batch.writes)
        batch.writes.append(Write(op, story, then, None, bulk, given))
        if place == 0:
            self._wake.release()
        await batch.done.wait()
        answer = batch.answers[place]
        if isinstance(answer, Failed):
            if answer.error is self.ended:
                await anyio.lowlevel.checkpoint_if_cancelled()
            raise answer.error
        return answer

    def submit(
        self,
        op: Op,
        story: Callable[[Any], Any],
        then: Callable[[Any], None],
        failed: Callable[[Exception], None],
        bulk: Any = None,
        given: Any = None,
        *,
        urgent: bool = True,
    ) -> None:
        """Have a write committed without waiting for it: `then` is called as in `write`, or `failed` with its error.

        One that is not `urgent` lets others of the same moment come first, and goes with them.
        Raises `LeaseLost` when another process holds the store. Nothing is called once the gateway has ended.
        """
        if isinstance(self._ended, LeaseLost):
            raise self._ended
        if self._ended is not None:
            return
        if urgent:
            self._batch.urgent = True
        writes = self._batch.writes
        writes.append(Write(op, story, then, failed, bulk, given))
        if len(writes) == 1:
            self._wake.release()

    async def run(self) -> None:
        """Commit batch after batch, until another process holds the store: raises `LeaseLost` then.

        Whoever waits when it ends, for whatever reason, gets a `StoreError`: nobody will commit for them any more.
        """
        ended: StoreError = StoreError("the gateway has ended: whether this was stored is known after its next start")
        try:
            while True:
                await self._wake.acquire()
                await self._next_batch()
        except LeaseLost as error:
            ended = error
            raise
        finally:
            self._ended = ended
            for batch in (self._committing, self._batch):
                if batch is not None and not batch.done.is_set():
                    batch.answers = [Failed(ended)] * len(batch.writes)
                    batch.done.set()

    async def _next_batch(self) -> None:
        await self._gather()
        batch = self._committing = self._batch
        self._batch = _Batch()
        batch.answers = await self._commit(batch.writes)
        self.commits += 1
        # It only makes them ready: they go on after this. But before what is set going now.
        batch.done.set()
        for write, answer in zip(batch.writes, batch.answers, strict=True):
            if isinstance(answer, Failed):
                if write.failed is not None:
                    write.failed(answer.error)
            elif write.then is not None:
                write.then(answer)
        # The last one of a busy hour would be kept until the next.
        self._committing = None

    async def _gather(self) -> None:
        """Where many come at once, let those add theirs whose turn has come already. A few do not wait for that.

        What nobody waits for looks for company in the same way, so that it does not keep the next write waiting.
        Otherwise half of what a commit has set going always misses the next one, and ends more slowly than it begins.
        """
        batch = self._batch
        for _ in range(_TURNS):
            size = len(batch.writes)
            if batch.urgent and size < _MANY:
                return
            await anyio.lowlevel.checkpoint()
            if batch.urgent and len(batch.writes) == size:
                return

    async def _commit(self, writes: list[Write]) -> list[Any]:
        """Commit, trying again for as long as the database refuses everything."""
        wait = _RETRY_FIRST
        answers: list[Any] = []
        while True:
            try:
                answers += await self._db.transact(writes[len(answers) :])
                if len(answers) == len(writes):
                    return answers
                continue
            except sqlite3.OperationalError as error:
                self._events.record(StoreFailed(reason=Reason.STORE_ERROR, error=str(error), retry_in=wait))
            except ValueError as error:
                if "connection" not in str(error).lower():
                    raise
                raise StoreError(f"the connection is closed ({error})") from error
            await anyio.sleep(wait)
            wait = min(wait * 2, _RETRY_LAST)
