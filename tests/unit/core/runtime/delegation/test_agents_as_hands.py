"""Agents of the gateway as hands: a session of its own for each task, and the text of its turn is the result."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from tests.support.small_gateway import ANA, BEN, Echo, Running, TinyPlatform, serving
from trunkline import Turn
from trunkline.core.errors import ConfigError, DelegationRefused
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import ToolRefused, TurnEnded
from trunkline.core.events.hands import (
    CallbackChanged,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.values import WorkKind

pytestmark = pytest.mark.anyio

Act = Callable[[Turn], Awaitable[str | None]]


def asking(hand: str, **how: object) -> Act:
    """An agent that gives every message of a person to a hand, and presents what comes back."""

    async def act(turn: Turn) -> str | None:
        if turn.callback is not None:
            return f"{turn.callback.hand} says: {turn.text}"
        await turn.send_async(hand, turn.text, **how)  # pyright: ignore[reportArgumentType]
        return "on it"

    return act


class Seeing(Echo):
    """An agent that keeps what it was given."""

    def __init__(self, act: Act) -> None:
        super().__init__(self._see)
        self.inner = act
        self.seen: list[Turn] = []

    async def _see(self, turn: Turn) -> str | None:
        self.seen.append(turn)
        return await self.inner(turn)


def texts(platform: TinyPlatform) -> list[str]:
    return [one.text for one in platform.sent]


def outcomes(running: Running) -> list[tuple[str, HandOutcome, str]]:
    return [(one.hand, one.outcome, one.text) for one in running.recorded(DelegationFinished)]


async def test_an_agent_works_on_a_task_in_a_session_of_its_own(path: Path, platform: TinyPlatform) -> None:
    async def work(turn: Turn) -> str:
        return f"done: {turn.text}"

    helper = Seeing(work)
    async with serving(path, platform, Echo(asking("helper", label="mails")), others={"helper": helper}) as running:
        platform.say("m1", ANA, "count")
        await running.until(IntentSettled, 2)
    [turn] = helper.seen
    assert (turn.work, turn.agent, turn.text, turn.place) == (WorkKind.TASK, "helper", "count", None)
    [accepted] = running.recorded(DelegationAccepted)
    assert (accepted.hand_kind, accepted.label, accepted.depth) == ("agent", "mails", 1)
    assert turn.session_key.startswith("helper:subagent:")
    assert turn.asked_by is not None
    assert turn.asked_by.id == "100"
    assert texts(platform) == ["on it", "helper says: done: count"]
    assert [one.state for one in running.recorded(CallbackChanged)][-1] is CallbackState.DELIVERED


async def test_a_hand_that_delegates_back_to_its_caller_does_not_wait_for_itself(
    path: Path, platform: TinyPlatform
) -> None:
    async def main(turn: Turn) -> str | None:
        if turn.callback is not None:
            return f"the answer: {turn.text}"
        if turn.work is WorkKind.TASK:
            return f"of course {turn.text}"
        await turn.delegate("helper", turn.text)
        return None

    async def helper(turn: Turn) -> str | None:
        if turn.callback is not None:
            return f"main says {turn.text}"
        await turn.delegate("main", turn.text)
        return None

    async with serving(path, platform, Echo(main), others={"helper": Echo(helper)}) as running:
        platform.say("m1", ANA, "really?")
        await running.until(IntentSettled, 1)
        assert outcomes(running) == [
            ("main", HandOutcome.OK, "of course really?"),
            ("helper", HandOutcome.OK, "main says of course really?"),
        ]
        first, second = running.recorded(DelegationAccepted)
    assert texts(platform) == ["the answer: main says of course really?"]
    assert (second.depth, second.parent) == (2, f"{_inbound_of(running)}.hand1")
    assert second.asked_by == first.asked_by


def _inbound_of(running: Running) -> str:
    return next(str(event.inbound) for event in running.log.events if isinstance(event.body, DelegationAccepted))


async def test_a_chain_of_agents_ends_at_the_limit_of_depth(path: Path, platform: TinyPlatform) -> None:
    refused: list[DelegationRefused] = []

    def passing(on: str) -> Act:
        async def act(turn: Turn) -> str | None:
            if turn.callback is not None:
                return turn.text
            try:
                await turn.delegate(on, turn.text)
            except DelegationRefused as error:
                refused.append(error)
                return f"stopped at {turn.agent}"
            return None

        return act

    others = {"b": Echo(passing("main")), "c": Echo(passing("b"))}
    async with serving(path, platform, Echo(passing("c")), others=others, hands={"limits": {"depth": 3}}) as running:
        platform.say("m1", ANA, "go")
        await running.until(IntentSettled)
    assert [one.reason for one in refused] == [Reason.DEPTH_EXCEEDED]
    assert [one.reason for one in running.recorded(ToolRefused)] == [Reason.DEPTH_EXCEEDED]
    assert len(running.recorded(DelegationAccepted)) == 3
    assert texts(platform) == ["stopped at main"]


async def test_a_turn_that_fails_and_one_that_says_nothing_are_results(path: Path, platform: TinyPlatform) -> None:
    async def main(turn: Turn) -> str | None:
        if turn.callback is not None:
            return f"{turn.callback.outcome}: {turn.text!r}"
        await turn.delegate(turn.text, "work")
        return None

    async def broken(turn: Turn) -> str:
        raise RuntimeError("no key")

    async def silent(turn: Turn) -> None:
        return None

    others = {"broken": Echo(broken), "silent": Echo(silent)}
    async with serving(path, platform, Echo(main), others=others) as running:
        platform.say("m1", ANA, "broken")
        await running.until(IntentSettled, 1)
        platform.say("m2", ANA, "silent")
        await running.until(IntentSettled, 2)
    assert texts(platform) == ["error: 'RuntimeError: no key'", "ok: ''"]


async def test_a_task_goes_on_until_the_last_hand_of_it_has_answered(path: Path, platform: TinyPlatform) -> None:
    async def helper(turn: Turn) -> str | None:
        if turn.callback is None:
            await turn.delegate("clerk", "first")
            await turn.delegate("clerk", "second")
            return None
        open_still = await turn.delegations()
        return None if open_still or len(seen) < 2 else "all done"

    seen: list[Turn] = []

    async def counting(turn: Turn) -> str | None:
        if turn.callback is not None:
            seen.append(turn)
        return await helper(turn)

    async with serving(path, platform, Echo(asking("helper")), others={"helper": Echo(counting)}) as running:
        platform.say("m1", ANA, "both")
        await running.until(IntentSettled, 2)
    assert texts(platform)[-1] in ("helper says: all done", "helper says: ")
    assert outcomes(running)[-1] == ("helper", HandOutcome.OK, "all done")


async def test_children_end_with_the_task_that_they_were_delegated_for(path: Path, platform: TinyPlatform) -> None:
    async def helper(turn: Turn) -> str | None:
        await turn.delegate("slow", "for later")
        return "enough"

    async with serving(
        path, platform, Echo(asking("helper")), others={"helper": Echo(helper), "slow": Echo(_forever)}
    ) as running:
        platform.say("m1", ANA, "go")
        await running.until(DelegationFinished, 2)
        await running.until(IntentSettled, 2)
        finished = running.recorded(DelegationFinished)
        assert await running.gateway.hands.list() != ()
    assert [(one.hand, one.outcome, one.reason) for one in finished] == [
        ("helper", HandOutcome.OK, None),
        ("slow", HandOutcome.CANCELLED, Reason.PARENT_ENDED),
    ]
    assert texts(platform) == ["on it", "helper says: enough"]


async def _forever(_turn: Turn) -> str:
    await anyio.sleep(3600)
    return "too late"


async def test_a_cancelled_task_takes_its_turn_and_its_children_with_it(path: Path, platform: TinyPlatform) -> None:
    async def main(turn: Turn) -> str | None:
        if turn.callback is not None:
            return f"{turn.callback.outcome}"
        if turn.text == "stop":
            [one] = await turn.delegations()
            return f"{await turn.cancel(one.delegation)}, {await turn.cancel(one.delegation)}"
        await turn.delegate("helper", turn.text)
        return "on it"

    async def helper(turn: Turn) -> str:
        await turn.delegate("slow", "below")
        return await _forever(turn)

    others = {"helper": Echo(helper), "slow": Echo(_forever)}
    async with serving(path, platform, Echo(main), others=others) as running:
        platform.say("m1", ANA, "go")
        await running.until(DelegationAccepted, 2)
        platform.say("m2", ANA, "stop")
        await running.until(DelegationFinished, 2)
        await running.until(IntentSettled, 2)
        ended = [one for one in await running.until(TurnEnded, 4) if one.reason is Reason.PARENT_ENDED]
    assert len(ended) == 2
    assert texts(platform) == ["on it", "True, False"]
    assert [(one.hand, one.reason) for one in running.recorded(DelegationFinished)] == [
        ("helper", Reason.CANCELLED_BY_AGENT),
        ("slow", Reason.PARENT_ENDED),
    ]
    assert running.recorded(DelegationIgnored) == []


async def test_a_task_that_takes_too_long_times_out(path: Path, platform: TinyPlatform) -> None:
    async def main(turn: Turn) -> str | None:
        if turn.callback is not None:
            return f"{turn.callback.outcome}: {turn.text}"
        await turn.send_async("slow", turn.text, timeout=0.05)
        return None

    async with serving(path, platform, Echo(main), others={"slow": Echo(_forever)}) as running:
        platform.say("m1", ANA, "go")
        await running.until(IntentSettled)
    assert texts(platform) == ["timeout: no result within 0.05 s"]


async def test_an_agent_with_the_name_of_a_hand_is_refused_at_the_start(path: Path, platform: TinyPlatform) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        async with serving(path, platform, Echo(), others={"clerk": Echo()}):
            await anyio.sleep(5)
    assert isinstance(caught.value.exceptions[0], ConfigError)
    assert "clerk" in str(caught.value.exceptions[0])


async def test_no_agent_is_a_hand_where_that_is_off(path: Path, platform: TinyPlatform) -> None:
    async def main(turn: Turn) -> str:
        try:
            await turn.delegate("helper", turn.text)
        except DelegationRefused as error:
            return error.reason.value
        return "delegated"

    async with serving(path, platform, Echo(main), others={"helper": Echo()}, hands={"agents": False}) as running:
        platform.say("m1", ANA, "go")
        await running.until(IntentSettled)
    assert texts(platform) == ["unknown-hand"]


async def test_a_task_whose_last_hand_ends_in_silence_has_an_empty_result(path: Path, platform: TinyPlatform) -> None:
    async def helper(turn: Turn) -> None:
        await turn.send_async("slow", turn.text, timeout=0.05)

    others = {"helper": Echo(helper), "slow": Echo(_forever)}
    silent = {"on_timeout": "silent"}
    async with serving(path, platform, Echo(asking("helper")), others=others, hands=silent) as running:
        platform.say("m1", ANA, "go")
        await running.until(DelegationFinished, 2)
        await running.until(IntentSettled, 2)
        assert outcomes(running) == [
            ("slow", HandOutcome.TIMEOUT, "no result within 0.05 s"),
            ("helper", HandOutcome.OK, ""),
        ]


async def test_many_tasks_do_not_keep_people_waiting(path: Path, platform: TinyPlatform) -> None:
    async def main(turn: Turn) -> str | None:
        if turn.text == "hello":
            return "hello"
        for _ in range(300):
            await turn.delegate("slow", "wait")
        return "all of them"

    limits = {"limits": {"open_per_session": 500, "running": 400}}
    others = {"slow": Echo(_forever)}
    async with serving(path, platform, Echo(main), others=others, hands=limits) as running:
        platform.say("m1", ANA, "go")
        await running.until(DelegationStarted, 300)
        platform.say("m2", BEN, "hello")
        await running.until(IntentSettled, 2)
    assert texts(platform) == ["all of them", "hello"]
