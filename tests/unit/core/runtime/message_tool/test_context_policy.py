"""The cross-context policy through a real gateway: what is refused, recorded, marked, and left alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import direct, room
from tests.support.sending import Platform, serving, texts
from tests.support.small_gateway import Echo, Running
from trunkline import Change, Hooks, Outgoing, PolicyDenied, SendingHook, Turn
from trunkline.core.actions.result import ActionStatus
from trunkline.core.events.actions import PolicyDecided
from trunkline.core.events.delivery import IntentPrepared, IntentSettled, TargetResolved
from trunkline.core.events.gateway import ToolRefused, TurnEnded
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Capability, Idempotency

pytestmark = pytest.mark.anyio

ANA, BEN, HALL = direct("100"), direct("200"), room("500")
NOT_WITHIN: dict[str, Any] = {"message": {"cross_context": {"allow_within_provider": False}}}
MARKED: dict[str, Any] = {"message": {"cross_context": {"marker": {"within_provider": True}}}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform()
    yield tiny
    tiny.close()


class Sender(Echo):
    """Sends a text to a target, and keeps the error, if there is one."""

    def __init__(self, text: str = "hi", **fields: Any) -> None:
        super().__init__(self._send)
        self._said, self._fields = text, fields
        self.errors: list[PolicyDenied] = []

    async def _send(self, turn: Turn) -> str | None:
        try:
            await turn.send(self._said, **self._fields)
        except PolicyDenied as error:
            self.errors.append(error)
        return None


async def woken(running: Running, text: str = "now") -> None:
    await running.gateway.wake("main", text)


async def test_a_denial_stores_and_sends_nothing(path: Path, platform: Platform) -> None:
    agent = Sender(to="channel:500")
    async with serving(path, platform, agent=agent, tools=NOT_WITHIN) as running:
        platform.say("m1", ANA)
        await running.until(TurnEnded)
        [decided], [refused] = running.recorded(PolicyDecided), running.recorded(ToolRefused)
        assert running.recorded(IntentPrepared) == []
        assert await running.transcript("main:discord:default:channel:500") == []
    [error] = agent.errors
    assert (decided.allowed, decided.origin, decided.target) == (False, ANA, HALL)
    assert (refused.reason, refused.detail, decided.detail) == (Reason.CROSS_CONTEXT_DENIED, error.facts, error.facts)
    assert 'target="channel:500" while bound to "user:100" (channel=discord)' in error.facts
    assert texts(platform) == []


async def test_an_unknown_target_is_an_error_before_the_policy_is_asked(path: Path, platform: Platform) -> None:
    async with serving(path, platform, agent=Sender(to="@nobody"), tools=NOT_WITHIN) as running:
        platform.say("m1", ANA)
        await running.until(TurnEnded)
        assert running.recorded(PolicyDecided) == []
        assert [refused.reason for refused in running.recorded(ToolRefused)] == [Reason.BAD_TARGET]


@pytest.mark.parametrize("fields", [{}, {"to": "user:100"}, {"to": ANA}])
async def test_what_stays_in_its_conversation_leaves_no_record(
    path: Path, platform: Platform, fields: dict[str, Any]
) -> None:
    async with serving(path, platform, agent=Sender(**fields), tools=NOT_WITHIN) as running:
        platform.say("m1", ANA)
        await running.until(IntentSettled)
        assert running.recorded(PolicyDecided) == []
    assert texts(platform) == ["hi"]


async def test_hooks_neither_see_nor_change_a_mark(path: Path, platform: Platform) -> None:
    seen: list[str] = []

    async def shout(message: Outgoing) -> object:
        seen.append(message.text)
        return Change(message.text.upper())

    hooks = Hooks(sending=(SendingHook(name="shout", call=shout),))
    async with serving(path, platform, agent=Sender(to=HALL), hooks=hooks, tools=MARKED) as running:
        platform.say("m1", ANA)
        await running.until(IntentSettled)
        [decided] = running.recorded(PolicyDecided)
        assert await running.transcript("main:discord:default:channel:500") == [("assistant", "[from @peer 100] HI")]
    assert (seen, texts(platform)) == (["hi"], ["[from @peer 100] HI"])
    assert (decided.mark, decided.setting) == ("[from @peer 100] ", "cross_context.allow_within_provider")


async def test_where_the_platform_shows_embeds_one_has_the_mark(path: Path, platform: Platform) -> None:
    can = frozenset({Capability.TEXT, Capability.MESSAGE_IDS, Capability.EMBEDS})
    platform.capabilities = Capabilities(idempotency=Idempotency.KEY, can=can)
    async with serving(path, platform, agent=Sender(to=HALL), tools=MARKED) as running:
        platform.say("m1", ANA)
        await running.until(IntentSettled)
    [request] = platform.sent
    assert request.text == "hi"
    assert request.parts is not None
    assert request.parts.embed == "From @peer 100"


async def test_a_mark_alone_is_no_message(path: Path, platform: Platform) -> None:
    async with serving(path, platform, agent=Sender("\u200b \n", to=HALL), tools=MARKED) as running:
        platform.say("m1", ANA)
        await running.until(TurnEnded)
    assert texts(platform) == []


async def test_a_dry_run_asks_the_policy_too(path: Path, platform: Platform) -> None:
    agent = Sender(to=HALL, dry_run=True)
    async with serving(path, platform, agent=agent, tools=NOT_WITHIN) as running:
        platform.say("m1", ANA)
        await running.until(TurnEnded)
    assert len(agent.errors) == 1


async def test_a_turn_without_a_conversation_reaches_the_last_one_only(path: Path, platform: Platform) -> None:
    tools = {"message": {"without_origin": {"reach": "last"}}}
    targets = iter(["user:100", "user:200"])

    async def turn(turn: Turn) -> str | None:
        if turn.place is not None:
            return "welcome"
        for target in targets:
            try:
                await turn.send("hi", to=target)
            except PolicyDenied as error:
                denied.append(error.facts)
        return None

    denied: list[str] = []
    async with serving(path, platform, agent=Echo(turn), tools=tools) as running:
        platform.say("m1", BEN)
        await running.until(IntentSettled, 1)
        platform.say("m2", ANA)
        await running.until(IntentSettled, 2)
        await woken(running)
        await running.until(IntentSettled, 3)
        await running.until(TurnEnded, 3)
    assert texts(platform) == ["welcome", "welcome", "[from wake-up] hi"]
    assert [facts.split(" tools.")[0] for facts in denied] == [
        'Cross-context messaging denied: action=send target="user:200" from wake-up (channel=discord).'
    ]


async def test_each_target_of_a_broadcast_is_decided_on_by_itself(path: Path, platform: Platform) -> None:
    results: list[Any] = []

    async def turn(turn: Turn) -> None:
        call = {"action": "broadcast", "targets": ["user:100", "channel:500"], "message": "hi"}
        results.append(await turn.message(call))

    async with serving(path, platform, agent=Echo(turn), tools=NOT_WITHIN) as running:
        platform.say("m1", ANA)
        await running.until(IntentSettled)
        await running.until(TurnEnded)
    [result] = results
    assert [(one.status, one.reason) for one in result.results] == [
        (ActionStatus.QUEUED, None),
        (ActionStatus.FAILED, Reason.CROSS_CONTEXT_DENIED),
    ]
    assert texts(platform) == ["hi"]


async def test_a_change_elsewhere_is_judged_as_a_message_is(path: Path, platform: Platform) -> None:
    errors: list[str] = []

    async def turn(turn: Turn) -> str | None:
        try:
            await turn.message({"action": "delete", "target": "channel:500", "messageId": "7"})
        except PolicyDenied as error:
            errors.append(error.facts)
        return None

    platform.capabilities = Capabilities(idempotency=Idempotency.KEY)
    async with serving(path, platform, agent=Echo(turn), tools=NOT_WITHIN) as running:
        platform.say("m1", ANA)
        await running.until(TurnEnded)
        assert len(running.recorded(TargetResolved)) == 1
    assert ["action=delete" in error for error in errors] == [True]
