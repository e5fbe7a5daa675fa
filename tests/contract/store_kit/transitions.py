"""The table of delivery states, through the store."""

from itertools import product

import pytest

from tests.contract.store_kit.bench import Bench, Opened, bring, check, nudges, same
from tests.support.factories import changed
from tests.support.stores import state_of
from trunkline.core.errors import IllegalTransition
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.states.intent import TRANSITIONS, DeliveryEvent
from trunkline.core.store.commands import Defer, LoseChunk, MarkSending, ResolveIntent, RetryIntent
from trunkline.core.store.port import answer
from trunkline.core.store.queries import ShowIntent
from trunkline.core.store.queue_admin import QueueVerdict
from trunkline.core.values import IntentState

#: events that happen to an intent by an operator's word: what is stored counts, not what the operator has seen
BY_OPERATORS = {
    DeliveryEvent.RETRY: None,
    DeliveryEvent.RESOLVE_CHUNK: QueueVerdict.SENT,
    DeliveryEvent.RESOLVE_LAST: QueueVerdict.SENT,
    DeliveryEvent.RESOLVE_UNSENT: QueueVerdict.UNSENT,
    DeliveryEvent.ABANDON: QueueVerdict.ABANDON,
}


def lose(row: IntentRow, chunk: int, reason: Reason = Reason.DELETED_BY_OTHERS) -> LoseChunk:
    return LoseChunk(intent=row.id, chunk=chunk, reason=reason, wake=False, now=5.0)


#: events of the last chunk
LAST = (DeliveryEvent.ACK_LAST, DeliveryEvent.RESOLVE_LAST)


async def apply(it: Opened, row: IntentRow, event: DeliveryEvent) -> None:
    """Have an event happen to an intent, through the verb that stands for it."""
    match event:
        case DeliveryEvent.MARK:
            await it.store.write(MarkSending(intent=row, now=3.0), answer)
        case DeliveryEvent.ACK_CHUNK | DeliveryEvent.ACK_LAST:
            await it.ack(row)
        case DeliveryEvent.DEFER:
            await it.store.write(Defer(intent=row, next_at=60.0, reason=Reason.RATE_LIMITED, now=3.0), same)
        case DeliveryEvent.LOSE:
            for chunk in range(max(row.progress.acked, 1)):
                await it.store.write(lose(row, chunk), answer)
        case DeliveryEvent.MISPLACE:
            await it.misplace(row)
        case DeliveryEvent.RETRY:
            await it.store.write(RetryIntent(intent=row.id, now=3.0), answer)
        case _ if (verdict := BY_OPERATORS.get(event)) is not None:
            await it.store.write(ResolveIntent(intent=row.id, verdict=verdict, now=3.0), answer)
        case _:
            await it.end(row, event)


@check
async def every_event_does_what_the_table_says_or_is_refused_and_changes_nothing(bench: Bench) -> None:
    async with bench.opened() as it:
        for state, event in product(IntentState, DeliveryEvent):
            after = TRANSITIONS[state].get(event)
            row = await bring(it, f"{state}-{event}", state, *(["one"] if after and event in LAST else []))
            lines, shown = await it.lines(), await it.store.read(ShowIntent(intent=row.id))
            if after is None:
                with pytest.raises(IllegalTransition):
                    await apply(it, row, event)
                assert await it.lines() == lines
                assert await it.store.read(ShowIntent(intent=row.id)) == shown
                assert not [one for one in await nudges(it) if one.intent == row.id]
            else:
                await apply(it, row, event)
            assert await state_of(it.store, row.id) is (after or state), (state, event)


@check
async def a_caller_with_an_old_view_of_an_intent_is_refused(bench: Bench) -> None:
    async with bench.opened() as it:
        for event in [event for event in DeliveryEvent if event not in {*BY_OPERATORS, DeliveryEvent.LOSE}]:
            row = await bring(it, f"seen prepared, {event}", IntentState.UNKNOWN)
            with pytest.raises(IllegalTransition, match="is no longer 'prepared'"):
                await apply(it, changed(row, state=IntentState.PREPARED), event)
            assert await state_of(it.store, row.id) is IntentState.UNKNOWN


@check
async def an_intent_cannot_end_as_delivered_or_as_still_open(bench: Bench) -> None:
    async with bench.opened() as it:
        row = await bring(it, "i1", IntentState.PREPARED)
        for event in (
            DeliveryEvent.ACK_LAST,
            DeliveryEvent.DEFER,
            DeliveryEvent.MARK,
            DeliveryEvent.ACK_CHUNK,
            DeliveryEvent.MISPLACE,
        ):
            with pytest.raises(IllegalTransition):
                await it.end(row, event)
        assert await state_of(it.store, row.id) is IntentState.PREPARED
