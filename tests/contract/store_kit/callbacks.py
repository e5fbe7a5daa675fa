"""What every store must do with the report of a delegation: it follows its turn and its messages, in their writes."""

from typing import Any

import msgspec
import pytest

from tests.contract.store_kit.bench import BACK, OK, Bench, Opened, all_at_once, check, finish, nudges, same
from tests.contract.store_kit.workers import TASK, shown
from tests.support.factories import changed, delegation, intent, session
from trunkline.core.errors import IllegalTransition, UnknownName
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import CallbackChange, IntentRow
from trunkline.core.states.delegation import CallbackEvent, CallbackState
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import (
    Admit,
    EndUnreadableIntent,
    FinishTurn,
    PurgeIntents,
    ResolveIntent,
    RetryIntent,
)
from trunkline.core.store.delegations import (
    AcceptDelegation,
    BeginCallback,
    CallbackBegun,
    ChangeCallback,
    FinishDelegation,
    HandPost,
    PostToGateway,
    PostVerb,
    RetryCallback,
)
from trunkline.core.store.queries import LoadUnfinished, ShowIntent
from trunkline.core.store.queue_admin import QueueFilter, QueueVerdict
from trunkline.core.values import InboundId, IntentKind, IntentState

C, E = CallbackState, CallbackEvent


def change(before: CallbackState, state: CallbackState, reason: Reason | None = None) -> CallbackChange:
    return CallbackChange(delegation=TASK, before=before, state=state, reason=reason)


def message(name: str = "m1.hand1.back.reply", *chunks: str, **fields: Any) -> IntentRow:
    """A message of the callback."""
    return intent(name, *(chunks or ("found three",)), delegation=TASK, **fields)


async def pending(it: Opened) -> None:
    """A result whose turn is due."""
    await it.store.write(AcceptDelegation(row=delegation()), same)
    await finish(it)


async def answered(
    it: Opened, *intents: IntentRow, event: CallbackEvent = E.ENQUEUE, reason: Reason | None = None
) -> Any:
    """A callback turn that has ended with messages."""
    await pending(it)
    await it.store.write(BeginCallback(delegation=TASK, work=BACK), same)
    end = FinishTurn(work=BACK, intents=intents, now=4.0, callback=event, callback_reason=reason)
    return (await it.store.write(end, same)).callback


async def state(it: Opened) -> tuple[CallbackState, Reason | None]:
    row = await shown(it)
    return row.callback, row.callback_reason


# ---------------------------------------------------------------- turns


@check
async def a_callback_begins_once_however_often_its_turn_runs(bench: Bench) -> None:
    async with bench.opened() as it:
        await pending(it)
        begin = BeginCallback(delegation=TASK, work=BACK)
        assert await it.store.write(begin, same) == CallbackBegun(due=True, change=change(C.PENDING_TURN, C.IN_TURN))
        assert await it.store.write(begin, same) == CallbackBegun(due=True)


@check
async def a_discarded_callback_does_not_run(bench: Bench) -> None:
    async with bench.opened() as it:
        await pending(it)
        discard = ChangeCallback(delegation=TASK, event=E.DISCARD, reason=Reason.DISCARDED)
        assert await it.store.write(discard, same) == change(C.PENDING_TURN, C.SUPPRESSED, Reason.DISCARDED)
        assert await it.store.write(BeginCallback(delegation=TASK, work=BACK), same) == CallbackBegun(due=False)
        assert (await it.store.read(LoadUnfinished())).works == ()


