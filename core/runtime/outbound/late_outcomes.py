"""Takes the platforms' reports of lost messages: queue, transcript and agent learn of the loss."""

import anyio
from msgspec import structs

from trunkline.core.channels import ChannelAdapter, LateOutcome
from trunkline.core.errors import IllegalTransition, UnknownName
from trunkline.core.events.adapters import DeliveryFailed
from trunkline.core.reasons import Reason
from trunkline.core.records.messages import OwnMessage
from trunkline.core.records.rows import IntentRow, Settlement
from trunkline.core.runtime.context import Context, ids_of
from trunkline.core.runtime.outbound.open_intents import OpenIntents
from trunkline.core.runtime.outbound.transcript_lines import TranscriptLines, Woken
from trunkline.core.states.intent import OPEN
from trunkline.core.store.commands import LoseChunk
from trunkline.core.store.queries import FindMessage

#: how often a message is looked for whose receipt may not be stored yet, and maximum seconds between two looks
_LOOKS, _LONGEST = 4, 60.0


class LossHandler:
    """The handler of losses: finds the message of the gateway, and takes it back in queue and transcript."""

    def __init__(self, context: Context, intents: OpenIntents, lines: TranscriptLines) -> None:
        self._ctx, self._intents, self._lines = context, intents, lines

    def take(self, adapter: ChannelAdapter, outcome: LateOutcome) -> None:
        """Take an outcome from an adapter, in a separate task."""
        self._ctx.run_apart(self._apply, outcome, name=f"late outcome {adapter.channel}:{adapter.account}")

    async def _apply(self, outcome: LateOutcome) -> None:
        account, looks = (outcome.place.channel, outcome.place.account), 1
        sending, message = self._intents.sends_as(account), await self._find(outcome)
        # An outcome may overtake the receipt, or come while other chunks of its message are still to be sent.
        while (sending and looks < _LOOKS) if message is None else message.state in OPEN:
            await anyio.sleep(min(2.0**looks, _LONGEST))
            looks, sending, message = looks + 1, self._intents.sends_as(account), await self._find(outcome)
        if message is not None and message.chunk is not None:
            await self._lose(outcome, message, message.chunk)
        elif outcome.reason is not Reason.DELETED_BY_OTHERS:
            self._record(outcome)

    async def _find(self, outcome: LateOutcome) -> OwnMessage | None:
        place, agents = outcome.place, tuple(self._ctx.agents)
        found = (await self._ctx.store.read(FindMessage(name=outcome.message_id, place=place, agents=agents))).ours
        if found is None or found.chunk is None:
            return None
        # An id may be unique in its conversation only; where a recipient is named, their number may be spelt otherwise.
        here = found.receipts[found.chunk].address.conversation == place.conversation
        return found if here or outcome.recipient else None

    async def _lose(self, outcome: LateOutcome, message: OwnMessage, chunk: int) -> None:
        ctx, lines, wake = self._ctx, self._lines, self._ctx.config.delivery.notify_agent
        lose = LoseChunk(intent=message.intent, chunk=chunk, reason=outcome.reason, wake=wake, now=ctx.env.now())

        def story(lost: tuple[IntentRow, Settlement] | None) -> tuple[Woken, ...]:
            if lost is None:
                return ()
            seq = self._record(outcome, lost[0])
            lines.record_mirror(*lost, seq, None)
            return lines.record_note(*lost, seq)

        try:
            await ctx.store.write(lose, story, then=lines.start_work)
        except (IllegalTransition, UnknownName):
            # It has ended in another way, which stays true, or an operator has removed it.
            self._record(outcome)

    def _record(self, outcome: LateOutcome, row: IntentRow | None = None) -> int:
        facts = structs.asdict(outcome)
        place, cause = facts.pop("place"), facts.pop("cause")
        state = None if row is None else row.progress.state
        body = DeliveryFailed(channel=place.channel, account=place.account, state=state, **facts)
        return self._ctx.events.record(body, cause, **({} if row is None else ids_of(row)))
