"""What every store must do with delegations, and with what an earlier process left open."""

import pytest

from tests.contract.store_kit.bench import BACK, Bench, all_at_once, check, finish, finished, same, too_late
from tests.support.factories import delegation, intent, room, session, work
from trunkline.core.errors import IllegalTransition
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.store.commands import Admit, FinishTurn, MarkSending
from trunkline.core.store.delegations import AcceptDelegation, StartDelegation
from trunkline.core.store.port import answer
from trunkline.core.store.queries import LoadUnfinished

# ---------------------------------------------------------------- delegations


@check
async def a_delegation_is_accepted_once(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await it.store.write(AcceptDelegation(row=delegation()), same) is True
        assert await it.store.write(AcceptDelegation(row=delegation(task="something else")), same) is False
        assert (await it.store.read(LoadUnfinished())).delegations == (delegation(),)


@check
async def a_delegation_without_an_origin_keeps_none(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.write(AcceptDelegation(row=delegation(reply_to=None)), same)
        assert (await it.store.read(LoadUnfinished())).delegations == (delegation(reply_to=None),)


@check
async def the_first_result_counts_and_sets_its_turn_going(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.write(AcceptDelegation(row=delegation()), same)
        await it.store.write(StartDelegation(delegation=delegation().id, now=2.0), answer)
        assert (await finish(it)).first
        late = HandResult(outcome=HandOutcome.ERROR, text="late")
        assert await finish(it, intent("late"), result=late) == too_late()
        left = await it.store.read(LoadUnfinished())
        assert left.delegations == ()
        assert left.intents == 0
        assert left.works == ((BACK, "s-back"),)
        assert await it.lines() == [("hand", "three", "m1.hand1.back", False)]


@check
async def of_two_results_at_once_one_counts(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.write(AcceptDelegation(row=delegation()), same)
        answers = await all_at_once(*[lambda: finish(it)] * 5)
        assert [answer.first for answer in answers].count(True) == 1
        assert len(await it.lines()) == 1


@check
async def a_result_that_is_posted_directly_starts_no_turn(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.write(AcceptDelegation(row=delegation()), same)
        assert await finish(it, intent("post"), callback=False) == finished(CallbackState.QUEUED)
        left = await it.store.read(LoadUnfinished())
        assert (left.works, [row.id for row in await it.open_rows()]) == ((), ["post"])
        assert await finish(it) == too_late()


@check
async def a_delegation_may_end_before_it_starts_but_not_start_after_its_end(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.write(AcceptDelegation(row=delegation()), same)
        assert (await finish(it)).first
        with pytest.raises(IllegalTransition, match="'start' on a delegation that is 'succeeded'"):
            await it.store.write(StartDelegation(delegation=delegation().id, now=2.0), answer)


@check
async def a_delegation_that_was_reported_cannot_start_either(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.write(AcceptDelegation(row=delegation()), same)
        await finish(it)
        await it.store.write(FinishTurn(work=BACK, intents=[], now=4.0), same)
        with pytest.raises(IllegalTransition, match="'start' on a delegation that is 'succeeded'"):
            await it.store.write(StartDelegation(delegation=delegation().id, now=2.0), answer)


@check
async def a_delegation_that_is_not_there_cannot_start(bench: Bench) -> None:
    async with bench.opened() as it:
        with pytest.raises(IllegalTransition, match="there is no delegation"):
            await it.store.write(StartDelegation(delegation=delegation().id, now=2.0), answer)


# ---------------------------------------------------------------- what is left open


@check
async def what_was_open_is_found_in_its_order_when_the_store_is_opened_again(bench: Bench) -> None:
    names = ["zeta", "alpha", "mid", "beta"]
    async with bench.opened() as it:
        for name in names:
            await it.admit(name, key=f"main:discord:default:direct:{name}")
            await it.enqueue(intent(f"{name}.i", name))
            await it.store.write(AcceptDelegation(row=delegation(f"{name}.d")), same)
        # What is done, and what changed, is not found and does not change the order.
        await it.store.write(FinishTurn(work=work("mid"), intents=[], now=3.0), same)
        await it.ack(intent("mid.i", "mid"))
        await it.store.write(MarkSending(intent=intent("zeta.i", "zeta", attempts=1), now=3.0), answer)
        await it.store.write(StartDelegation(delegation=delegation("zeta.d").id, now=2.0), answer)
    async with bench.opened() as it:
        left = await it.store.read(LoadUnfinished())
        assert [(item.id, found) for item, found in left.works] == [
            ("zeta", "s-zeta"),
            ("alpha", "s-alpha"),
            ("beta", "s-beta"),
        ]
        assert [(row.id, row.progress.state.value) for row in await it.open_rows()] == [
            ("zeta.i", "sending"),
            ("alpha.i", "prepared"),
            ("beta.i", "prepared"),
        ]
        assert [(row.id, row.state.value) for row in left.delegations] == [
            ("zeta.d", "running"),
            ("alpha.d", "accepted"),
            ("mid.d", "accepted"),
            ("beta.d", "accepted"),
        ]


@check
async def an_open_intent_is_found_with_everything_it_was_prepared_with(bench: Bench) -> None:
    row = intent(
        "i1",
        "one",
        "two",
        address=room("777", parent="500"),
        delegation=delegation().id,
        reply_to="m1",
        open_on="m1",
        mirror_key=None,
        turn=None,
        inbound=None,
    )
    item = work("m1", place=None, reply_to=room("777", parent="500"), open_on="m1", reply_reason=Reason.CALLBACK_TURN)
    async with bench.opened() as it:
        await it.enqueue(row)
        await it.store.write(Admit(work=item, identity="id-m1", session=session(address=None), now=1.0), same)
    async with bench.opened() as it:
        left = await it.store.read(LoadUnfinished())
        assert await it.open_rows() == (row,)
        assert left.works == ((item, "s1"),)
