"""Group commit: one writer; the writes that arrive during a commit share the next transaction.

The theory
==========

A commit is durable when the disk says so, which takes as long for one write as for a hundred. A message needs three
commits. So the throughput of a gateway is the number of writes that share a commit, times the commits that the disk can
make; and its latency is one commit, if nothing waits for anything else.

The rule follows from this: *while one batch is being committed, everything that arrives goes into the next one*. When
the disk is slow, batches grow by themselves; when nothing else is going on, a batch is one write, and it is committed
at once. There is no timer and no target size, since either would only add latency.

The way of a write
------------------

1. A caller hands over a command with two functions (`write`, or `submit` for a caller that does not wait). The command
   goes to the end of the open batch. The first one of a batch wakes the writer.
2. The writer closes the batch and opens the next one. It crosses to the connection's thread once for the whole batch:
   that costs more than a statement.
3. In that thread: begin, compare the fencing token, run the handler of each command in order, commit. Where many
   commands of one type come together, one bulk handler does them all (`connection.py`, `sql/bulk_writes.py`).
4. In that thread still, in the same order: the *story* of each write, which records its events. So what is durable is
   in the log in the order in which it became durable, before anybody can act on it.
5. Back on the loop: the callers are made ready, and then, before any of them runs, the *then* of each write is called
   in the same order. It queues what follows: a turn, a delivery, the next head of a lane.

So there is one order, and everything has it: commands, events, and what they cause. The order in which callers wake is
left to the loop, and means nothing. A caller may even be gone: a cancelled one has its command committed, recorded and
followed up anyway. That is why what must happen after a write belongs into its ``then``, and never behind the
``await`` of it.

What can wait
-------------

A write waits for no others to join it: with a thousand callers that saved half of the commits, and cost a third of the
time until a message was durable. Only a batch of writes that are not *urgent* waits for others to share its commit, a
few turns of the loop: nobody awaits them, and after a crash they are made again (that hooks were notified).

When a write fails
------------------

- *By its own fault* (`FailedWrite`): a broken constraint, an illegal transition, a bad statement. The transaction is
  undone and its writes run one by one, each in a transaction of its own, so only the bad one fails. Its caller gets the
  error, or its ``failed``, if it was submitted.
- *Because the database refuses everything* (disk full, I/O error, locked, no memory): no caller gets an error. The
  writer records `store.failed`, waits, and tries the same batch again, for as long as it takes. Until then nothing is
  acknowledged, so platforms keep what they have sent.
- *Because nothing more may be stored*: another process holds the store (`LeaseLost`), or the file is damaged or gone
  (`StoreDamaged`, `StoreGone`; `store.py` looks after it). The writer ends with the error.

When the writer ends, for whatever reason, waiting callers get a `StoreError`. It does not say that nothing was stored:
the last transaction may have been committed. Only the next start knows, and every command is made so that its
repetition finds what is there.

What to keep in mind
--------------------

- Reads go through the same connection and the same thread, so a read that begins after a write has returned sees it.
- A story and a handler run in the connection's thread. They touch the log and the connection, and nothing of the loop.
- A handler that needs to look before it writes does so in its transaction, not in its caller: between the two, others
  commit.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel

from trunkline.core.errors import LeaseLost, StoreError
from trunkline.core.events import EventSink
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.reasons import Reason
from trunkline.core.store.commands import Write
from trunkline.core.store.sqlite.connection import Db, FailedWrite, PendingWrite, pending

_RETRY_FIRST = 0.05
_RETRY_LAST = 5.0
#: turns of the loop for which a batch waits that has nothing urgent. With 0 a conversation makes two commits a message,
#: for a third to a half more CPU; with many conversations both make the same commits, of 1, 10, 100 and 1,000 callers
_TURNS = 4


class _Batch:
    __slots__ = ("answers", "done", "urgent", "waiting", "writes")

    def __init__(self) -> None:
        self.writes: list[PendingWrite] = []
        self.answers: list[Any] = []
        #: it commits as soon as the writer is free
        self.urgent = False
        self.done = False
        #: one future per waiting caller: far cheaper than an event of anyio
        self.waiting: list[asyncio.Future[None]] = []

    def finish(self) -> None:
        """Make all waiting callers ready. The future of one that was cancelled during the commit is done already."""
        self.done = True
        for future in self.waiting:
            if not future.done():
                future.set_result(None)


class Writer:
    def __init__(self, db: Db, events: EventSink) -> None:
        self._db = db
        self._events = events
        self._batch = _Batch()
        self._wake = anyio.Semaphore(0)
        self._committing: _Batch | None = None
        #: why the writer has ended; none while it runs
        self.ended: StoreError | None = None
        #: why the last transaction was refused, which is tried again; empty: it was committed
        self.refusal = ""
        self.commits = 0

    async def write(
        self, command: Write[Any], story: Callable[[Any], Any], then: Callable[[Any], None] | None = None
    ) -> Any:
        """See `core.store.port.Store.write`. `then` is called before any waiting caller resumes."""
        ended = self.ended
        if ended is not None:
            # A caller that is cancelled together with the writer ends as cancelled, and not with an error.
            await anyio.lowlevel.checkpoint_if_cancelled()
            raise ended
        batch = self._batch
        batch.urgent = True
        place = len(batch.writes)
        batch.writes.append(pending(command, story, then))
        if place == 0:
            self._wake.release()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        batch.waiting.append(future)
        await future
        answer = batch.answers[place]
        if isinstance(answer, FailedWrite):
            if answer.error is self.ended:
                await anyio.lowlevel.checkpoint_if_cancelled()
            raise answer.error
        return answer

    def submit(
        self,
        command: Write[Any],
        story: Callable[[Any], Any],
        then: Callable[[Any], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
        *,
        urgent: bool = True,
    ) -> None:
        """See `core.store.port.Store.submit`.

        Raises `LeaseLost` when another process holds the store. Nothing is called once the gateway has ended.
        """
        if isinstance(self.ended, LeaseLost):
            raise self.ended
        if self.ended is not None:
            return
        if urgent:
            self._batch.urgent = True
        writes = self._batch.writes
        writes.append(pending(command, story, then, failed))
        if len(writes) == 1:
            self._wake.release()

    def end(self, error: StoreError) -> None:
        """Refuse all further writes with an error, which `run` raises after the batch that is being committed."""
        if self.ended is None:
            self.ended = error
            self._wake.release()

    async def run(self) -> None:
        """Commit batch after batch. Raises `LeaseLost` once another process holds the store, and the error of `end`.

        When it ends, for any reason, waiting callers get a `StoreError`.
        """
        ended: StoreError = StoreError("the gateway has ended: whether this was stored is known after its next start")
        try:
            while True:
                await self._wake.acquire()
                if self.ended is not None:
                    raise self.ended
                await self._next_batch()
        except StoreError as error:
            ended = error
            raise
        finally:
            self.ended = ended
            for batch in (self._committing, self._batch):
                if batch is not None and not batch.done:
                    batch.answers = [FailedWrite(ended)] * len(batch.writes)
                    batch.finish()

    async def _next_batch(self) -> None:
        await self._gather()
        batch = self._committing = self._batch
        self._batch = _Batch()
        batch.answers = await self._commit(batch.writes)
        self.refusal = ""
        self.commits += 1
        # Waiting callers become ready now: they resume after this method, but before tasks that `then` starts.
        batch.finish()
        for write, answer in zip(batch.writes, batch.answers, strict=True):
            if isinstance(answer, FailedWrite):
                if write.failed is not None:
                    write.failed(answer.error)
            elif write.then is not None:
                write.then(answer)
        # Else an idle writer would keep its last batch in memory.
        self._committing = None

    async def _gather(self) -> None:
        """Wait a few turns of the loop until a batch that is not urgent has become so."""
        for _ in range(_TURNS):
            if self._batch.urgent:
                return
            await anyio.lowlevel.checkpoint()

    async def _commit(self, writes: list[PendingWrite]) -> list[Any]:
        """Commit; retry while the database refuses everything."""
        wait = _RETRY_FIRST
        answers: list[Any] = []
        while True:
            try:
                answers += await self._db.transact(writes[len(answers) :])
                if len(answers) == len(writes):
                    return answers
                continue
            except (sqlite3.OperationalError, MemoryError) as error:
                self.refusal = str(error) or "out of memory"
                self._events.record(StoreFailed(reason=Reason.STORE_ERROR, error=self.refusal, retry_in=wait))
            except ValueError as error:
                if "connection" not in str(error).lower():
                    raise
                raise StoreError(f"the connection is closed ({error})") from error
            await anyio.sleep(wait)
            if self.ended is not None:
                raise self.ended
            wait = min(wait * 2, _RETRY_LAST)
