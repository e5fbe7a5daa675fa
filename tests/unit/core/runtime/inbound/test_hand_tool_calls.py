"""A model's calls of the tools for hands, through a turn."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.callbacks import Caller, HeldClerk
from tests.support.sending import serving
from tests.support.small_gateway import ANA, Echo, TinyPlatform
from trunkline import Turn
from trunkline.core.errors import AnswerRefused, DelegationRefused, InvalidCall, TurnOver, UsageError
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import ToolRefused, TurnEnded
from trunkline.core.events.hands import DelegationAccepted, DelegationFinished
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome

pytestmark = pytest.mark.anyio

TWO = [{"id": "main"}, {"id": "ops"}]
SEND = "agent_send_async"


async def test_a_model_delegates_and_gets_the_id_at_once(path: Path, platform: TinyPlatform) -> None:
    said: list[str] = []

    async def act(turn: Turn) -> str:
        if turn.callback is not None:
            return f"{turn.callback.label}: {turn.text}"
        params = {"agent_id": "clerk", "message": "count", "timeout": 60, "label": "inbox"}
        said.append(await turn.call_hand_tool(SEND, params))
        return "on it"

    async with serving(path, platform, agent=Echo(act)) as running:
        platform.say("m1", ANA, "hello")
        await running.until(IntentSettled, 2)
        [accepted] = [event for event in running.log.events if isinstance(event.body, DelegationAccepted)]
    assert isinstance(accepted.body, DelegationAccepted)
    assert (accepted.body.hand, accepted.body.task, accepted.body.label) == ("clerk", "count", "inbox")
    assert said == [f"accepted: {accepted.delegation}. clerk works on it; the result arrives in a later message."]
    assert [one.text for one in platform.sent] == ["on it", "inbox: done: count"]


async def test_a_model_looks_and_cancels(path: Path, platform: TinyPlatform) -> None:
    said: list[str] = []
    hand = HeldClerk()

    async def act(turn: Turn) -> str:
        if turn.text == "count":
            await turn.call_hand_tool(SEND, {"agent_id": "clerk", "message": "count"})
            return "on it"
        said.append(await turn.call_hand_tool("agent_status", {}))
        [found] = msgspec.json.decode(said[0])
        said.append(await turn.call_hand_tool("agent_status", {"delegation_id": found["delegation_id"]}))
        said.append(await turn.call_hand_tool("agent_cancel", {"delegation_id": found["delegation_id"]}))
        said.append(await turn.call_hand_tool("agent_status", {}))
        said.append(await turn.call_hand_tool("agent_cancel", {"delegation_id": found["delegation_id"]}))
        return "stopped"

    async with serving(path, platform, agent=Echo(act), runner=hand) as running:
        platform.say("m1", ANA, "count")
        await hand.working.wait()
        platform.say("m2", ANA, "stop")
        await running.until(IntentSettled, 2)
        [finished] = running.recorded(DelegationFinished)
    assert said[0] == said[1]
    assert msgspec.json.decode(said[0])[0]["agent_id"] == "clerk"
    assert said[2].startswith("cancelled: ")
    assert said[3] == "[]"
    assert said[4].startswith("not cancelled: ")
    assert finished.outcome is HandOutcome.CANCELLED
    assert [one.text for one in platform.sent] == ["on it", "stopped"]


async def test_a_model_is_shown_the_hands_that_it_may_use(path: Path, platform: TinyPlatform) -> None:
    shown: list[Any] = []

    async def act(turn: Turn) -> str:
        shown.append(await turn.call_hand_tool("agent_list", {}))
        shown.append(turn.hand_tools()[0]["function"]["parameters"])
        return "fine"

    async with serving(path, platform, agent=Echo(act), agents=TWO) as running:
        platform.say("m1", ANA, "hello")
        await running.until(IntentSettled)
        await running.gateway.wake("main", "look")
        await running.until(TurnEnded, 2)
    assert shown[0] == shown[2] == '[{"agent_id":"ops"}]'
    assert shown[1]["properties"]["agent_id"]["description"].endswith("Known: ops.")
    # A wake-up has no place, so the answer to the result needs one.
    assert "reply_to" not in shown[1]["properties"]
    assert "reply_to" in shown[3]["required"]


@pytest.mark.parametrize(
    ("name", "params", "error", "reason"),
    [
        (SEND, {"agent_id": "clerk"}, InvalidCall, Reason.BAD_ARGUMENT),
        (SEND, {"agent_id": "nobody", "message": "x"}, DelegationRefused, Reason.UNKNOWN_HAND),
        (SEND, {"agent_id": "main", "message": "x"}, DelegationRefused, Reason.SELF_DELEGATION),
        (SEND, {"agent_id": "clerk", "message": "x", "timeout": 0}, DelegationRefused, Reason.BAD_ARGUMENT),
        (SEND, "clerk", InvalidCall, Reason.BAD_ARGUMENT),
        (7, {}, InvalidCall, Reason.BAD_ARGUMENT),
        ("agent_send", {}, InvalidCall, Reason.BAD_ARGUMENT),
        ("agent_cancel", {"delegation_id": "x"}, AnswerRefused, Reason.UNKNOWN_DELEGATION),
    ],
)
async def test_a_call_that_is_refused_has_no_effect_and_is_recorded(
    path: Path, platform: TinyPlatform, name: Any, params: Any, error: type[UsageError], reason: Reason
) -> None:
    caught: list[UsageError] = []

    async def act(turn: Turn) -> str:
        with pytest.raises(error) as info:
            await turn.call_hand_tool(name, params)
        caught.append(info.value)
        return "fine"

    async with serving(path, platform, agent=Echo(act)) as running:
        platform.say("m1", ANA, "hello")
        await running.until(IntentSettled)
        [refused] = running.recorded(ToolRefused)
        assert running.recorded(DelegationAccepted) == []
    assert (refused.reason, refused.detail) == (reason, caught[0].facts)


async def test_the_tools_end_with_the_turn(path: Path, platform: TinyPlatform) -> None:
    kept: list[Turn] = []

    async def keep(turn: Turn) -> str:
        kept.append(turn)
        return "fine"

    async with serving(path, platform, agent=Caller(keep)) as running:
        platform.say("m1", ANA, "count")
        await running.until(IntentSettled, 2)
        for name, params in ((SEND, {"agent_id": "clerk", "message": "x"}), ("agent_list", {}), ("agent_status", {})):
            with pytest.raises(TurnOver):
                await kept[0].call_hand_tool(name, params)
        assert len(running.recorded(DelegationAccepted)) == 1
