"""What every store must do with long results: the whole text once, for as long as somebody may need it."""

import msgspec
import pytest

from tests.contract.store_kit.bench import BACK, OK, Bench, Opened, check, finish, same
from tests.contract.store_kit.callbacks import message, state
from tests.contract.store_kit.workers import TASK, post, shown
from tests.support.factories import delegation, session
from trunkline.core.errors import AnswerRefused, UnknownName
from trunkline.core.hands.result_limits import kept_result
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandKind, HandResult
from trunkline.core.states.delegation import CallbackEvent, CallbackState
from trunkline.core.store.commands import Admit, FinishTurn, Prune
from trunkline.core.store.delegations import (
    AcceptDelegation,
    BeginCallback,
    ChangeCallback,
    FinishDelegation,
    HasPosts,
    PostToGateway,
    ReadResult,
    RetryCallback,
    ShowDelegation,
    TakeTask,
)
from trunkline.core.store.queries import LoadUnfinished

C, E = CallbackState, CallbackEvent


LONG = "three " * 100
KEPT = kept_result(LONG, 50)


async def long_result(it: Opened, name: str = "m1.hand1", *, callback: bool = True, text: str = LONG) -> None:
    """A delegation with a long result."""
    row = delegation(name)
    await it.store.write(AcceptDelegation(row=row), same)
    work = msgspec.structs.replace(BACK, id=f"{name}.back", text=KEPT.shown, text_ref=KEPT.ref)
    back = Admit(work=work, identity=f"callback/{name}", session=session(name="s-back"), now=3.0)
    done = FinishDelegation(
        delegation=row.id,
        result=HandResult(outcome=OK.outcome, text=text),
        callback=back if callback else None,
        intents=[],
        now=3.0,
        keep_text=True,
        inline=50,
    )
    await it.store.write(done, same)


@check
async def a_long_result_is_stored_once_for_all_that_need_it(bench: Bench) -> None:
    assert KEPT.ref is not None
    async with bench.opened() as it:
        await long_result(it)
        await long_result(it, "other")
        row = await shown(it)
        assert (row.result, row.result_ref) == (None, KEPT.ref)
        assert await it.store.read(ReadResult(ref=KEPT.ref)) == LONG
        [(work, _), _] = (await it.store.read(LoadUnfinished())).works
        assert (await it.store.write(BeginCallback(delegation=TASK, work=work), same)).text == LONG
        # Only the beginning is in the transcript, and it says so.
        assert (await it.lines())[0][1] == LONG[:50] + "\n[the beginning of 600 characters]"
        end = FinishTurn(work=work, intents=[message()], now=4.0, callback=E.ENQUEUE)
        await it.store.write(end, same)
        await it.ack(message())
        after = await shown(it)
        assert after.result_ref is None
        assert after.result is not None
        assert "[the beginning of 600 characters]" in after.result
        # The other one still needs it.
        assert await it.store.read(ReadResult(ref=KEPT.ref)) == LONG
        other = (await shown(it, "other")).id
        await it.store.write(ChangeCallback(delegation=other, event=E.DISCARD), same)
        with pytest.raises(UnknownName, match="no result"):
            await it.store.read(ReadResult(ref=KEPT.ref))


@check
async def a_long_result_stays_while_an_operator_can_have_it_reported(bench: Bench) -> None:
    assert KEPT.ref is not None
    async with bench.opened() as it:
        await long_result(it)
        await it.store.write(ChangeCallback(delegation=TASK, event=E.FAIL), same)
        assert await it.store.read(ReadResult(ref=KEPT.ref)) == LONG
        done = await it.store.write(RetryCallback(delegation=TASK, now=5.0), same)
        assert done.work is None or done.work.text_ref == KEPT.ref


@check
async def a_result_that_nothing_reports_stays_until_it_is_old(bench: Bench) -> None:
    assert KEPT.ref is not None
    async with bench.opened() as it:
        await long_result(it, callback=False)
        await long_result(it, "young")
        assert await state(it) == (C.SUPPRESSED, None)
        assert await it.store.read(ReadResult(ref=KEPT.ref)) == LONG
        await finish(it, result=HandResult(outcome=OK.outcome, text="late"))
        pruned = await it.store.write(Prune(cutoff=100.0), same)
        # Its callback is not closed.
        assert pruned.delegations == 1
        assert [row.result_ref for row in [await shown(it, "young")]] == [KEPT.ref]
        assert await it.store.read(ReadResult(ref=KEPT.ref)) == LONG
        with pytest.raises(UnknownName):
            await it.store.read(ShowDelegation(delegation=TASK))
        young = (await shown(it, "young")).id
        await it.store.write(ChangeCallback(delegation=young, event=E.FAIL), same)
        assert (await it.store.write(Prune(cutoff=2.0), same)).delegations == 0
        assert (await it.store.write(Prune(cutoff=100.0), same)).delegations == 1
        with pytest.raises(UnknownName):
            await it.store.read(ReadResult(ref=KEPT.ref))


@check
async def of_a_long_result_that_comes_too_late_the_beginning_is_kept(bench: Bench) -> None:
    async with bench.opened() as it:
        await long_result(it)
        await long_result(it, text=LONG + "late")
        await long_result(it, text="short")
        details = await it.store.read(ShowDelegation(delegation=TASK))
        assert [one.text for one in details.late] == [LONG[:50] + "\n[the beginning of 604 characters]", "short"]


@check
async def a_result_of_100_megabytes_is_refused_whole(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.write(AcceptDelegation(row=delegation(kind=HandKind.WORKER)), same)
        await it.store.write(TakeTask(hand="clerk", worker="w1", ticket="t1", now=2.0, post=False), same)
        with pytest.raises(AnswerRefused, match="100000000 characters, and 10000000 are allowed") as error:
            await it.store.write(PostToGateway(post=post(text="x" * 100_000_000)), same)
        assert error.value.reason is Reason.RESULT_TOO_LARGE
        assert await it.store.read(HasPosts()) is False
        row = await shown(it)
        assert (row.state.value, row.result, row.result_ref) == ("running", None, None)
