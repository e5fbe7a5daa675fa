"""What every store must do for operators: list and show intents, retry them, and record their verdicts."""

from functools import partial
from typing import Any

import pytest

from tests.contract.store_kit.bench import Bench, Opened, all_at_once, bring, check, nudges, row_of, same
from tests.contract.store_kit.client_sends import begin, send
from tests.support.factories import changed, direct, intent, receipt, session
from trunkline.core.errors import IllegalTransition, UnknownName
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow, Settlement
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import AckChunk, Defer, ResolveIntent, RetryIntent, StoreMirror
from trunkline.core.store.port import answer
from trunkline.core.store.queries import HasNudges, ListDueMirrors, ListIntents, ShowIntent
from trunkline.core.store.queue_admin import BATCH, Nudge, QueueFilter, QueueRow, QueueVerdict
from trunkline.core.values import IntentId, IntentKind, IntentState, Transport

S = IntentState


async def ids(it: Opened, **which: Any) -> list[str]:
    """The ids of what a filter finds."""
    return [row.id for row in await it.store.read(ListIntents(which=QueueFilter(**which)))]


async def stored(it: Opened, name: str) -> IntentRow:
    return (await it.store.read(ShowIntent(intent=name))).intent


async def parked(it: Opened, name: str = "i1", *, acked: int = 0, chunks: int = 3) -> IntentRow:
    """An intent whose chunk number `acked` is in doubt."""
    row = intent(name, *("one", "two", "three")[:chunks])
    await it.enqueue(row)
    for n in range(acked):
        await it.store.write(
            AckChunk(intent=changed(row, acked=n), receipt=receipt(f"90{n}"), mirror=None, now=3.0, mirror_due=False),
            same,
        )
    await it.end(changed(row, acked=acked), DeliveryEvent.PARK)
    return await stored(it, name)


async def finish(it: Opened, name: str) -> Settlement:
    """Accept what is left of a reopened intent."""
    while True:
        row = await stored(it, name)
        settled = await it.ack(row)
        if row.progress.acked + 1 == len(row.content.chunks):
            return settled


# ---------------------------------------------------------------- what there is


