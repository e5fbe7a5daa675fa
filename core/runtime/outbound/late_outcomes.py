"""Takes what platforms say of messages after they were accepted: they were not delivered after all, or were deleted.

Nothing is sent again. The queue, the transcript and the session that sent the message say what people do not have.
"""

import anyio

from trunkline.core.channels import ChannelAdapter, LateOutcome
from trunkline.core.errors import IllegalTransition
from trunkline.core.events.adapters import DeliveryFailed
from trunkline.core.reasons import Reason
from trunkline.core.records.messages import OwnMessage
from trunkline.core.records.rows import LostChunk
from trunkline.core.runtime.context import Context, ids_of
from trunkline.core.runtime.outbound.transcript_lines import TranscriptLines, Woken
from trunkline.core.states.intent import OPEN
from trunkline.core.store.commands import LoseChunk
from trunkline.core.store.queries import FindMessage

#: how often a message is looked for whose receipt may not be stored yet
_LOOKS = 4
#: maximum seconds between two looks
_LONGEST = 60.0


class LateOutcomes:
    def __init__(self, context: Context, lines: TranscriptLines) -> None:
        self._ctx = context
        self._lines = lines

    def take(self, adapter: ChannelAdapter, outcome: LateOutcome) -> None:
        """Take an outcome from an adapter, in a task of its own."""
        name = f"late outcome {adapter.channel}:{adapter.account}"
        self._ctx.run_apart(self._apply, outcome, name=name)

    async def _apply(self, outcome: LateOutcome) -> None:
        deleted, looks = outcome.reason is Reason.DELETED_BY_OTHERS, 1
        message = await self._find(outcome)
        # An outcome may overtake the receipt, or come while other chunks of its message are still to be sent.
        while (not deleted and looks < _LOOKS) if message is None else message.state in OPEN:
            await anyio.sleep(min(2.0**looks, _LONGEST))
            message, looks = await self._find(outcome), looks + 1
        if message is not None and message.chunk is not None:
            await self._lose(outcome, message, message.chunk)
        elif not deleted:
            self._record(outcome, None)

    async def _find(self, outcome: LateOutcome) -> OwnMessage | None:
        """The message of an outcome. An id may be unique in its conversation only."""
        place, agents = outcome.place, tuple(self._ctx.agents)
        found = (await self._ctx.store.read(FindMessage(name=outcome.message_id, place=place, agents=agents))).ours
        if found is None or found.chunk is None:
            return None
        return found if found.receipts[found.chunk].address.conversation == place.conversation else None

    async def _lose(self, outcome: LateOutcome, message: OwnMessage, chunk: int) -> None:
        ctx, lines = self._ctx, self._lines
        lose = LoseChunk(
            intent=message.intent,
            chunk=chunk,
            reason=outcome.reason,
            wake=ctx.config.delivery.notify_agent,
            now=ctx.env.now(),
        )

        def story(lost: LostChunk | None) -> tuple[Woken, ...]:
            if lost is None:
                return ()
            seq = self._record(outcome, lost)
            lines.record_mirror(lost.row, lost.settled, seq, None)
            return lines.record_note(lost.row, lost.settled, seq)

        try:
            await ctx.store.write(lose, story, then=lines.start_work)
        except IllegalTransition:
            # It has ended in another way, which stays true.
            self._record(outcome, None)

    def _record(self, outcome: LateOutcome, lost: LostChunk | None) -> int:
        body = DeliveryFailed(
            channel=outcome.place.channel,
            account=outcome.place.account,
            reason=outcome.reason,
            message_id=outcome.message_id,
            recipient=outcome.recipient,
            code=outcome.code,
            detail=outcome.detail,
            state=None if lost is None else lost.row.progress.state,
        )
        return self._ctx.events.record(body, outcome.cause, **({} if lost is None else ids_of(lost.row)))