@check
async def a_callback_turn_queues_its_message_or_stays_silent_or_fails(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await answered(it, message()) == change(C.IN_TURN, C.QUEUED)


@check
async def a_silent_callback_turn_suppresses_the_report(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await answered(it, event=E.SUPPRESS, reason=Reason.NO_REPLY) == change(
            C.IN_TURN, C.SUPPRESSED, Reason.NO_REPLY
        )


@check
async def a_silent_turn_that_has_sent_its_message_before_is_not_suppressed(bench: Bench) -> None:
    async with bench.opened() as it:
        await pending(it)
        await it.store.write(BeginCallback(delegation=TASK, work=BACK), same)
        await it.enqueue(message("tool"))
        # It arrives while the turn still runs, which may say more.
        assert (await it.ack(message("tool"))).callback is None
        end = FinishTurn(work=BACK, intents=[], now=4.0, callback=E.SUPPRESS)
        assert (await it.store.write(end, same)).callback == change(C.IN_TURN, C.DELIVERED)


@check
async def a_message_that_a_hook_cancels_suppresses_the_report_at_once(bench: Bench) -> None:
    async with bench.opened() as it:
        row = message(state=IntentState.CANCELLED, reason=Reason.CANCELLED_BY_HOOK)
        assert await answered(it, row) == change(C.IN_TURN, C.SUPPRESSED, Reason.CANCELLED_BY_HOOK)


# ---------------------------------------------------------------- messages


@check
async def a_report_is_delivered_with_the_receipt_of_its_last_chunk(bench: Bench) -> None:
    async with bench.opened() as it:
        row = message("reply", "one", "two")
        await answered(it, row)
        assert (await it.ack(row)).callback is None
        settled = await it.ack(changed(row, acked=1))
        assert settled.callback == change(C.QUEUED, C.DELIVERED)
        assert await state(it) == (C.DELIVERED, None)


@check
async def many_receipts_in_one_commit_deliver_their_reports(bench: Bench) -> None:
    async with bench.opened() as it:
        await answered(it, message())
        plain = [intent(f"p{n}") for n in range(12)]
        for row in plain:
            await it.enqueue(row)
        settled = await all_at_once(*[lambda row=row: it.ack(row) for row in (*plain, message())])
        assert [one.callback for one in settled] == [None] * 12 + [change(C.QUEUED, C.DELIVERED)]


@check
async def a_report_ends_with_its_last_message(bench: Bench) -> None:
    async with bench.opened() as it:
        await answered(it, message("one"), message("two"))
        assert (await it.end(message("one"), DeliveryEvent.REFUSE)).callback is None
        assert (await it.ack(message("two"))).callback == change(C.QUEUED, C.DELIVERED)


@check
async def a_notice_that_a_report_failed_is_no_report(bench: Bench) -> None:
    async with bench.opened() as it:
        await answered(it, message())
        settled = await it.end(message(), DeliveryEvent.REFUSE)
        assert settled.callback == change(C.QUEUED, C.UNDELIVERABLE, Reason.REFUSED)
        notice = message("m1.hand1.back.reply.notice", kind=IntentKind.NOTICE)
        await it.enqueue(notice)
        assert (await it.ack(notice)).callback is None
        assert await state(it) == (C.UNDELIVERABLE, Reason.REFUSED)


@check
async def a_report_in_doubt_is_parked_until_an_operator_knows(bench: Bench) -> None:
    async with bench.opened() as it:
        row = message()
        await answered(it, row)
        assert (await it.end(row, DeliveryEvent.PARK)).callback == change(C.QUEUED, C.PARKED, Reason.REFUSED)
        await it.store.write(ResolveIntent(intent=row.id, verdict=QueueVerdict.UNSENT, now=5.0), same)
        assert [one.callback for one in await nudges(it)] == [change(C.PARKED, C.QUEUED, Reason.OPERATOR_UNSENT)]
        again = (await it.store.read(ShowIntent(intent=row.id))).intent
        await it.end(again, DeliveryEvent.PARK)
        await it.store.write(ResolveIntent(intent=row.id, verdict=QueueVerdict.ABANDON, now=5.0), same)
        assert [one.callback for one in await nudges(it)] == [change(C.PARKED, C.UNDELIVERABLE, Reason.ABANDONED)]


@check
async def a_report_in_doubt_that_arrived_after_all_is_delivered(bench: Bench) -> None:
    async with bench.opened() as it:
        await answered(it, message())
        await it.end(message(), DeliveryEvent.PARK)
        await it.store.write(ResolveIntent(intent=message().id, verdict=QueueVerdict.SENT, now=5.0), same)
        assert [one.callback for one in await nudges(it)] == [change(C.PARKED, C.DELIVERED)]


@check
async def a_report_that_is_sent_again_is_queued_again(bench: Bench) -> None:
    async with bench.opened() as it:
        await answered(it, message())
        await it.end(message(), DeliveryEvent.EXHAUST)
        await it.store.write(RetryIntent(intent=message().id, now=5.0), same)
        [note] = await nudges(it)
        assert note.callback == change(C.UNDELIVERABLE, C.QUEUED, Reason.OPERATOR_RETRY)
        again = (await it.store.read(ShowIntent(intent=message().id))).intent
        assert (await it.ack(again)).callback == change(C.QUEUED, C.DELIVERED)


@check
async def a_report_whose_doubtful_message_is_removed_is_given_up(bench: Bench) -> None:
    async with bench.opened() as it:
        await answered(it, message())
        await it.end(message(), DeliveryEvent.PARK)
        done = await it.store.write(PurgeIntents(which=QueueFilter(states=(IntentState.UNKNOWN,))), same)
        assert done.removed == 1
        [note] = await nudges(it)
        assert note.callback == change(C.PARKED, C.SUPPRESSED, Reason.DISCARDED)


@check
async def a_message_whose_row_cannot_be_read_ends_its_report_too(bench: Bench) -> None:
    async with bench.opened() as it:
        await answered(it, message())
        await it.spoil(message().id, "chunks", "{nonsense")
        end = EndUnreadableIntent(
            intent=message(), state=IntentState.DEAD, reason=Reason.BROKEN_ROW, note=None, wake=None, now=5.0
        )
        settled = await it.store.write(end, same)
        assert settled.callback == change(C.QUEUED, C.UNDELIVERABLE, Reason.BROKEN_ROW)


@check
async def a_callback_that_cannot_be_read_stops_no_message(bench: Bench) -> None:
    async with bench.opened() as it:
        await answered(it, message("one"), message("two"))
        await it.spoil(TASK, "callback", b"\xff", "delegations")
        assert (await it.ack(message("one"))).callback is None
        assert (await it.end(message("two"), DeliveryEvent.REFUSE)).callback is None


@check
async def a_report_is_parked_once_for_each_wait(bench: Bench) -> None:
    async with bench.opened() as it:
        await answered(it, message())
        park = ChangeCallback(delegation=TASK, event=E.PARK, reason=Reason.NOT_READY)
        assert await it.store.write(park, same) == change(C.QUEUED, C.PARKED, Reason.NOT_READY)
        assert await it.store.write(park, same) is None
        resume = ChangeCallback(delegation=TASK, event=E.RESUME)
        assert await it.store.write(resume, same) == change(C.PARKED, C.QUEUED)
        assert await it.store.write(resume, same) is None


# ---------------------------------------------------------------- operators


@check
async def a_retry_sends_the_messages_again_that_have_failed(bench: Bench) -> None:
    async with bench.opened() as it:
        await answered(it, message("one"), message("two"))
        await it.end(message("one"), DeliveryEvent.REFUSE)
        await it.end(message("two"), DeliveryEvent.EXPIRE)
        done = await it.store.write(RetryCallback(delegation=TASK, now=5.0), same)
        assert done.change == change(C.UNDELIVERABLE, C.QUEUED, Reason.OPERATOR_RETRY)
        assert (done.intents, done.work) == (("one", "two"), None)
        # The change is answered once, and not noted again with its messages.
        noted = [(one.intent, one.verb, one.callback) for one in await nudges(it)]
        assert noted == [("one", "retry", None), ("two", "retry", None)]


@check
async def a_retry_runs_the_turn_again_when_it_has_sent_nothing(bench: Bench) -> None:
    async with bench.opened() as it:
        await answered(it, event=E.FAIL, reason=Reason.AGENT_RAISED)
        lines = await it.lines()
        for number in (2, 3):
            done = await it.store.write(RetryCallback(delegation=TASK, now=5.0), same)
            assert done.change == change(C.UNDELIVERABLE, C.PENDING_TURN, Reason.OPERATOR_RETRY)
            work = msgspec.structs.replace(BACK, id=f"m1.hand1.back+{number}")
            assert (done.work, done.session) == (work, "s-back")
            assert (await it.store.read(LoadUnfinished())).works == ((work, "s-back"),)
            assert (await it.store.write(BeginCallback(delegation=TASK, work=work), same)).due
            await it.store.write(FinishTurn(work=work, intents=[], now=6.0, callback=E.FAIL), same)
        # The transcript has the result already.
        assert await it.lines() == lines


@check
async def what_a_repeated_turn_delegates_is_not_a_turn_of_the_same_report(bench: Bench) -> None:
    """The ids of its delegations begin like its own, and their callbacks are other people's work."""
    nested = delegation("m1.hand1.back+2.hand1")
    async with bench.opened() as it:
        await answered(it, event=E.FAIL, reason=Reason.AGENT_RAISED)
        again = (await it.store.write(RetryCallback(delegation=TASK, now=5.0), same)).work
        assert again is not None
        await it.store.write(BeginCallback(delegation=TASK, work=again), same)
        await it.store.write(AcceptDelegation(row=nested), same)
        back = msgspec.structs.replace(BACK, id=InboundId(f"{nested.id}.back"))
        admit = Admit(work=back, identity=f"callback/{nested.id}", session=session(name="s-back"), now=6.0)
        end = FinishDelegation(delegation=nested.id, result=OK, callback=admit, intents=(), now=6.0)
        change = (await it.store.write(end, same)).change
        assert change is not None
        assert change.state is C.PENDING_TURN
        fail = FinishTurn(work=again, intents=[], now=7.0, callback=E.FAIL)
        await it.store.write(fail, same)
        third = (await it.store.write(RetryCallback(delegation=TASK, now=8.0), same)).work
        assert third == msgspec.structs.replace(BACK, id=InboundId("m1.hand1.back+3"))
        await it.store.write(ChangeCallback(delegation=TASK, event=E.DISCARD, reason=Reason.DISCARDED), same)
        # A discarded report still has its turn, which records its end when it comes up.
        assert [one.id for one, _ in (await it.store.read(LoadUnfinished())).works] == [back.id, third.id]
        assert not (await it.store.write(BeginCallback(delegation=TASK, work=third), same)).due
        assert [one.id for one, _ in (await it.store.read(LoadUnfinished())).works] == [back.id]


@check
async def a_turn_that_cannot_be_read_is_not_repeated(bench: Bench) -> None:
    async with bench.opened() as it:
        await answered(it, event=E.FAIL, reason=Reason.AGENT_RAISED)
        await it.spoil(BACK.id, "work", b"{", "inbox")
        with pytest.raises(IllegalTransition, match="its turn cannot be read"):
            await it.store.write(RetryCallback(delegation=TASK, now=5.0), same)


@check
async def a_report_whose_call_has_ended_can_be_tried_again_from_another_process(bench: Bench) -> None:
    retry = PostToGateway(post=HandPost(delegation=TASK, verb=PostVerb.RETRY_CALLBACK))
    async with bench.opened() as it:
        await answered(it, message())
        with pytest.raises(IllegalTransition, match="its report is queued"):
            await it.store.write(retry, same)
        await it.end(message(), DeliveryEvent.REFUSE, Reason.CALL_ENDED)
        row = await shown(it)
        assert (row.callback, row.callback_reason) == (C.PARKED, Reason.CALL_ENDED)
        await it.store.write(retry, same)
        done = await it.store.write(RetryCallback(delegation=TASK, now=5.0), same)
        assert done.change == change(C.PARKED, C.QUEUED, Reason.OPERATOR_RETRY)


@check
async def only_a_report_that_has_failed_is_tried_again(bench: Bench) -> None:
    async with bench.opened() as it:
        with pytest.raises(UnknownName):
            await it.store.write(RetryCallback(delegation=TASK, now=5.0), same)
        await answered(it, message())
        with pytest.raises(IllegalTransition, match="this one is queued"):
            await it.store.write(RetryCallback(delegation=TASK, now=5.0), same)
        await it.end(message(), DeliveryEvent.REFUSE)
        await it.enqueue(message("doubtful"))
        await it.end(message("doubtful"), DeliveryEvent.PARK)
        with pytest.raises(IllegalTransition, match="in doubt"):
            await it.store.write(RetryCallback(delegation=TASK, now=5.0), same)
