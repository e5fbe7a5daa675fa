"""What every store must do with messages, sessions, turns and intents."""

import pytest

from tests.contract.store_kit.bench import Bench, all_at_once, check, row_of, same
from tests.support.factories import changed, intent, room, session, work
from tests.support.stores import state_of
from trunkline.core.errors import IllegalTransition
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import Admission, Settlement
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import Defer, EnsureSession, FinishTurn, MarkSending, TurnFinish
from trunkline.core.store.port import answer
from trunkline.core.store.queries import LoadUnfinished
from trunkline.core.values import InboundId, IntentId, IntentState

REPEATS_M1 = Admission(session=None, first=InboundId("m1"))


# ---------------------------------------------------------------- messages and sessions


@check
async def a_new_message_is_stored_with_its_session_and_its_line(bench: Bench) -> None:
    async with bench.opened() as it:
        admission = await it.admit("m1")
        assert admission == Admission(session=row_of("s-m1", created=True))
        assert await it.lines() == [("user", "text of m1", "m1", False)]
        assert (await it.admit("again", "id-m1")).first == "m1"


@check
async def a_second_message_joins_the_session(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        admission = await it.admit("m2")
        assert admission == Admission(session=row_of("s-m1", created=False))
        assert [ref for _, _, ref, _ in await it.lines()] == ["m1", "m2"]


@check
async def a_message_that_is_known_stores_nothing_and_gives_the_first(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1", "same")
        assert await it.admit("m2", "same", key="main:other") == REPEATS_M1
        assert await it.lines("main:other") == []
        assert [item.id for item, _ in (await it.store.read(LoadUnfinished())).works] == ["m1"]


@check
async def the_very_same_message_again_gives_the_first(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        assert await it.admit("m1") == REPEATS_M1
        assert len(await it.lines()) == 1


@check
async def of_fifty_copies_at_once_one_is_admitted(bench: Bench) -> None:
    async with bench.opened() as it:
        names = [f"m{number}" for number in range(50)]
        answers = await all_at_once(*(lambda name=name: it.admit(name, "same") for name in names))
        admitted = [name for name, answer in zip(names, answers, strict=True) if answer.session is not None]
        assert len(admitted) == 1
        assert {answer.first for answer in answers if answer.session is None} == set(admitted)
        assert len(await it.lines()) == 1


@check
async def of_fifty_first_messages_at_once_one_creates_the_session(bench: Bench) -> None:
    async with bench.opened() as it:
        answers = await all_at_once(*(lambda number=number: it.admit(f"m{number}") for number in range(50)))
        rows = [answer.session for answer in answers]
        assert sum(row.created for row in rows) == 1
        assert len({row.id for row in rows}) == 1
        assert len(await it.lines()) == 50


@check
async def sessions_of_two_keys_are_two(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        await it.admit("m2", key="main:discord:default:direct:200")
        assert await it.lines() == [("user", "text of m1", "m1", False)]
        assert await it.lines("main:discord:default:direct:200") == [("user", "text of m2", "m2", False)]


@check
async def a_session_keeps_its_id_when_the_store_is_opened_again(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
    async with bench.opened() as it:
        admission = await it.admit("m2")
        assert admission.session == row_of("s-m1", created=False)
        assert (await it.admit("m1")).first == "m1"


@check
async def a_session_is_ensured_once(bench: Bench) -> None:
    async with bench.opened() as it:
        one = await it.store.write(EnsureSession(session=session(name="s1"), now=1.0), same)
        two = await it.store.write(EnsureSession(session=session(name="s2"), now=2.0), same)
        assert (one.id, one.created, two.id, two.created) == ("s1", True, "s1", False)


@check
async def what_is_not_there_is_none(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await state_of(it.store, IntentId("nothing")) is None
        assert await it.lines() == []
        left = await it.store.read(LoadUnfinished())
        assert (left.works, left.intents, left.delegations) == ((), 0, ())


@check
async def texts_are_kept_as_they_are(bench: Bench) -> None:
    odd = "é ñ 😀 \x00 \u2028 '; DROP TABLE inbox; -- \r\n\t"
    async with bench.opened() as it:
        await it.admit("m1", text=odd)
        await it.enqueue(intent("i1", odd, address=room("ÄÖ", parent="'")))
    async with bench.opened() as it:
        left = await it.store.read(LoadUnfinished())
        assert left.works[0][0].text == odd
        assert (await it.open_rows())[0] == intent("i1", odd, address=room("ÄÖ", parent="'"))
        # A store whose texts have no NUL has the sign for what cannot be shown instead.
        [(_, text, _, _)] = await it.lines()
        assert text in (odd, odd.replace("\x00", "\ufffd"))


# ---------------------------------------------------------------- turns and intents


@check
async def a_turn_ends_together_with_what_it_says(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        new = await it.store.write(FinishTurn(work=work("m1"), intents=[intent("i1"), intent("i2")], now=2.0), same)
        assert new == TurnFinish(new=(IntentId("i1"), IntentId("i2")))
        left = await it.store.read(LoadUnfinished())
        assert left.works == ()
        assert [row.id for row in await it.open_rows()] == ["i1", "i2"]


@check
async def a_turn_that_is_run_again_says_nothing_twice(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        await it.enqueue(intent("tool", "said by the tool"))
        assert await it.store.write(
            FinishTurn(work=work("m1"), intents=[intent("i1", "first")], now=2.0), same
        ) == TurnFinish(new=(IntentId("i1"),))
        again = [intent("i1", "other words"), intent("i2", "new")]
        assert await it.store.write(FinishTurn(work=work("m1"), intents=again, now=3.0), same) == TurnFinish(
            new=(IntentId("i2"),)
        )
        assert [row.content.chunks for row in await it.open_rows()] == [("said by the tool",), ("first",), ("new",)]


@check
async def an_intent_is_enqueued_once_and_its_first_bytes_count(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await it.enqueue(intent("i1", "first")) is True
        assert await it.enqueue(intent("i1", "second")) is False
        assert [row.content.chunks for row in await it.open_rows()] == [("first",)]


@check
async def an_intent_that_is_done_is_not_enqueued_again(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1"))
        await it.ack(intent("i1"))
        assert await it.enqueue(intent("i1")) is False
        assert await state_of(it.store, IntentId("i1")) is IntentState.DELIVERED


@check
async def the_last_receipt_settles_and_mirrors_in_one(bench: Bench) -> None:
    row = intent("i1", "one", "two")
    async with bench.opened() as it:
        await it.enqueue(row)
        assert await it.ack(row) == Settlement(mirror=None)
        assert await it.lines() == []
        settled = await it.ack(changed(row, acked=1))
        mirror = row_of("s-mirror", created=True)
        assert settled == Settlement(mirror=mirror, mirror_text="one\ntwo")
        assert await state_of(it.store, row.id) is IntentState.DELIVERED
        assert await it.lines() == [("assistant", "one\ntwo", "i1", False)]
        assert await it.open_rows() == ()


@check
async def a_mirror_joins_the_session_that_is_there(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        await it.enqueue(intent("i1"))
        settled = await it.ack(intent("i1"))
        assert settled.mirror == row_of("s-m1", created=False)
        assert [(role, ref) for role, _, ref, _ in await it.lines()] == [("user", "m1"), ("assistant", "i1")]


@check
async def without_a_mirror_nothing_is_mirrored(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1"))
        assert await it.ack(intent("i1"), mirror=False) == Settlement(mirror=None)
        assert await it.lines() == []


@check
async def a_receipt_counts_once(bench: Bench) -> None:
    row = intent("i1", "one", "two", "three")
    async with bench.opened() as it:
        await it.enqueue(row)
        await it.ack(row)
        with pytest.raises(IllegalTransition):
            await it.ack(row)
        assert [row.progress.acked for row in await it.open_rows()] == [1]


@check
async def a_last_receipt_counts_once(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1"))
        answers = await all_at_once(*[lambda: it.ack(intent("i1"))] * 5)
        assert sum(isinstance(answer, Settlement) for answer in answers) == 1
        assert sum(isinstance(answer, IllegalTransition) for answer in answers) == 4
        assert len(await it.lines()) == 1


@check
async def an_attempt_that_is_marked_and_put_off_is_found_as_such(bench: Bench) -> None:
    row = intent("i1", attempts=1)
    async with bench.opened() as it:
        await it.enqueue(intent("i1"))
        await it.store.write(MarkSending(intent=row, now=2.0), answer)
        [found] = await it.open_rows()
        assert (found.progress.state, found.progress.attempts) == (IntentState.SENDING, 1)
        await it.store.write(
            Defer(intent=changed(found, attempts=2), next_at=60.0, reason=Reason.RATE_LIMITED, now=3.0), same
        )
    async with bench.opened() as it:
        [found] = await it.open_rows()
        assert (found.progress.state, found.progress.attempts) == (IntentState.PREPARED, 2)


@check
async def a_notice_of_an_intent_that_is_put_off_is_stored_with_it_once(bench: Bench) -> None:
    row, notice = intent("i1", attempts=1), intent("i1.closed.notice")
    async with bench.opened() as it:
        await it.enqueue(intent("i1"))
        put_off = Defer(intent=row, next_at=60.0, reason=Reason.PLACE_CLOSED, notice=notice, now=3.0)
        assert [await it.store.write(put_off, same) for _ in range(2)] == [True, False]
    async with bench.opened() as it:
        assert [row.id for row in await it.open_rows()] == ["i1", "i1.closed.notice"]


@check
async def a_new_chunk_begins_with_no_attempts(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1", "one", "two"))
        await it.ack(intent("i1", "one", "two", attempts=4))
        assert [(row.progress.acked, row.progress.attempts) for row in await it.open_rows()] == [(1, 0)]


@check
async def what_was_accepted_of_a_broken_off_intent_is_mirrored_as_partial(bench: Bench) -> None:
    row = intent("i1", "one", "two", "three")
    async with bench.opened() as it:
        await it.enqueue(row)
        await it.ack(row)
        settled = await it.end(changed(row, acked=1), DeliveryEvent.REFUSE)
        assert settled.mirror_text == "one"
        assert await it.lines() == [("assistant", "one", "i1", True)]
        assert await state_of(it.store, row.id) is IntentState.PARTIAL
        assert await it.open_rows() == ()


@check
async def an_intent_that_ends_without_any_receipt_is_not_mirrored(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1"))
        assert await it.end(intent("i1"), DeliveryEvent.REFUSE) == Settlement(mirror=None)
        assert await it.lines() == []
