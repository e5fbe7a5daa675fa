"""S27 and S28: cancels and timeouts."""

import anyio
import pytest

from tests.support.hands.roles import Asker, takes
from tests.support.hands.stage import ANA, Stage, staged
from trunkline.core.events.hands import DelegationIgnored
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.core.store.delegations import HandPost, PostToGateway, PostVerb


def says(turn):
    return f"{turn.callback.outcome.value}: {turn.text}"


@pytest.mark.parametrize("on_cancel", ["report", "silent"])
def test_s27_an_operator_cancels_the_hand_is_stopped_and_it_is_reported_only_if_configured(on_cancel):
    stopped = []

    async def clerk(task):
        try:
            await anyio.sleep(1000)
        except anyio.get_cancelled_exc_class():
            stopped.append(task.delegation)
            raise

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(5)
        (row,) = await stage.rows()
        await stage.inside(stage.gateway.hands.cancel(row.id))
        await anyio.sleep(60)
        (row,) = await stage.rows()
        assert stopped == [row.id] and row.state is WorkState.CANCELLED
        texts = stage.texts(ANA)[1:]
        if on_cancel == "report":
            assert len(texts) == 1 and texts[0].startswith("cancelled: ")
        else:
            assert texts == []
            assert (row.callback, row.callback_reason) == (CallbackState.SUPPRESSED, Reason.CALLBACK_OFF)

    main = Asker(answer=says)
    staged(play, agents={"main": main}, hands={"clerk": clerk}, config={"hands": {"on_cancel": on_cancel}})


def test_s27_a_result_that_comes_after_the_cancel_is_recorded_as_ignored():
    main = Asker("courier", answer=says)

    async def play(stage: Stage) -> None:
        stage.say(ANA, "fetch")
        await anyio.sleep(2)
        hands = stage.gateway.hands
        task = await stage.inside(hands.take("courier", "w1"))
        await stage.inside(hands.cancel(task.delegation))
        late = HandResult(outcome=HandOutcome.OK, text="too late")
        await stage.inside(stage.gateway.inject_callback(task.delegation, late, ticket=task.ticket))
        await anyio.sleep(60)
        (ignored,) = stage.bodies(DelegationIgnored)
        assert ignored.text == "too late"
        assert [late.text for late in (await stage.details(task.delegation)).late] == ["too late"]
        assert len(stage.texts(ANA)) == 2 and "too late" not in stage.texts(ANA)[1]

    staged(play, agents={"main": main}, config={"hands": {"each": {"courier": {"worker": True}}}})


def test_s27_an_agent_that_cancels_its_own_delegation_gets_no_callback():
    given = []

    async def main(turn):
        if turn.callback is not None:
            return "never"
        if turn.text == "stop":
            for one in await _listed(turn):
                given.append(await turn.cancel(one.delegation))
            return "stopped"
        await turn.send_async("clerk", turn.text)
        return "on it"

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(5)
        stage.say(ANA, "stop")
        await anyio.sleep(60)
        assert given == [True]
        assert stage.texts(ANA) == ["on it", "stopped"]
        (row,) = await stage.rows()
        assert (row.state, row.callback) == (WorkState.CANCELLED, CallbackState.SUPPRESSED)
        assert row.callback_reason is Reason.CANCELLED_BY_AGENT

    staged(play, agents={"main": main}, hands={"clerk": takes(1000)})


async def _listed(turn):
    found = turn.delegations()
    return found if isinstance(found, tuple) else await found


@pytest.mark.parametrize("on_timeout", ["report", "silent"])
def test_s28_a_timeout_produces_a_callback_unless_configured_to_be_silent(on_timeout):
    async def main(turn):
        if turn.callback is not None:
            return says(turn)
        await turn.send_async("clerk", turn.text, timeout=7)
        return "on it"

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(6)
        assert (await stage.rows())[0].state is WorkState.RUNNING
        await anyio.sleep(60)
        (row,) = await stage.rows()
        assert row.state is WorkState.TIMED_OUT
        texts = stage.texts(ANA)[1:]
        if on_timeout == "report":
            assert len(texts) == 1 and texts[0].startswith("timeout: ")
        else:
            assert texts == [] and row.callback_reason is Reason.CALLBACK_OFF

    hands = {"clerk": takes(1000)}
    staged(play, agents={"main": main}, hands=hands, config={"hands": {"on_timeout": on_timeout}})


def test_s28_result_and_timeout_in_the_same_moment_give_one_report():
    main = Asker(answer=says)

    async def play(stage: Stage) -> None:
        for number in range(20):
            stage.say(ANA, f"task {number}")
        await anyio.sleep(120)
        assert len(main.heard) == 20
        assert len(stage.texts(ANA)) == 40

    config = {"hands": {"defaults": {"deadline": 10}}}
    staged(play, agents={"main": main}, hands={"clerk": takes(10)}, config=config)


def test_s28_an_answer_that_a_worker_left_in_time_counts_although_nobody_has_taken_it_yet():
    main = Asker("courier", answer=says)

    async def play(stage: Stage) -> None:
        stage.say(ANA, "fetch")
        await anyio.sleep(2)
        # The gateway looks at what others have left every twenty seconds; the deadline comes before that.
        task = await stage.inside(stage.gateway.hands.take("courier", "w1"))
        await anyio.sleep(20 - anyio.current_time() % 20 + 1)
        post = HandPost(
            delegation=task.delegation, verb=PostVerb.ANSWER, outcome=HandOutcome.OK, text="in time", ticket=task.ticket
        )
        await stage.write(PostToGateway(post=post))
        await anyio.sleep(30)
        assert stage.texts(ANA) == ["on it: fetch", "ok: in time"]

    config = {"hands": {"each": {"courier": {"worker": True, "deadline": 30}}}}
    staged(play, agents={"main": main}, config=config)
