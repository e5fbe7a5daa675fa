"""What every store must do when something is removed: by an operator, or because it is old enough."""

from typing import Any

from tests.contract.store_kit.bench import KEY, Bench, Opened, all_at_once, bring, check, same
from tests.contract.store_kit.client_sends import begin, send
from tests.contract.store_kit.queue_admin import ids
from tests.support.factories import direct, intent, receipt, session, work
from trunkline.core.reasons import Reason
from trunkline.core.states.intent import OPEN, DeliveryEvent
from trunkline.core.store.commands import (
    AckChunk,
    EndIntent,
    FinishTurn,
    MarkNotified,
    Prune,
    PurgeIntents,
    RetryIntent,
    StoreMirror,
)
from trunkline.core.store.port import answer
from trunkline.core.store.queries import FindSend, ListDueMirrors, LoadUnfinished, ShowIntent
from trunkline.core.store.queue_admin import BATCH, PruneCounts, QueueFilter, SweepProgress
from trunkline.core.values import IntentId, IntentState

S = IntentState
#: prepared, and ended, by `bring` before this time
LATER = 10.0


# ---------------------------------------------------------------- by an operator


async def purge(it: Opened, **which: Any) -> int:
    return (await it.store.write(PurgeIntents(which=QueueFilter(**which)), same)).removed


@check
async def what_is_open_or_in_doubt_is_not_purged(bench: Bench) -> None:
    async with bench.opened() as it:
        for state in IntentState:
            await bring(it, state.value, state)
        for state in OPEN:
            assert await purge(it, states=(state,)) == 0
        assert await purge(it) == len(IntentState) - 3
        assert sorted(await ids(it)) == ["prepared", "sending", "unknown"]
        assert await purge(it, states=(S.UNKNOWN,)) == 1
        assert await purge(it) == 0
        # What was said stays in the transcripts.
        assert [ref for _, _, ref, _ in await it.lines()] == ["delivered", "partial"]


@check
async def what_is_still_to_be_done_after_the_end_keeps_an_intent(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("due"))
        await it.store.write(
            AckChunk(intent=intent("due"), receipt=receipt(), mirror=None, now=3.0, mirror_due=True), same
        )
        await it.enqueue(intent("untold", hooks_pending=True))
        await it.end(intent("untold"), DeliveryEvent.REFUSE)
        assert await purge(it) == 0
        [due] = await it.store.read(ListDueMirrors())
        await it.store.write(StoreMirror(intent=due.row, mirror=session(), now=4.0, note=None, wake=None), same)
        await it.store.write(MarkNotified(intent=IntentId("untold")), same)
        assert await purge(it) == 2


@check
async def a_purge_is_as_narrow_as_it_was_asked_for(bench: Bench) -> None:
    async with bench.opened() as it:
        for name, state in (("dead", S.DEAD), ("failed", S.FAILED)):
            await bring(it, name, state)
        await it.enqueue(intent("t1", address=direct("7", channel="telegram")))
        await it.end(intent("t1"), DeliveryEvent.EXHAUST)
        for nothing in ({"before": 3.0}, {"channel": "slack"}, {"states": (S.EXPIRED,)}, {"ids": ("nobody",)}):
            assert await purge(it, **nothing) == 0
        assert await purge(it, states=(S.DEAD,), channel="discord", before=3.5) == 1
        assert await ids(it) == ["failed", "t1"]


@check
async def a_long_purge_comes_in_parts(bench: Bench) -> None:
    async with bench.opened() as it:
        rows = [intent(f"i{n}", state=S.CANCELLED, reason=Reason.CANCELLED_BY_HOOK) for n in range(BATCH + 2)]
        await all_at_once(*(lambda row=row: it.enqueue(row) for row in rows))
        assert [await purge(it) for _ in range(3)] == [BATCH, 2, 0]


@check
async def a_key_is_free_when_the_try_that_counts_is_gone(bench: Bench) -> None:
    async with bench.opened() as it:
        for key in ("k1", "k1+2", "k1+x"):
            begun = await begin(it, send(key))
            assert begun.intent is not None
            await it.ack(begun.intent)
            assert not (await begin(it, send(key))).new
            assert await purge(it, ids=(begun.intent.id,)) == 1
            assert await it.store.read(FindSend(key=key)) is None
            again = await begin(it, send(key))
            assert (again.new, again.send.tries) == (True, 1)


