"""How many delegations there may be, how many run at the same time, and what a turn without a place may do."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.small_gateway import ANA, BEN, KEY, Echo, TinyPlatform, serving
from trunkline import HandTask, Turn
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import AnswerRefused, DelegationRefused
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import ToolRefused, TurnEnded
from trunkline.core.events.hands import (
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationProgressed,
    DelegationStarted,
)
from trunkline.core.hands.result_limits import LONGEST_PROGRESS
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome

pytestmark = pytest.mark.anyio


class Gated:
    """A hand whose runs end when they are let go."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.gate = anyio.Semaphore(0)
        #: one for each run that has begun
        self.first = anyio.Semaphore(0)

    def has(self, hand: str) -> bool:
        return hand == "gated"

    def names(self) -> list[str]:
        return ["gated"]

    async def run(self, task: HandTask) -> str:
        self.began.append(task.task)
        self.first.release()
        await self.gate.acquire()
        return f"done {task.task}"


def delegating(count: int = 1, hand: str = "gated", **how: Any) -> Any:
    async def act(turn: Turn) -> str | None:
        if turn.callback is not None:
            return None
        refused: list[str] = []
        for n in range(count):
            try:
                await turn.send_async(hand, f"{turn.text}{n}", **how)
            except DelegationRefused as error:
                refused.append(error.reason.value)
        return ", ".join(refused) or "all"

    return act


async def test_sessions_take_turns_where_only_few_may_run(path: Path, platform: TinyPlatform) -> None:
    hand = Gated()
    async with serving(path, platform, Echo(delegating(3)), runner=hand, hands={"limits": {"running": 1}}) as running:
        platform.say("m1", ANA, "a")
        await running.until(DelegationAccepted, 3)
        platform.say("m2", BEN, "b")
        await running.until(DelegationAccepted, 6)
        for n in range(1, 7):
            await running.until(DelegationStarted, n)
            assert len(running.recorded(DelegationStarted)) == n
            await hand.first.acquire()
            hand.gate.release()
        await running.until(DelegationFinished, 6)
    assert hand.began == ["a0", "a1", "b0", "a2", "b1", "b2"]


async def test_caps_of_a_session_and_of_the_gateway_refuse_more(path: Path, platform: TinyPlatform) -> None:
    limits = {"open_per_session": 2, "open": 3}
    hand = Gated()
    async with serving(path, platform, Echo(delegating(3)), runner=hand, hands={"limits": limits}) as running:
        platform.say("m1", ANA, "a")
        await running.until(IntentSettled, 1)
        platform.say("m2", BEN, "b")
        await running.until(IntentSettled, 2)
        for _ in range(3):
            hand.gate.release()
        await running.until(DelegationFinished, 3)
        await running.until(TurnEnded, 5)
        platform.say("m3", ANA, "c")
        await running.until(IntentSettled, 3)
    assert [one.text for one in platform.sent] == ["session-cap", "gateway-cap, gateway-cap", "session-cap"]
    assert len(running.recorded(ToolRefused)) == 4


async def test_caps_count_what_an_earlier_process_left(path: Path, platform: TinyPlatform) -> None:
    limits = {"limits": {"open_per_session": 2}, "defaults": {"on_restart": "rerun"}}
    async with serving(path, platform, Echo(delegating(2)), runner=Gated(), hands=limits) as running:
        platform.say("m1", ANA, "a")
        await running.until(IntentSettled, 1)
        await running.until(DelegationStarted, 2)
    async with serving(path, platform, Echo(delegating(1)), runner=Gated(), hands=limits) as running:
        platform.say("m2", ANA, "b")
        await running.until(IntentSettled, 1)
    assert [one.text for one in platform.sent] == ["all", "session-cap"]


async def test_a_turn_without_a_place_names_the_place_of_the_answer(path: Path, platform: TinyPlatform) -> None:
    async def act(turn: Turn) -> str | None:
        if turn.callback is not None:
            return f"told: {turn.text}"
        await turn.send_async("clerk", turn.text, reply_to=ANA)
        return None

    policy: dict[str, Any] = {"tools": {"message": {"without_origin": {"reach": "any"}}}}
    async with serving(path, platform, Echo(act), **policy) as running:
        await running.gateway.wake("main", "count")
        await running.until(IntentSettled)
        assert await running.transcript(KEY) == [("assistant", "[from wake-up] told: done: count")]
    assert [(one.text, one.address) for one in platform.sent] == [("[from wake-up] told: done: count", ANA)]


@pytest.mark.parametrize("announce", ["turn", "direct", "tool"])
async def test_what_is_reported_at_a_place_that_the_turn_named_has_the_mark_of_sends(
    path: Path, platform: TinyPlatform, announce: str
) -> None:
    async def act(turn: Turn) -> str | None:
        if turn.callback is not None and announce == "tool":
            await turn.send(turn.text)
            return None
        if turn.callback is not None:
            return turn.text
        await turn.send("hello", ANA)
        await turn.send_async("clerk", turn.text, reply_to=ANA)
        return None

    policy: dict[str, Any] = {"tools": {"message": {"without_origin": {"reach": "any", "marked": True}}}}
    hands = {"announce": "direct" if announce == "direct" else "turn"}
    async with serving(path, platform, Echo(act), hands=hands, **policy) as running:
        await running.gateway.wake("main", "count")
        await running.until(IntentSettled, 2)
    marks = [one.text.partition("hello" if n == 0 else "done: count")[::2] for n, one in enumerate(platform.sent)]
    assert len(marks) == 2 and marks[0] == marks[1] and any(marks[0])


