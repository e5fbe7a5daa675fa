"""Background maintenance: applies operators' changes, stores refused transcript lines, and prunes old rows."""

from typing import TypeVar

import anyio

from trunkline.core.declared import filled
from trunkline.core.events.delivery import ChunkAcked, IntentReopened, IntentSettled, OperatorActed
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.events.hands import DelegationFinished
from trunkline.core.events.leases import StorePruned
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow, Unfinished
from trunkline.core.runtime.context import Context, ids_of, record_callback
from trunkline.core.runtime.deadlines import wait_at_most
from trunkline.core.runtime.delegation.posts import Posts
from trunkline.core.runtime.outbound.open_intents import OpenIntents
from trunkline.core.runtime.outbound.transcript_lines import TranscriptLines
from trunkline.core.runtime.queue_admin import QueueAdmin
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.states.intent import is_final
from trunkline.core.store import queue_admin
from trunkline.core.store.commands import Prune, PurgeIntents, SetAsideBroken, TakeNudges
from trunkline.core.store.operators.queue import ChangeQueue, QueueChanges
from trunkline.core.store.port import answer
from trunkline.core.store.queries import FindIntentFate, HasNudges, LoadIntents, Read
from trunkline.core.well_formed import well_formed

A = TypeVar("A")
#: seconds between two prunings, at most and at least; the least also after the start
_PRUNE_EVERY = 3600.0
_PRUNE_FIRST = 600.0
#: minimum and maximum seconds between two tries to store refused transcript lines
_MIRROR_FIRST = 5.0
_MIRROR_LAST = 3600.0
#: minimum seconds between two rounds
_LEAST = 0.01


