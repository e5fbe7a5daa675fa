"""What an operator does with reports that have failed, and what a restart does with delegations."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.small_gateway import ANA, Echo, Running, TinyPlatform, let_pass, serving
from trunkline import HandTask, Turn
from trunkline.core.errors import IllegalTransition, PlaceGone
from trunkline.core.events.delivery import IntentSettled, OperatorActed
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.events.hands import CallbackChanged, DelegationAccepted, DelegationFinished, DelegationStarted
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.store.delegations import DelegationFilter

pytestmark = pytest.mark.anyio


class Moody(Echo):
    """An agent that fails in its callback turns as long as it is asked to."""

    def __init__(self, *, fails: bool) -> None:
        super().__init__(self._act)
        self.fails = fails

    async def _act(self, turn: Turn) -> str | None:
        if turn.callback is None:
            await turn.delegate("clerk", turn.text)
            return None
        if self.fails:
            raise RuntimeError("no mood")
        return f"result: {turn.text}"


async def ended_as(running: Running, state: CallbackState) -> str:
    """The id of the only delegation, once its callback has come this far."""
    with anyio.fail_after(10):
        while not any(one.state is state for one in await running.until(CallbackChanged)):
            await running.until(CallbackChanged, len(running.recorded(CallbackChanged)) + 1)
    [row] = (await running.gateway.hands.list()).rows
    assert row.callback is state
    return row.id


async def test_a_turn_that_failed_runs_again_when_an_operator_asks_for_it(path: Path, platform: TinyPlatform) -> None:
    agent = Moody(fails=True)
    async with serving(path, platform, agent, turns={"error_notice": ""}) as running:
        platform.say("m1", ANA, "count")
        name = await ended_as(running, CallbackState.UNDELIVERABLE)
        agent.fails = False
        retry = await running.gateway.hands.retry_callback(name, by="kim")
        assert retry.work is not None
        await running.until(IntentSettled)
        await ended_as(running, CallbackState.DELIVERED)
        with pytest.raises(IllegalTransition):
            await running.gateway.hands.retry_callback(name, by="kim")
    assert [one.text for one in platform.sent] == ["result: done: count"]
    assert [(one.verb, one.detail) for one in running.recorded(OperatorActed)] == [("retry-callback", "kim")]


async def test_messages_that_were_refused_are_sent_again(path: Path, platform: TinyPlatform) -> None:
    agent = Moody(fails=False)
    platform.errors = [PlaceGone("closed")]
    async with serving(path, platform, agent) as running:
        platform.say("m1", ANA, "count")
        name = await ended_as(running, CallbackState.UNDELIVERABLE)
        retry = await running.gateway.hands.retry_callback(name)
        assert len(retry.intents) == 1
        await running.until(IntentSettled, 2)
        await ended_as(running, CallbackState.DELIVERED)
    assert [one.text for one in platform.sent] == ["result: done: count"]


async def test_a_report_is_given_up_once(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, Moody(fails=True), turns={"error_notice": ""}) as running:
        platform.say("m1", ANA, "count")
        name = await ended_as(running, CallbackState.UNDELIVERABLE)
        change = await running.gateway.hands.discard(name, by="kim")
        assert (change.state, change.reason) == (CallbackState.SUPPRESSED, Reason.DISCARDED)
        with pytest.raises(IllegalTransition):
            await running.gateway.hands.discard(name, by="kim")
        which = DelegationFilter(callbacks=(CallbackState.SUPPRESSED,))
        assert [row.id for row in (await running.gateway.hands.list(which)).rows] == [name]
    assert platform.sent == []


class Stuck:
    """A hand that never ends."""

    def has(self, hand: str) -> bool:
        return hand == "clerk"

    async def run(self, task: HandTask) -> str:
        await anyio.sleep(3600)
        return "too late"


async def test_a_run_beyond_its_age_does_not_run_again(path: Path, platform: TinyPlatform) -> None:
    hands: dict[str, Any] = {"limits": {"max_age": "10m"}, "defaults": {"on_restart": "rerun"}}
    async with serving(path, platform, Moody(fails=False), runner=Stuck(), hands=hands) as running:
        platform.say("m1", ANA, "count")
        await running.until(DelegationStarted)
    let_pass(path, 1000)
    async with serving(path, platform, Moody(fails=False), runner=Stuck(), hands=hands) as running:
        [finished] = await running.until(DelegationFinished)
        assert running.recorded(DelegationStarted) == []
        await running.until(IntentSettled)
    assert (finished.outcome, finished.reason) == (HandOutcome.TIMEOUT, Reason.HAND_DEADLINE)
    assert [one.text for one in platform.sent] == ["result: no result within 600 s"]


async def test_a_run_that_starts_again_ends_at_the_age_of_its_delegation(path: Path, platform: TinyPlatform) -> None:
    hands: dict[str, Any] = {"limits": {"max_age": "1s"}, "defaults": {"on_restart": "rerun", "deadline": "0.9s"}}
    async with serving(path, platform, Moody(fails=False), runner=Stuck(), hands=hands) as running:
        platform.say("m1", ANA, "count")
        [accepted] = await running.until(DelegationAccepted)
        await running.until(DelegationStarted)
    async with serving(path, platform, Moody(fails=False), runner=Stuck(), hands=hands) as running:
        await running.until(DelegationFinished)
        [row] = (await running.gateway.hands.list()).rows
        assert row.deadline is not None
        assert row.deadline <= row.accepted_at + 1.0
        assert accepted.deadline == pytest.approx(row.accepted_at + 0.9)


async def test_a_task_whose_agent_takes_the_process_down_each_time_is_lost(path: Path, platform: TinyPlatform) -> None:
    async def main(turn: Turn) -> str | None:
        if turn.callback is not None:
            return f"{turn.callback.outcome}"
        await turn.delegate("helper", turn.text)
        return None

    async def helper(turn: Turn) -> str:
        begun.set()
        await anyio.sleep(3600)
        return "never"

    begun = anyio.Event()
    others = {"helper": Echo(helper)}
    async with serving(path, platform, Echo(main), others=others) as running:
        platform.say("m1", ANA, "go")
        await begun.wait()
        # Each of its allowed runs has ended with its process.
        await running.until(TurnEnded)
    with_runs(path, 2)
    async with serving(path, platform, Echo(main), others=others) as running:
        [finished] = await running.until(DelegationFinished)
        await running.until(IntentSettled)
    assert (finished.outcome, finished.reason) == (HandOutcome.LOST, Reason.RUNS_EXHAUSTED)
    assert [one.text for one in platform.sent] == ["lost"]


def with_runs(path: Path, runs: int) -> None:
    """Have the store say that open turns have ended with their process so often."""

    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE inbox SET runs = ?, charged = ? WHERE state = 'pending'", (runs, runs))


async def test_a_task_of_an_agent_beyond_its_deadline_does_not_run_again(path: Path, platform: TinyPlatform) -> None:
    ran: list[str] = []

    async def main(turn: Turn) -> str | None:
        if turn.callback is not None:
            return f"{turn.callback.outcome}: {turn.text}"
        await turn.send_async("helper", turn.text, timeout=600)
        return None

    async def helper(turn: Turn) -> str:
        ran.append(turn.id)
        await anyio.sleep(3600)
        return "never"

    others = {"helper": Echo(helper)}
    async with serving(path, platform, Echo(main), others=others) as running:
        platform.say("m1", ANA, "go")
        await running.until(DelegationStarted)
        await running.until(TurnEnded)
    let_pass(path, 1000)
    ran.clear()
    async with serving(path, platform, Echo(main), others=others) as running:
        await running.until(IntentSettled)
    assert ran == []
    assert [one.text for one in platform.sent] == ["timeout: no result within 600 s"]
