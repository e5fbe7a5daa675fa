"""What a person gets whose message the agent fails to answer: nothing, or the configured notice."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.callbacks import Caller, HeldClerk
from tests.support.hooks import hooks, sending
from tests.support.sending import Platform, serving
from tests.support.small_gateway import ANA, KEY, Echo
from trunkline import Decisions, GatewayConfig, Turn
from trunkline.core.decisions import MirrorPlan, MirrorQuestion, plan_mirror
from trunkline.core.errors import AgentFailed
from trunkline.core.events.delivery import IntentPrepared, IntentSettled, IntentSuppressed
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.events.hands import CallbackChanged
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import IntentKind

pytestmark = pytest.mark.anyio

TURNS: dict[str, Any] = {"error_notice": "Sorry, that did not work."}


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    platform = Platform()
    yield platform
    platform.close()


class Fails(Echo):
    """An agent that fails with an error, or returns something that is no text."""

    def __init__(self, how: object) -> None:
        super().__init__()
        self._how = how

    async def turn(self, turn: Turn) -> Any:
        if isinstance(self._how, BaseException):
            raise self._how
        return self._how


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (ValueError("oops"), Reason.AGENT_RAISED),
        (SystemExit(2), Reason.AGENT_RAISED),
        (b"bytes", Reason.BAD_ANSWER),
        (AgentFailed("no answer within 5 s", Reason.AGENT_TIMEOUT), Reason.AGENT_TIMEOUT),
    ],
    ids=["raises", "exits", "no text", "its model fails"],
)
@pytest.mark.parametrize("notice", [TURNS["error_notice"], "", None], ids=["with a notice", "without", "by default"])
async def test_an_agent_that_fails_ends_its_turn_with_the_notice_that_is_configured(
    path: Path, platform: Platform, how: Any, reason: Reason, notice: str | None
) -> None:
    async with serving(
        path, platform, agent=Fails(how), turns={} if notice is None else {"error_notice": notice}
    ) as running:
        platform.say("m1", ANA)
        [ended] = await running.until(TurnEnded)
        assert (ended.outcome, ended.reason) == ("failed", reason)
        said = [
            text
            for text in (
                "Sorry, something went wrong, and I cannot answer this message." if notice is None else notice,
            )
            if text
        ]
        if said:
            [prepared] = await running.until(IntentPrepared)
            await running.until(IntentSettled)
            assert (prepared.intent_kind, prepared.reason) == (IntentKind.NOTICE, Reason.ERROR_NOTICE)
        assert [one.text for one in platform.sent] == said
        # What people saw is in the transcript, as their next turn will read it.
        lines = [("user", "hello"), *(("assistant", text) for text in said)]
        assert await running.transcript(KEY) == lines


async def test_a_notice_that_cannot_be_prepared_is_an_event(path: Path, platform: Platform) -> None:
    def no_notices(question: MirrorQuestion, config: GatewayConfig) -> MirrorPlan:
        if question.kind is IntentKind.NOTICE:
            raise ValueError("no session")
        return plan_mirror(question, config)

    agent, decisions = Fails(ValueError("oops")), Decisions(plan_mirror=no_notices)
    async with serving(path, platform, agent=agent, decisions=decisions, turns=TURNS) as running:
        platform.say("m1", ANA)
        await running.until(TurnEnded)
        [suppressed] = running.recorded(IntentSuppressed)
    assert (suppressed.reason, suppressed.text) == (Reason.AGENT_RAISED, TURNS["error_notice"])
    assert suppressed.detail == "no notice: ValueError: no session"


async def test_details_stay_in_the_events(path: Path, platform: Platform) -> None:
    agent = Fails(AgentFailed("the endpoint is down", Reason.AGENT_UNREACHABLE))
    async with serving(path, platform, agent=agent, turns=TURNS) as running:
        platform.say("m1", ANA)
        [ended] = await running.until(TurnEnded)
        await running.until(IntentSettled)
        assert ended.detail == "the endpoint is down"
        assert all("endpoint" not in one.text for one in platform.sent)


async def test_a_result_that_the_agent_fails_to_present(path: Path, platform: Platform) -> None:
    """The person waits for it, and gets the notice; the callback has not reached anybody."""

    async def fail(turn: Turn) -> str:
        raise AgentFailed("the model refused", Reason.AGENT_REFUSED)

    async with serving(path, platform, agent=Caller(fail), runner=HeldClerk(held=False), turns=TURNS) as running:
        platform.say("m1", ANA, "count")
        await running.until(TurnEnded, 2)
        await running.until(IntentSettled, 2)
        assert [one.text for one in platform.sent] == ["on it: count", "Sorry, that did not work."]
        last = running.recorded(CallbackChanged)[-1]
        assert (last.state, last.reason) == (CallbackState.UNDELIVERABLE, Reason.AGENT_REFUSED)


async def test_a_turn_without_a_place_has_nobody_to_notify(path: Path, platform: Platform) -> None:
    async with serving(path, platform, agent=Fails(ValueError("oops")), turns=TURNS) as running:
        await running.gateway.wake("main", "do something")
        await running.until(TurnEnded)
        assert running.recorded(IntentPrepared) == []


async def test_hooks_see_the_notice(path: Path, platform: Platform) -> None:
    """As they see every other text; one that breaks on it does not keep the turn from ending."""
    seen: list[Any] = []
    watching = hooks(sending("see", seen=seen))
    async with serving(path, platform, agent=Fails(ValueError("oops")), turns=TURNS, hooks=watching) as running:
        platform.say("m1", ANA)
        await running.until(IntentSettled)
        assert len(seen) == 1


async def test_what_the_turn_has_sent_stays_sent(path: Path, platform: Platform) -> None:
    async def act(turn: Turn) -> str | None:
        await turn.send("one moment")
        raise ValueError("oops")

    async with serving(path, platform, agent=Echo(act), turns=TURNS) as running:
        platform.say("m1", ANA)
        await running.until(IntentSettled, 2)
        assert [one.text for one in platform.sent] == ["one moment", "Sorry, that did not work."]
