"""S29 to S34: what survives the death of the process, at each point at which it may die."""

import anyio
import pytest

from tests.support.hands.roles import Asker, ran, takes
from tests.support.hands.stage import ANA, Stage, staged
from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.errors import LeaseLost
from trunkline.core.events.hands import DelegationFinished
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.core.values import Idempotency

LONG = "a line of the report\n" * 400


def says(turn):
    return f"{turn.callback.outcome.value}: {turn.text}"


def test_s29_everything_that_is_needed_is_in_the_tables():
    async def play(stage: Stage) -> None:
        message = stage.say(ANA, "clean")
        await anyio.sleep(5)
        (row,) = await stage.rows()
        assert (row.agent, row.hand, row.task, row.state) == ("main", "clerk", "clean", WorkState.RUNNING)
        assert row.callback is CallbackState.WAITING
        assert row.origin.asked_by.id == "ana" and row.origin.message_id == message and row.reply_to == ANA
        assert row.accepted_at <= row.started_at < row.deadline
        await anyio.sleep(60)
        (row,) = await stage.rows()
        details = await stage.details(row.id)
        assert (details.row.outcome, details.row.finished_at) == (HandOutcome.OK, row.finished_at)
        assert [intent.state for intent in details.intents] == ["delivered"]

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(10)})


def test_s30_a_hand_that_was_accepted_and_not_started_is_started_by_the_next_process():
    runs = []

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await stage.until("SELECT 1 FROM delegations")
        stage.kill()
        assert runs == []
        stage.start()
        await anyio.sleep(60)
        assert len(runs) == 1
        assert stage.texts(ANA) == ["on it: clean", "clerk: done: clean"]

    staged(play, agents={"main": Asker()}, hands={"clerk": ran(runs, takes(3))})


@pytest.mark.parametrize("policy", ["lost", "rerun"])
def test_s30_a_running_hand_is_run_again_or_reported_as_lost(policy):
    runs, main = [], Asker(answer=says)

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(5)
        stage.restart()
        await anyio.sleep(60)
        assert len(runs) == (2 if policy == "rerun" else 1)
        (said,) = stage.texts(ANA)[1:]
        assert said.startswith("ok: " if policy == "rerun" else "lost: ")
        (row,) = await stage.rows()
        assert row.state is (WorkState.SUCCEEDED if policy == "rerun" else WorkState.LOST)

    config = {"hands": {"defaults": {"on_restart": policy}}}
    staged(play, agents={"main": main}, hands={"clerk": ran(runs, takes(10))}, config=config)


def test_s30_a_hand_that_the_next_process_does_not_have_is_reported_as_that():
    main = Asker()

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(3)
        stage.hands.clear()
        stage.restart()
        await anyio.sleep(60)
        (row,) = await stage.rows()
        assert (row.state, row.callback) == (WorkState.FAILED, CallbackState.DELIVERED)
        (finished,) = stage.bodies(DelegationFinished)
        assert finished.reason is Reason.UNKNOWN_HAND
        assert stage.texts(ANA) == ["on it: clean", "clerk: no hand 'clerk' is installed any more"]

    config = {"hands": {"each": {"clerk": {"on_restart": "rerun"}}}}
    staged(play, agents={"main": main}, hands={"clerk": takes(20)}, config=config)


def test_s30_a_run_does_not_outlive_its_age_over_restarts():
    runs, main = [], Asker(answer=says)

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(5)
        stage.kill()
        await anyio.sleep(200)
        stage.start()
        await anyio.sleep(60)
        assert len(runs) == 1
        (said,) = stage.texts(ANA)[1:]
        assert said.startswith("timeout: ")

    config = {"hands": {"defaults": {"on_restart": "rerun"}, "limits": {"max_age": 100}}}
    staged(play, agents={"main": main}, hands={"clerk": ran(runs, takes(10))}, config=config)


FINISHED = "SELECT 1 FROM delegations WHERE state = 'succeeded'"
QUEUED = "SELECT 1 FROM intents WHERE id LIKE '%.back.%'"


