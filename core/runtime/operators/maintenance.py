"""Background maintenance: applies operators' changes, stores refused transcript lines, and prunes old rows."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import msgspec

from trunkline.core.events.delivery import ChunkAcked, IntentReopened, IntentSettled, OperatorActed
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.events.hands import DelegationFinished
from trunkline.core.events.leases import StorePruned
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow, Unfinished
from trunkline.core.runtime.context import Context, ids_of
from trunkline.core.runtime.deadlines import wait_at_most
from trunkline.core.runtime.delegation.posts import Posts
from trunkline.core.runtime.outbound.open_intents import OpenIntents
from trunkline.core.runtime.outbound.transcript_lines import TranscriptLines
from trunkline.core.runtime.stories import record_callback
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.states.intent import is_final
from trunkline.core.store.commands import Prune, PurgeIntents, ResolveIntent, RetryIntent, SetAsideBroken, TakeNudges
from trunkline.core.store.operators.queue import ChangeQueue, QueueChanges, check_purge, check_retry, joined
from trunkline.core.store.port import answer
from trunkline.core.store.queries import CountPurgeable, FindIntentFate, HasNudges, ListIntents, LoadIntents, ShowIntent
from trunkline.core.store.queue_admin import (
    BATCH,
    PURGE,
    IntentDetails,
    Nudge,
    PruneCounts,
    QueueFilter,
    QueueRow,
    QueueVerdict,
    purge_summary,
)
from trunkline.core.values import IntentState
from trunkline.core.well_formed import well_formed

#: seconds between two prunings
_PRUNE_EVERY = 3600.0
#: seconds after start until the first pruning
_PRUNE_FIRST = 600.0
#: minimum and maximum seconds between two tries to store refused transcript lines
_MIRROR_FIRST = 5.0
_MIRROR_LAST = 3600.0
#: intents that one transaction reopens
_RETRIED = 100
#: minimum seconds between two rounds
_LEAST = 0.01


class Maintenance:
    """Maintains the queue and its store, and serves operators inside the process."""

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
                await self._mirror_again()
            if self._ctx.env.steady() >= self._prune_at:
                await self.prune()
                self._prune_at = self._ctx.env.steady() + _PRUNE_EVERY
            await wait_at_most(self._due, max(self._ctx.config.delivery.watch, _LEAST))

    def act(self) -> None:
        """Begin the next round at once."""
        self._acted = True
        self._due.set()

    async def _mirror_again(self) -> None:
        await self._lines.store_due()
        refused = self._lines.due
        self._mirror_wait = min(self._mirror_wait * 2, _MIRROR_LAST) if refused else _MIRROR_FIRST
        self._mirror_at = self._ctx.env.steady() + self._mirror_wait if refused else 0.0

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
        """Record operators' changes and queue the intents that they reopened."""

        def story(nudges: tuple[Nudge, ...]) -> list[tuple[Nudge, int]]:
            recorded: list[tuple[Nudge, int]] = []
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

    async def _take_up(self, row: IntentRow, nudge: Nudge, seq: int, *, queue: bool) -> None:
        ctx, ids, progress = self._ctx, ids_of(row), row.progress
        reason = progress.reason or Reason.OPERATOR_RETRY
        if nudge.verb == QueueVerdict.SENT:
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
        """The event of a chunk that an operator confirmed as sent."""
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
        cutoff = self._ctx.env.now() - self._ctx.config.delivery.retention

        def story(pruned: PruneCounts) -> bool:
            some = any(msgspec.structs.astuple(pruned))
            if some:
                body = StorePruned(
                    intents=pruned.intents,
                    inbounds=pruned.inbounds,
                    sends=pruned.sends,
                    bindings=pruned.bindings,
                    delegations=pruned.delegations,
                    mailbox=pruned.mailbox,
                    reason=Reason.RETENTION,
                )
                self._ctx.events.record(body)
            return some

        while await self._ctx.store.write(Prune(cutoff=cutoff), story):
            pass

    # ------------------------------------------------------------ operators inside the process

    async def intents(self, which: QueueFilter, *, after: int = 0, limit: int = 100) -> tuple[QueueRow, ...]:
        """The intents that match a filter, open and ended."""
        return await self._ctx.store.read(ListIntents(which=which, after=after, limit=limit))

    async def show(self, intent: str) -> IntentDetails:
        """An intent with its receipts. Raises `UnknownName`, or `StoreError` for an unreadable row."""
        return await self._ctx.store.read(ShowIntent(intent=intent))

    async def retry(self, *intents: str) -> QueueChanges:
        """Retry ended intents now, all or none. Raises `UnknownName` or `IllegalTransition`."""
        now = self._ctx.env.now()
        return await self._change([RetryIntent(intent=intent, now=now) for intent in dict.fromkeys(intents)])

    async def retry_all(self, which: QueueFilter) -> QueueChanges:
        """Retry all intents of these states that can be retried. Raises `IllegalTransition` for other states."""
        check_retry(which)
        ids: list[tuple[int, str]] = []
        while page := await self.intents(which, after=ids[-1][0] if ids else 0, limit=BATCH):
            ids += [(row.n, row.id) for row in page]
        done = QueueChanges(changes=())
        for start in range(0, len(ids), _RETRIED):
            now = self._ctx.env.now()
            commands = [RetryIntent(intent=intent, now=now) for _, intent in ids[start : start + _RETRIED]]
            done = joined(done, await self._change(commands, skip=True))
        return done

    async def resolve(self, intent: str, verdict: QueueVerdict, provider_id: str = "") -> QueueChanges:
        """Resolve a chunk in doubt. Raises `UnknownName` or `IllegalTransition`."""
        now = self._ctx.env.now()
        return await self._change([ResolveIntent(intent=intent, verdict=verdict, now=now, provider_id=provider_id)])

    async def _change(self, commands: Sequence[RetryIntent | ResolveIntent], *, skip: bool = False) -> QueueChanges:
        try:
            command = ChangeQueue(changes=tuple(commands), skip=skip, now=self._ctx.env.now())
            return await self._ctx.store.write(command, answer)
        finally:
            # Even if the caller is cancelled: the change may be stored nevertheless.
            self.act()

    async def purgeable(self, which: QueueFilter) -> dict[IntentState, int]:
        """How many intents `purge` would remove, by state. Raises `IllegalTransition` for open states."""
        check_purge(which)
        return await self._ctx.store.read(CountPurgeable(which=which))

    async def purge(self, which: QueueFilter) -> int:
        """Remove ended intents in batches; returns their number. Raises `IllegalTransition` for open states."""
        check_purge(which)

        def story(count: int) -> int:
            if count:
                self._ctx.events.record(OperatorActed(verb=PURGE, detail=purge_summary(which, count)))
            return count

        total, last = 0, BATCH
        while last == BATCH:
            last = await self._ctx.store.write(PurgeIntents(which=which), story)
            total += last
        return total
