"""What a process does beside its work: takes up what operators have changed, and removes what is old enough."""

from __future__ import annotations

import anyio

from core.delivery.states import is_final
from core.events.bodies import ChunkAcked, IntentReopened, IntentSettled, OperatorActed, StorePruned
from core.reasons import Reason
from core.shell.context import Context
from core.shell.delivery import Delivery
from core.store.operate import Filter, Nudge, Pruned, QueueRow, Shown, Verdict

#: seconds between two rounds of removing
_PRUNE_EVERY = 3600.0
#: seconds after the start until the first one
_PRUNE_FIRST = 600.0


class Upkeep:
    """Keeps the queue and its store in order."""

    def __init__(self, context: Context, delivery: Delivery) -> None:
        self._ctx = context
        self._delivery = delivery
        self._prune_at = context.env.now() + _PRUNE_FIRST

    async def run(self) -> None:
        """Look again and again."""
        wait = self._ctx.config.delivery.watch
        while True:
            if await self._ctx.store.nudges_wait():
                await self.take_up()
            if self._ctx.env.now() >= self._prune_at:
                await self.prune()
                self._prune_at = self._ctx.env.now() + _PRUNE_EVERY
            await anyio.sleep(wait)

    async def begin(self) -> None:
        """Tell what operators have changed while nobody worked the store. It is found among what is open."""
        if await self._ctx.store.nudges_wait():
            await self.take_up(queue=False)

    async def take_up(self, *, queue: bool = True) -> None:
        """Tell what operators have changed, and send what they have reopened."""

        def story(nudges: tuple[Nudge, ...]) -> list[tuple[Nudge, int]]:
            return [
                (one, self._ctx.events.record(OperatorActed(verb=one.verb, detail=""), None, intent=one.intent))
                for one in nudges
            ]

        for nudge, seq in await self._ctx.store.nudged(story):
            await self._take_up(nudge, seq, queue=queue)

    async def _take_up(self, nudge: Nudge, seq: int, *, queue: bool) -> None:
        ctx, shown = self._ctx, await self._ctx.store.show_intent(nudge.intent)
        row = shown.intent
        ids = {"intent": row.id, "turn": row.turn, "inbound": row.inbound, "delegation": row.delegation}
        reason = row.reason or Reason.OPERATOR_RETRY
        if nudge.verb == Verdict.SENT:
            receipt = shown.receipts[-1]
            acked = ChunkAcked(
                chunk=len(shown.receipts) - 1,
                provider_id=receipt.provider_id,
                address=receipt.address,
                reason=Reason.OPERATOR_SENT,
            )
            seq = ctx.events.record(acked, seq, **ids)
        if is_final(row.state):
            settled = IntentSettled(state=row.state, reason=reason, attempts=row.attempts)
            seq = ctx.events.record(settled, seq, **ids)
            await self._delivery.finish_left(seq)
            return
        seq = ctx.events.record(IntentReopened(before=nudge.before, reason=reason, chunk=row.acked), seq, **ids)
        if queue:
            self._delivery.take(row, seq)

    async def prune(self) -> None:
        """Remove what ended longer ago than it is kept, a little at a time."""
        cutoff = self._ctx.env.now() - self._ctx.config.delivery.retention

        def story(pruned: Pruned) -> bool:
            some = bool(pruned.intents or pruned.inbounds)
            if some:
                body = StorePruned(
                    intents=pruned.intents, inbounds=pruned.inbounds, sends=pruned.sends, reason=Reason.RETENTION
                )
                self._ctx.events.record(body)
            return some

        while await self._ctx.store.prune(cutoff, story):
            pass

    # ------------------------------------------------------------ an operator inside of the process

    async def intents(self, which: Filter, *, after: int = 0, limit: int = 100) -> tuple[QueueRow, ...]:
        """Intents, open and ended."""
        return await self._ctx.store.list_intents(which, after=after, limit=limit)

    async def show(self, intent: str) -> Shown:
        """One intent with its receipts. Raises `UnknownName`."""
        return await self._ctx.store.show_intent(intent)

    async def retry(self, intent: str) -> None:
        """Have an intent that has ended tried again, now. Raises `UnknownName` or `IllegalTransition`."""
        await self._ctx.store.retry_intent(intent, self._ctx.env.now())
        await self.take_up()

    async def resolve(self, intent: str, verdict: Verdict, provider_id: str = "") -> None:
        """Say what became of a chunk in doubt. Raises `UnknownName` or `IllegalTransition`."""
        await self._ctx.store.resolve_intent(intent, verdict, self._ctx.env.now(), provider_id=provider_id)
        await self.take_up()

    async def purge(self, which: Filter) -> int:
        """Remove intents that have ended; how many."""

        def story(count: int) -> int:
            states = ", ".join(state.value for state in which.states) or "all that have ended"
            self._ctx.events.record(OperatorActed(verb="purge", detail=f"{count} intents: {states}"))
            return count

        return await self._ctx.store.purge_intents(which, story)