async def test_a_raised_limit_of_runs_takes_effect_at_once(path: Path, platform: TinyPlatform) -> None:
    hand = Gated()
    async with serving(path, platform, Echo(delegating(3)), runner=hand, hands={"limits": {"running": 1}}) as running:
        platform.say("m1", ANA, "a")
        await running.until(DelegationAccepted, 3)
        await running.until(DelegationStarted, 1)
        await anyio.sleep(0.05)
        assert len(hand.began) == 1
        running.gateway.reload(GatewayConfig.model_validate({"hands": {"limits": {"running": 3}}}))
        with anyio.fail_after(10):
            for _ in range(3):
                await hand.first.acquire()
    assert hand.began == ["a0", "a1", "a2"]


async def test_the_policy_may_forbid_that_place(path: Path, platform: TinyPlatform) -> None:
    caught: list[DelegationRefused] = []

    async def act(turn: Turn) -> None:
        try:
            await turn.send_async("clerk", turn.text, reply_to=ANA)
        except DelegationRefused as error:
            caught.append(error)

    policy: dict[str, Any] = {"tools": {"message": {"without_origin": {"reach": "none"}}}}
    async with serving(path, platform, Echo(act), **policy) as running:
        await running.gateway.wake("main", "count")
        await running.until(TurnEnded)
        assert running.recorded(DelegationAccepted) == []
    assert [one.reason for one in caught] == [Reason.CROSS_CONTEXT_DENIED]


async def test_an_agent_ends_only_what_its_session_has_started(path: Path, platform: TinyPlatform) -> None:
    async def act(turn: Turn) -> str | None:
        if turn.text == "a":
            return str((await turn.send_async("gated", "x")).delegation)
        try:
            return str(await turn.cancel(turn.text))
        except AnswerRefused as error:
            return error.reason.value

    async with serving(path, platform, Echo(act), runner=Gated()) as running:
        platform.say("m1", ANA, "a")
        await running.until(IntentSettled, 1)
        name = platform.sent[0].text
        for n, (text, place) in enumerate(((name, BEN), ("nothing", ANA), (name, ANA), (name, ANA)), 2):
            platform.say(f"m{n}", place, text)
            await running.until(IntentSettled, n)
        [finished] = running.recorded(DelegationFinished)
    assert [one.text for one in platform.sent[1:]] == ["unknown-delegation", "unknown-delegation", "True", "False"]
    assert (finished.reason, finished.by) == (Reason.CANCELLED_BY_AGENT, "agent:main")


async def test_a_result_that_is_too_long_is_cut_and_has_failed(path: Path, platform: TinyPlatform) -> None:
    class Long:
        def has(self, hand: str) -> bool:
            return hand == "long"

        async def run(self, task: HandTask) -> str:
            await task.progress("p" * (LONGEST_PROGRESS + 1))
            return "x" * 1000

    limits = {"limits": {"max_result": 60}}
    async with serving(path, platform, Echo(delegating(1, "long")), runner=Long(), hands=limits) as running:
        platform.say("m1", ANA, "a")
        [finished] = await running.until(DelegationFinished)
    assert (finished.outcome, finished.reason, len(finished.text)) == (HandOutcome.ERROR, Reason.RESULT_TOO_LARGE, 60)
    assert finished.text.endswith("[cut: 1000 characters]")
    [progress] = running.recorded(DelegationProgressed)
    assert len(progress.text) == LONGEST_PROGRESS


async def test_what_a_cancelled_hand_returns_nevertheless_is_kept(path: Path, platform: TinyPlatform) -> None:
    class Stubborn:
        def has(self, hand: str) -> bool:
            return hand == "stubborn"

        async def run(self, task: HandTask) -> str:
            try:
                await anyio.sleep(3600)
            except anyio.get_cancelled_exc_class():
                return "almost done"
            return ""

    act = delegating(1, "stubborn", timeout=0.05)
    async with serving(path, platform, Echo(act), runner=Stubborn()) as running:
        platform.say("m1", ANA, "a")
        [finished] = await running.until(DelegationFinished)
        [ignored] = await running.until(DelegationIgnored)
    assert (finished.outcome, ignored.text) == (HandOutcome.TIMEOUT, "almost done")


async def test_a_name_that_no_hand_has_lists_those_that_there_are(path: Path, platform: TinyPlatform) -> None:
    facts: list[str] = []

    async def act(turn: Turn) -> None:
        try:
            await turn.delegate("gate", "x")
        except DelegationRefused as error:
            facts.append(error.facts)

    hands = {"each": {"robot": {"worker": True}, "vault": {"worker": True, "callers": ["helper"]}}}
    async with serving(path, platform, Echo(act), runner=Gated(), others={"helper": Echo()}, hands=hands) as running:
        platform.say("m1", ANA, "a")
        await running.until(TurnEnded)
    assert facts == ["no hand 'gate'; there are: gated, helper, robot"]