class Maintenance(QueueAdmin):
    """Maintains the queue and the store, and serves operators inside the process."""

    def __init__(self, context: Context, intents: OpenIntents, lines: TranscriptLines, posts: Posts) -> None:
        self._ctx = context
        self._intents = intents
        self._lines = lines
        self._posts = posts
        self._acted = False
        self._due = anyio.Event()
        self._prune_at = context.env.steady() + _PRUNE_FIRST
        self._mirror_at = 0.0
        self._mirror_wait = _MIRROR_FIRST

    async def run(self) -> None:
        """Run rounds periodically, and at once after an operator's change inside the process."""
        while True:
            acted, self._acted, self._due = self._acted, False, anyio.Event()
            if acted or await self._ctx.store.read(HasNudges()):
                await self.take_up()
            await self._posts.take_all(None)
            if self._lines.due and self._ctx.env.steady() >= self._mirror_at:
                await self._lines.store_due()
                refused = self._lines.due
                self._mirror_wait = min(self._mirror_wait * 2, _MIRROR_LAST) if refused else _MIRROR_FIRST
                self._mirror_at = self._ctx.env.steady() + self._mirror_wait if refused else 0.0
            if self._ctx.env.steady() >= self._prune_at:
                await self.prune()
                wait = max(_PRUNE_FIRST, self._ctx.config.delivery.retention)
                self._prune_at = self._ctx.env.steady() + min(_PRUNE_EVERY, wait)
            await wait_at_most(self._due, max(self._ctx.config.delivery.watch, _LEAST))

    def act(self) -> None:
        self._acted = True
        self._due.set()

    def look(self) -> None:
        """Begin the next round at once: another process has left something."""
        self._due.set()

    async def begin(self) -> None:
        """Record the changes that operators made while no process ran. Recovery finds the reopened intents itself."""
        if await self._ctx.store.read(HasNudges()):
            await self.take_up(queue=False)

    async def set_aside(self, left: Unfinished, cause: int) -> None:
        """Visibly end unreadable work of an earlier process, so that it blocks nothing else."""

        def story(_: None) -> None:
            for row in left.broken_works:
                ended = TurnEnded(outcome="failed", reason=Reason.BROKEN_ROW, detail=well_formed(row.problem))
                self._ctx.events.record(ended, cause, inbound=row.id)
            for row in left.broken_delegations:
                text = well_formed(row.problem)
                lost = DelegationFinished(hand="", outcome=HandOutcome.LOST, text=text, reason=Reason.BROKEN_ROW)
                self._ctx.events.record(lost, cause, delegation=row.id)

        await self._ctx.store.write(SetAsideBroken(left=left, now=self._ctx.env.now()), story)

    async def take_up(self, *, queue: bool = True) -> None:
        """Record operators' changes and queue the reopened intents."""

        def story(nudges: tuple[queue_admin.Nudge, ...]) -> list[tuple[queue_admin.Nudge, int]]:
            recorded: list[tuple[queue_admin.Nudge, int]] = []
            for nudge in nudges:
                body = OperatorActed(verb=nudge.verb, detail=nudge.detail)
                seq = self._ctx.events.record(body, None, intent=nudge.intent)
                record_callback(self._ctx.events, nudge.callback, seq, intent=nudge.intent)
                recorded.append((nudge, seq))
            return recorded

        while recorded := await self._ctx.store.write(TakeNudges(), story):
            # If an intent was changed several times, the last change counts.
            last = {nudge.intent: (nudge, seq) for nudge, seq in recorded if nudge.intent is not None}
            # Intents that were purged since, or cannot be read, are skipped.
            for row in (await self._ctx.store.read(LoadIntents(ids=tuple(last)))).rows:
                await self._take_up(row, *last[row.id], queue=queue)
            if queue and self._lines.due:
                await self._lines.store_due()

    async def _take_up(self, row: IntentRow, nudge: queue_admin.Nudge, seq: int, *, queue: bool) -> None:
        ctx, ids, progress = self._ctx, ids_of(row), row.progress
        reason = progress.reason or Reason.OPERATOR_RETRY
        if nudge.verb == queue_admin.QueueVerdict.SENT:
            seq = ctx.events.record(await self._confirmed_chunk(row), seq, **ids)
        if is_final(progress.state):
            settled = IntentSettled(state=progress.state, reason=reason, attempts=progress.attempts)
            self._lines.postpone(row.id, ctx.events.record(settled, seq, **ids))
            return
        assert nudge.before is not None
        seq = ctx.events.record(IntentReopened(before=nudge.before, reason=reason, chunk=progress.acked), seq, **ids)
        if queue:
            self._intents.enqueue_reopened(row, seq)

    async def _confirmed_chunk(self, row: IntentRow) -> ChunkAcked:
        fate = await self._ctx.store.read(FindIntentFate(intent=row.id))
        receipt = None if fate is None or not fate.receipts else fate.receipts[-1]
        return ChunkAcked(
            chunk=row.progress.acked - 1,
            provider_id="" if receipt is None else receipt.provider_id,
            address=row.address if receipt is None else receipt.address,
            reason=Reason.OPERATOR_SENT,
        )

    async def prune(self) -> None:
        """Remove rows older than the retention period, in batches."""
        cutoff, progress = self._ctx.env.now() - self._ctx.config.delivery.retention, queue_admin.SweepProgress()

        def story(pruned: queue_admin.PruneCounts) -> queue_admin.SweepProgress:
            if pruned.some:
                self._ctx.events.record(filled(StorePruned, pruned, reason=Reason.RETENTION))
            return pruned.progress

        while not progress.over:
            progress = await self._ctx.store.write(Prune(cutoff=cutoff, progress=progress), story)

    def now(self) -> float:
        return self._ctx.env.now()

    async def read(self, query: Read[A]) -> A:
        return await self._ctx.store.read(query)

    async def _change(self, command: ChangeQueue) -> QueueChanges:
        try:
            return await self._ctx.store.write(command, answer)
        finally:
            # Even if the caller is cancelled: the change may be stored nevertheless.
            self.act()

    async def _remove(self, command: PurgeIntents) -> queue_admin.PurgedBatch:
        def story(done: queue_admin.PurgedBatch) -> queue_admin.PurgedBatch:
            if done.removed:
                self._ctx.events.record(
                    OperatorActed(verb=queue_admin.PURGE, detail=queue_admin.purge_summary(command.which, done.removed))
                )
            return done

        return await self._ctx.store.write(command, story)
