"""Group commit: one writer; what is ready while the last commit ran shares the next transaction.

No timer and no target size: waiting for company would only add latency (`docs/architecture.md`, "Group commit").
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import anyio

from core.errors import LeaseLost, StoreError
from core.events import EventSink
from core.events.bodies import StoreFailed
from core.reasons import Reason
from core.store.db import Db, Failed, Op, Write

_RETRY_FIRST = 0.05
_RETRY_LAST = 5.0


class _Batch:
    __slots__ = ("answers", "done", "writes")

    def __init__(self) -> None:
        self.writes: list[Write] = []
        self.answers: list[Any] = []
        self.done = anyio.Event()


class Writer:
    """Takes writes from any task and commits them in groups."""

    def __init__(self, db: Db, events: EventSink) -> None:
        self._db = db
        self._events = events
        self._batch = _Batch()
        self._wake = anyio.Semaphore(0)
        self._lost: LeaseLost | None = None
        #: transactions committed
        self.commits = 0

    async def write(self, op: Op, story: Callable[[Any], Any], then: Callable[[Any], None] | None = None) -> Any:
        """Have a write committed; returns what its story returned. Raises what the write itself raised.

        `then` is called with that answer in the order of the commits, before anybody who waits goes on.
        """
        if self._lost is not None:
            raise self._lost
        batch = self._batch
        place = len(batch.writes)
        batch.writes.append(Write(op, story, then))
        if place == 0:
            self._wake.release()
        await batch.done.wait()
        answer = batch.answers[place]
        if isinstance(answer, Failed):
            raise answer.error
        return answer

    async def run(self) -> None:
        """Commit batch after batch, until another process holds the store: raises `LeaseLost` then."""
        while True:
            await self._wake.acquire()
            batch, self._batch = self._batch, _Batch()
            try:
                batch.answers = await self._commit(batch.writes)
            except LeaseLost as error:
                self._lost = error
                for refused in (batch, self._batch):
                    refused.answers = [Failed(error)] * len(refused.writes)
                    refused.done.set()
                raise
            self.commits += 1
            for write, answer in zip(batch.writes, batch.answers, strict=True):
                if write.then is not None and not isinstance(answer, Failed):
                    write.then(answer)
            batch.done.set()

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