@check
async def a_list_shows_what_an_operator_wants_to_know(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1", "x" * 1000, "two", kind=IntentKind.TOOL))
        await it.ack(intent("i1", "x" * 1000, "two"))
        row = changed(intent("i1", "x" * 1000, "two"), acked=1, attempts=2)
        await it.store.write(Defer(intent=row, next_at=60.0, reason=Reason.RATE_LIMITED, now=7.0), same)
        cancelled = intent("i2", state=S.CANCELLED, reason=Reason.CANCELLED_BY_HOOK)
        await it.enqueue(changed(cancelled, chunks=()))
        first, second = await it.store.read(ListIntents(which=QueueFilter()))
    assert first == QueueRow(
        n=first.n,
        id=IntentId("i1"),
        kind=IntentKind.TOOL,
        state=S.PREPARED,
        reason=Reason.RATE_LIMITED,
        address=direct(),
        acked=1,
        chunks=2,
        attempts=2,
        next_at=60.0,
        created_at=1.0,
        updated_at=7.0,
        text="x" * 200,
    )
    assert (second.state, second.reason, second.chunks, second.text) == (S.CANCELLED, Reason.CANCELLED_BY_HOOK, 0, "")


@check
async def a_list_is_what_was_asked_for_in_its_order(bench: Bench) -> None:
    async with bench.opened() as it:
        for name, state in (("d1", S.DEAD), ("u1", S.UNKNOWN), ("d2", S.DEAD), ("p1", S.PREPARED)):
            await bring(it, name, state)
        await it.enqueue(intent("t1", address=direct("7", channel="telegram")))
        assert await ids(it) == ["d1", "u1", "d2", "p1", "t1"]
        assert await ids(it, states=(S.DEAD,)) == ["d1", "d2"]
        assert await ids(it, states=(S.DEAD, S.UNKNOWN)) == ["d1", "u1", "d2"]
        assert await ids(it, channel="telegram") == ["t1"]
        assert await ids(it, ids=("t1", "d2", "nobody")) == ["d2", "t1"]
        # What was written last at 2 is open; the others ended at 3.
        assert await ids(it, before=3.0) == ["p1", "t1"]
        assert await ids(it, before=2.0) == []
        assert await ids(it, states=(S.DEAD,), channel="telegram") == []


@check
async def a_list_comes_in_pages(bench: Bench) -> None:
    async with bench.opened() as it:
        names = [f"i{n}" for n in range(7)]
        for name in names:
            await it.enqueue(intent(name))
        found: list[str] = []
        after = 0
        while page := await it.store.read(ListIntents(which=QueueFilter(), after=after, limit=3)):
            assert 1 <= len(list(page)) <= 3
            found += [row.id for row in page]
            after = page[-1].n
        assert found == names


@check
async def one_is_shown_with_all_that_is_known_of_it(bench: Bench) -> None:
    async with bench.opened() as it:
        row = intent("i1", "one", "two", media=("/a.png",), payload="{}", hooks_pending=True, best_effort=True)
        await it.enqueue(row)
        await it.store.write(AckChunk(intent=row, receipt=receipt("901"), mirror=None, now=3.0, mirror_due=False), same)
        shown = await it.store.read(ShowIntent(intent="i1"))
    assert shown.intent == changed(row, acked=1, reason=Reason.ACCEPTED, updated_at=3.0)
    assert shown.receipts == (receipt("901"),)


@check
async def an_unknown_name_is_reported_with_similar_ones(bench: Bench) -> None:
    async with bench.opened() as it:
        for name in ("m1.reply", "m12.reply", "other"):
            await it.enqueue(intent(name))
        with pytest.raises(UnknownName, match=r"no intent 'm1'; did you mean m12\.reply, m1\.reply\?$"):
            await it.store.read(ShowIntent(intent="m1"))
        for name in ("zzz", ""):
            with pytest.raises(UnknownName, match=f"no intent '{name}'$"):
                await it.store.read(ShowIntent(intent=name))
        with pytest.raises(UnknownName):
            await it.store.write(RetryIntent(intent="m1", now=9.0), answer)
        with pytest.raises(UnknownName):
            await it.store.write(ResolveIntent(intent="m1", verdict=QueueVerdict.SENT, now=9.0), answer)
        assert await nudges(it) == ()


# ---------------------------------------------------------------- again


@check
async def what_is_tried_again_is_as_young_as_new_and_behind_all_others(bench: Bench) -> None:
    async with bench.opened() as it:
        for state in (S.DEAD, S.FAILED, S.EXPIRED, S.PARTIAL):
            row = await bring(it, state.value, state)
            await it.enqueue(intent(f"after {state.value}"))
            await it.store.write(RetryIntent(intent=row.id, now=50.0), answer)
            assert await nudges(it) == (Nudge(intent=row.id, verb="retry", before=state),)
            found = await stored(it, row.id)
            assert found == changed(
                row, state=S.PREPARED, reason=Reason.OPERATOR_RETRY, created_at=50.0, updated_at=50.0, attempts=0
            )
    async with bench.opened() as it:
        order = [row.id for row in await it.open_rows()]
        assert order == [
            name for state in ("dead", "failed", "expired", "partial") for name in (f"after {state}", state)
        ]
        # What comes later is behind it.
        await it.enqueue(intent("new"))
        assert [row.id for row in await it.open_rows()][-2:] == ["partial", "new"]


@check
async def nothing_is_left_of_the_doubts_and_waits_of_the_try_before(bench: Bench) -> None:
    async with bench.opened() as it:
        row = intent("i1", attempts=3)
        await it.enqueue(row)
        doubt = changed(row, marked=True, doubt_at=2.0, transport=Transport.GATEWAY)
        await it.store.write(Defer(intent=doubt, next_at=60.0, reason=Reason.MARKED_RESEND, now=3.0), same)
        await it.end(changed(row), DeliveryEvent.PARK)
        await it.store.write(ResolveIntent(intent="i1", verdict=QueueVerdict.UNSENT, now=9.0), answer)
        found = await stored(it, "i1")
        assert (
            found.progress.marked,
            found.progress.doubt_at,
            found.progress.transport,
            found.progress.next_at,
            found.progress.attempts,
        ) == (False, None, None, None, 0)


@check
async def the_rest_of_a_part_is_sent_and_its_line_grows_in_place(bench: Bench) -> None:
    async with bench.opened() as it:
        await bring(it, "i1", S.PARTIAL)
        await it.admit("m1")
        assert await it.lines() == [("assistant", "one", "i1", True), ("user", "text of m1", "m1", False)]
        await it.store.write(RetryIntent(intent="i1", now=9.0), answer)
    async with bench.opened() as it:
        settled = await finish(it, "i1")
        assert settled == Settlement(mirror=row_of("s-mirror", created=False), mirror_text="one\ntwo\nthree")
        assert await it.lines() == [("assistant", "one\ntwo\nthree", "i1", False), ("user", "text of m1", "m1", False)]
        assert len((await it.store.read(ShowIntent(intent="i1"))).receipts) == 3


@check
async def a_try_that_its_client_has_replaced_is_not_sent_too(bench: Bench) -> None:
    async with bench.opened() as it:
        first = await begin(it, send())
        assert first.intent is not None
        await it.end(first.intent, DeliveryEvent.REFUSE)
        await begin(it, send(), again=True)
        shown = await it.store.read(ShowIntent(intent="send:k1"))
        with pytest.raises(IllegalTransition, match=r"the try that counts is send:k1\+2"):
            await it.store.write(RetryIntent(intent="send:k1", now=9.0), answer)
        assert (await it.store.read(ShowIntent(intent="send:k1")), await nudges(it)) == (shown, ())
        await it.end(await stored(it, "send:k1+2"), DeliveryEvent.REFUSE)
        await it.store.write(RetryIntent(intent="send:k1+2", now=9.0), answer)
        assert [row.id for row in await it.open_rows()] == ["send:k1+2"]


# ---------------------------------------------------------------- what became of a chunk in doubt


@check
async def a_last_chunk_that_was_sent_ends_it_and_its_line_is_due(bench: Bench) -> None:
    async with bench.opened() as it:
        row = await parked(it, acked=2)
        assert await it.lines() == [("assistant", "one\ntwo", "i1", True)]
        await it.store.write(ResolveIntent(intent="i1", verdict=QueueVerdict.SENT, now=9.0, provider_id="777"), answer)
        shown = await it.store.read(ShowIntent(intent="i1"))
        assert shown.intent == changed(
            row, state=S.DELIVERED, acked=3, reason=Reason.OPERATOR_SENT, updated_at=9.0, created_at=1.0
        )
        assert [one.provider_id for one in shown.receipts] == ["900", "901", "777"]
        assert await nudges(it) == (Nudge(intent=row.id, verb="sent", before=S.UNKNOWN),)
    async with bench.opened() as it:
        [due] = await it.store.read(ListDueMirrors())
        await it.store.write(
            StoreMirror(intent=due.row, mirror=session(name="s-mirror"), now=9.0, note=None, wake=None), same
        )
        assert await it.lines() == [("assistant", "one\ntwo\nthree", "i1", False)]
        assert await it.store.read(ListDueMirrors()) == ()


@check
async def a_chunk_that_was_sent_lets_the_next_ones_go(bench: Bench) -> None:
    async with bench.opened() as it:
        row = await parked(it, acked=1)
        await it.enqueue(intent("i2"))
        await it.store.write(ResolveIntent(intent="i1", verdict=QueueVerdict.SENT, now=9.0), answer)
        found = await stored(it, "i1")
        assert found == changed(
            row, state=S.PREPARED, acked=2, reason=Reason.OPERATOR_SENT, created_at=9.0, updated_at=9.0
        )
        assert [row.id for row in await it.open_rows()] == ["i2", "i1"]
        assert [one.provider_id for one in (await it.store.read(ShowIntent(intent="i1"))).receipts] == [
            "900",
            "resolved-by-operator",
        ]
        assert await it.store.read(ListDueMirrors()) == ()
        await finish(it, "i1")
        assert await it.lines() == [("assistant", "one\ntwo\nthree", "i1", False)]


@check
async def a_chunk_that_was_not_sent_goes_out_again(bench: Bench) -> None:
    async with bench.opened() as it:
        row = await parked(it, acked=1)
        await it.store.write(ResolveIntent(intent="i1", verdict=QueueVerdict.UNSENT, now=9.0), answer)
        assert await stored(it, "i1") == changed(
            row, state=S.PREPARED, reason=Reason.OPERATOR_UNSENT, created_at=9.0, updated_at=9.0
        )
        assert await nudges(it) == (Nudge(intent=row.id, verb="unsent", before=S.UNKNOWN),)


@check
async def what_is_abandoned_stays_unknown(bench: Bench) -> None:
    async with bench.opened() as it:
        for name, acked in (("i1", 0), ("i2", 2)):
            await parked(it, name, acked=acked)
            await it.store.write(ResolveIntent(intent=name, verdict=QueueVerdict.ABANDON, now=9.0), answer)
            found = await stored(it, name)
            assert (found.progress.state, found.progress.acked, found.progress.reason) == (
                S.UNKNOWN,
                acked,
                Reason.ABANDONED,
            )
        # The line of what was accepted is there already: to store it again is nothing new.
        # Lines follow from what the operator did, so they come after that is taken up.
        assert await it.store.read(ListDueMirrors()) == ()
        assert len(await nudges(it)) == 2
        [due] = await it.store.read(ListDueMirrors())
        assert (
            due.row.id,
            await it.store.write(StoreMirror(intent=due.row, mirror=session(), now=9.0, note=None, wake=None), same),
        ) == ("i2", Settlement(mirror=None))
        assert await it.lines() == [("assistant", "one\ntwo", "i2", True)]


@check
async def of_two_verdicts_at_once_one_counts(bench: Bench) -> None:
    async with bench.opened() as it:
        for n, first in enumerate((QueueVerdict.SENT, QueueVerdict.UNSENT)):
            await parked(it, f"i{n}")
            commands = [ResolveIntent(intent=f"i{n}", verdict=one, now=9.0) for one in (first, *QueueVerdict)]
            answers = await all_at_once(*(partial(it.store.write, command, answer) for command in commands))
            assert [type(one) for one in answers] == [IntentRow, *[IllegalTransition] * len(QueueVerdict)]
            assert [one.verb for one in await nudges(it)] == [first.value]


@check
async def what_was_abandoned_may_still_be_cleared_up_but_not_abandoned_again(bench: Bench) -> None:
    verdicts = (QueueVerdict.ABANDON, QueueVerdict.ABANDON, QueueVerdict.SENT, QueueVerdict.UNSENT)
    async with bench.opened() as it:
        await parked(it, "i1")
        commands = [ResolveIntent(intent="i1", verdict=one, now=9.0) for one in verdicts]
        answers = await all_at_once(*(partial(it.store.write, command, answer) for command in commands))
        assert [type(one) for one in answers] == [IntentRow, IllegalTransition, IntentRow, IllegalTransition]
        found = await stored(it, "i1")
        assert (found.progress.state, found.progress.acked) == (S.PREPARED, 1)
        assert [one.verb for one in await nudges(it)] == ["abandon", "sent"]


# ---------------------------------------------------------------- the process that works the store


@check
async def what_an_operator_changed_from_outside_is_seen_once(bench: Bench) -> None:
    async with bench.opened() as it, bench.opened() as outside:
        await parked(it, "i1")
        await parked(it, "i2")
        assert await it.store.read(HasNudges()) is False
        await outside.store.write(ResolveIntent(intent="i2", verdict=QueueVerdict.ABANDON, now=9.0), answer)
        await outside.store.write(ResolveIntent(intent="i1", verdict=QueueVerdict.UNSENT, now=9.0), answer)
        await outside.store.write(ResolveIntent(intent="i2", verdict=QueueVerdict.UNSENT, now=9.0), answer)
        assert await it.store.read(HasNudges()) is True
        assert [(one.intent, one.verb, one.before) for one in await nudges(it)] == [
            ("i2", "abandon", S.UNKNOWN),
            ("i1", "unsent", S.UNKNOWN),
            ("i2", "unsent", S.UNKNOWN),
        ]
        assert (await it.store.read(HasNudges()), await nudges(it)) == (False, ())


@check
async def what_is_written_from_outside_for_other_reasons_is_no_nudge(bench: Bench) -> None:
    async with bench.opened() as it, bench.opened() as outside:
        assert await it.store.read(HasNudges()) is False
        await outside.enqueue(intent("i1"))
        assert await it.store.read(HasNudges()) is False


@check
async def what_was_changed_while_nobody_looked_is_found_later(bench: Bench) -> None:
    async with bench.opened() as it:
        await parked(it)
        await it.store.write(ResolveIntent(intent="i1", verdict=QueueVerdict.UNSENT, now=9.0), answer)
    async with bench.opened() as it:
        assert await it.store.read(HasNudges()) is True
        assert [one.intent for one in await nudges(it)] == ["i1"]


@check
async def many_nudges_come_in_parts_and_in_order(bench: Bench) -> None:
    async with bench.opened() as it:
        names = [f"i{n}" for n in range(BATCH + 1)]
        await all_at_once(*(lambda name=name: it.enqueue(intent(name)) for name in names))
        await all_at_once(*(lambda name=name: it.end(intent(name), DeliveryEvent.EXHAUST) for name in names))
        await all_at_once(
            *(lambda name=name: it.store.write(RetryIntent(intent=name, now=9.0), answer) for name in names)
        )
        parts = [[one.intent for one in await nudges(it)] for _ in range(3)]
        assert parts == [names[:BATCH], names[BATCH:], []]