@check
async def a_key_stays_taken_when_an_earlier_try_is_gone(bench: Bench) -> None:
    """Of the first try only the row of the later one is left."""
    async with bench.opened() as it:
        first = await begin(it, send())
        assert first.intent is not None
        await it.end(first.intent, DeliveryEvent.REFUSE)
        second = await begin(it, send(), again=True)
        assert second.intent is not None
        await it.ack(second.intent)
        assert await purge(it, states=(S.FAILED,)) == 1
        repeated = await begin(it, send())
        assert (repeated.new, repeated.send.intent) == (False, "send:k1+2")
        assert repeated.fate is not None
        assert repeated.fate.state is S.DELIVERED
        assert await it.open_rows() == ()


@check
async def an_earlier_try_that_is_left_alone_has_not_said_anything(bench: Bench) -> None:
    async with bench.opened() as it:
        first = await begin(it, send())
        assert first.intent is not None
        await it.end(first.intent, DeliveryEvent.REFUSE)
        for _ in range(2):
            later = await begin(it, send(), again=True)
            assert later.intent is not None
            await it.end(later.intent, DeliveryEvent.EXHAUST)
        assert await purge(it, ids=("send:k1+3",)) == 1
        refused = await begin(it, send())
        assert (refused.new, refused.send.intent) == (False, "send:k1")
        fresh = await begin(it, send(), again=True)
        assert (fresh.new, fresh.send.intent) == (True, "send:k1+3")
        assert await it.lines(KEY) == []


# ---------------------------------------------------------------- by age


async def prune(it: Opened, cutoff: float = LATER) -> PruneCounts:
    """Prune until nothing old is left; the counts in total."""
    total, progress = PruneCounts(intents=0, inbounds=0, sends=0), SweepProgress()
    while not progress.over:
        counts = await it.store.write(Prune(cutoff=cutoff, progress=progress), same)
        total = PruneCounts(
            intents=total.intents + counts.intents,
            inbounds=total.inbounds + counts.inbounds,
            sends=total.sends + counts.sends,
        )
        progress = counts.progress
    return total


@check
async def what_ended_long_ago_is_removed_and_nothing_else(bench: Bench) -> None:
    async with bench.opened() as it:
        for state in IntentState:
            await bring(it, state.value, state)
        await it.enqueue(intent("due"))
        await it.store.write(
            AckChunk(intent=intent("due"), receipt=receipt(), mirror=None, now=3.0, mirror_due=True), same
        )
        await it.enqueue(intent("untold", hooks_pending=True))
        await it.end(intent("untold"), DeliveryEvent.REFUSE)
        lines = await it.lines()
        assert await prune(it) == PruneCounts(intents=len(IntentState) - 3, inbounds=0, sends=0)
        assert sorted(await ids(it)) == ["due", "prepared", "sending", "unknown", "untold"]
        # What was said is not forgotten.
        assert await it.lines() == lines


@check
async def what_is_young_or_ended_a_moment_ago_stays(bench: Bench) -> None:
    async with bench.opened() as it:
        # It was prepared long ago, and ended now.
        await it.enqueue(intent("slow"))
        await it.store.write(
            EndIntent(
                intent=intent("slow"),
                event=DeliveryEvent.EXHAUST,
                reason=Reason.ATTEMPTS_EXHAUSTED,
                mirror=None,
                now=LATER,
                note=None,
                wake=None,
                mirror_due=False,
                notice=None,
            ),
            same,
        )
        for name, born in (("old", 1.0), ("young", LATER), ("behind", 1.0)):
            await it.enqueue(intent(name, created_at=born))
            await it.store.write(
                EndIntent(
                    intent=intent(name),
                    event=DeliveryEvent.EXHAUST,
                    reason=Reason.ATTEMPTS_EXHAUSTED,
                    mirror=None,
                    now=3.0,
                    note=None,
                    wake=None,
                    mirror_due=False,
                    notice=None,
                ),
                same,
            )
        # Only what stands before the first young one is looked at: the order is that of time.
        assert await prune(it) == PruneCounts(intents=1, inbounds=0, sends=0)
        assert await ids(it) == ["slow", "young", "behind"]
        assert (await prune(it, LATER + 0.5)).intents == 3