def test_s31_a_result_that_is_stored_gets_its_turn_once():
    main = Asker()

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await stage.until(FINISHED)
        stage.restart()
        await anyio.sleep(60)
        assert stage.texts(ANA) == ["on it: clean", "clerk: done: clean"]

    staged(play, agents={"main": main}, hands={"clerk": takes(5)})


def test_s31_a_turn_that_died_runs_again_and_says_nothing_twice():
    turns = []

    async def main(turn):
        if turn.callback is None:
            await turn.delegate("clerk", turn.text)
            return "on it"
        turns.append(turn.id)
        await turn.send("one moment")
        await anyio.sleep(10)
        return turn.text

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(8)
        assert len(turns) == 1
        stage.restart()
        await anyio.sleep(60)
        assert turns == [turns[0]] * 2
        assert stage.texts(ANA) == ["on it", "one moment", "done: clean"]

    staged(play, agents={"main": main}, hands={"clerk": takes(5)})


def test_s31_a_turn_whose_answer_is_queued_does_not_run_again():
    main = Asker()

    async def play(stage: Stage) -> None:
        stage.account(ANA).latency = 2
        stage.say(ANA, "clean")
        await stage.until(QUEUED)
        stage.restart()
        await anyio.sleep(60)
        assert len(main.heard) == 1
        assert stage.texts(ANA) == ["on it: clean", "clerk: done: clean"]

    staged(play, agents={"main": main}, hands={"clerk": takes(5)})


@pytest.mark.parametrize("able", [Idempotency.KEY, Idempotency.LOOKUP, Idempotency.NONE])
def test_s32_a_send_in_doubt_is_resolved_or_parked_and_never_repeated_in_silence(able):
    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(5)
        while len(stage.texts(ANA)) < 2:  # noqa: ASYNC110 -- the platform tells nobody
            await anyio.sleep(0.0001)
        # The platform has it, and the gateway dies before it has stored that.
        stage.restart()
        await anyio.sleep(120)
        notice = [DeliveryConfig().doubt_notice] if able is Idempotency.NONE else []
        assert stage.texts(ANA) == ["on it: clean", "clerk: done: clean", *notice]
        (row,) = await stage.rows()
        assert row.callback is (CallbackState.PARKED if able is Idempotency.NONE else CallbackState.DELIVERED)

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(8)}, idempotency=able)


def test_s33_a_process_that_lost_the_store_completes_nothing_and_sends_nothing():
    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(5)
        stale, task = stage.gateway, stage.task
        # Another one takes over, as if this one had been gone for long.
        stage.disk.lock = None
        stage.disk.open().execute("UPDATE lease SET until = 0")
        stage.start()
        await anyio.sleep(60)
        assert isinstance(task.exception(), LeaseLost) and stale is not stage.gateway
        assert len(stage.texts(ANA)) == 2
        (row,) = await stage.rows()
        assert row.callback is CallbackState.DELIVERED

    main = Asker(answer=says)
    config = {"hands": {"defaults": {"on_restart": "rerun"}}}
    staged(play, agents={"main": main}, hands={"clerk": takes(20)}, config=config)


def test_s34_d12_a_large_result_is_stored_once_by_its_content_and_reported_whole():
    main = Asker(answer=lambda turn: f"{len(turn.text)}")

    async def play(stage: Stage) -> None:
        stage.say(ANA, "one")
        stage.say(ANA, "two")
        db = stage.disk.open()
        await stage.until("SELECT 1 WHERE (SELECT count(*) FROM delegations WHERE state = 'succeeded') = 2")
        assert db.execute("SELECT count(*) FROM results").fetchone() == (1,)
        stage.restart()
        await anyio.sleep(60)
        assert {heard.text for heard in main.heard} == {LONG}
        assert stage.texts(ANA)[-2:] == [str(len(LONG))] * 2
        assert {row.callback for row in await stage.rows()} == {CallbackState.DELIVERED}
        # Nobody needs the text any more.
        assert db.execute("SELECT count(*) FROM results").fetchone() == (0,)

    config = {"hands": {"limits": {"inline_result": 1000}}}
    staged(play, agents={"main": main}, hands={"clerk": takes(5, LONG)}, config=config)