@check
async def what_was_tried_again_is_young(bench: Bench) -> None:
    async with bench.opened() as it:
        await bring(it, "i1", S.DEAD)
        await it.store.write(RetryIntent(intent="i1", now=LATER), answer)
        assert (await prune(it)).intents == 0
        await it.store.write(
            EndIntent(
                intent=(await it.store.read(ShowIntent(intent="i1"))).intent,
                event=DeliveryEvent.EXHAUST,
                reason=Reason.ATTEMPTS_EXHAUSTED,
                mirror=None,
                now=LATER,
                note=None,
                wake=None,
                mirror_due=False,
                notice=None,
            ),
            same,
        )
        assert (await prune(it)).intents == 0
        assert (await prune(it, LATER + 1)).intents == 1


@check
async def what_is_remembered_of_messages_received_goes_when_their_work_is_done(bench: Bench) -> None:
    async with bench.opened() as it:
        for name in ("m1", "m2"):
            await it.admit(name)
        await it.store.write(FinishTurn(work=work("m1"), intents=[], now=3.0), same)
        lines = await it.lines()
        assert await prune(it, 2.0) == PruneCounts(intents=0, inbounds=0, sends=0)
        assert await prune(it) == PruneCounts(intents=0, inbounds=1, sends=0)
        assert [one.id for one, _ in (await it.store.read(LoadUnfinished())).works] == ["m2"]
        assert await it.lines() == lines
        assert (await it.admit("m4", "id-m2")).first == "m2"
        assert (await it.admit("m3", "id-m1")).first is None


@check
async def a_key_is_forgotten_with_the_try_that_counts(bench: Bench) -> None:
    async with bench.opened() as it:
        begun = await begin(it, send())
        assert begun.intent is not None
        await it.ack(begun.intent)
        assert await prune(it) == PruneCounts(intents=1, inbounds=0, sends=1)
        assert await it.store.read(FindSend(key="k1")) is None
        assert (await begin(it, send())).new


@check
async def a_key_outlives_the_try_that_failed_first(bench: Bench) -> None:
    async with bench.opened() as it:
        first = await begin(it, send())
        assert first.intent is not None
        await it.end(first.intent, DeliveryEvent.REFUSE)
        second = await begin(it, send(), again=True)
        assert second.intent is not None
        await it.store.write(
            AckChunk(intent=second.intent, receipt=receipt(), mirror=None, now=LATER, mirror_due=False), same
        )
        assert await prune(it) == PruneCounts(intents=1, inbounds=0, sends=0)
        repeated = await begin(it, send())
        assert (repeated.new, repeated.send.intent) == (False, "send:k1+2")


@check
async def a_long_past_is_removed_in_parts(bench: Bench) -> None:
    async with bench.opened() as it:
        rows = [intent(f"i{n}", state=S.CANCELLED, reason=Reason.CANCELLED_BY_HOOK) for n in range(BATCH + 2)]
        await all_at_once(*(lambda row=row: it.enqueue(row) for row in rows))
        parts = [(await it.store.write(Prune(cutoff=LATER), same)).intents for _ in range(3)]
        assert parts == [BATCH, 2, 0]


@check
async def what_stays_is_passed_once_and_what_is_behind_it_is_removed(bench: Bench) -> None:
    """A batch that removes nothing is not the end of the sweep."""
    async with bench.opened() as it:
        kept = [intent(f"k{n}", state=S.UNKNOWN) for n in range(BATCH + 1)]
        behind = [intent(f"i{n}", state=S.CANCELLED, reason=Reason.CANCELLED_BY_HOOK) for n in range(3)]
        await all_at_once(*(lambda row=row: it.enqueue(row) for row in (*kept, *behind)))
        first = await it.store.write(Prune(cutoff=LATER), same)
        assert (first.some, first.progress) == (
            False,
            SweepProgress(intents=BATCH, inbounds=None, aliases=None, bindings=None, delegations=None, mailbox=None),
        )
        second = await it.store.write(Prune(cutoff=LATER, progress=first.progress), same)
        assert (second.intents, second.progress.over) == (3, True)


@check
async def an_empty_store_has_nothing_to_remove(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await prune(it) == PruneCounts(intents=0, inbounds=0, sends=0)
        assert await purge(it) == 0
