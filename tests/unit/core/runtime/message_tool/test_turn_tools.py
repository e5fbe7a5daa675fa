"""What a turn offers its agent: arguments that are checked, the schema, and what is said of answers and delegations."""

from collections import UserDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import direct
from tests.support.sending import message, serving
from tests.support.small_gateway import ANA, Clerk, Echo, Running
from tests.support.tool_calls import Answering, Call, called, the_error
from trunkline import Action, ActionResult, Decisions, InvalidAction, Turn
from trunkline.core.errors import DelegationRefused, InvalidCall, TurnOver, UsageError
from trunkline.core.events.delivery import IntentPrepared, IntentSettled, TargetResolved
from trunkline.core.events.gateway import ToolRefused, TurnEnded
from trunkline.core.events.hands import DelegationAccepted
from trunkline.core.message_tool.schema import SchemaForm
from trunkline.core.reasons import Reason

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Answering]:
    tiny = Answering()
    yield tiny
    tiny.close()


UNUSABLE: list[Any] = [
    {"media": "one.png"},
    {"media": [b"one.png"]},
    {"media": [None]},
    {"media": ["half \ud83d"]},
    {"buttons": "yes"},
    {"buttons": ["yes"]},
    {"buttons": [["yes"]]},
    {"poll": "Lunch?"},
    {"silent": "yes"},
    {"dry_run": 2},
    {"reply_to": 7},
]


@pytest.mark.parametrize("fields", UNUSABLE)
async def test_unusable_arguments_are_refused(path: Path, platform: Answering, fields: dict[str, Any]) -> None:
    outcomes, running = await called(path, platform, calls=[lambda turn: turn.send("hi", **fields)])
    assert type(the_error(outcomes)) is InvalidCall
    assert [one.reason for one in running.recorded(ToolRefused)] == [Reason.BAD_ARGUMENT]
    assert running.recorded(IntentPrepared) == []


class Hostile(UserDict[str, object]):
    """A mapping that raises when it is read."""

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no")


@pytest.mark.parametrize("params", ["send", None, ["action"], {1: "send"}, Hostile()])
async def test_parameters_that_are_no_mapping_are_refused(path: Path, platform: Answering, params: Any) -> None:
    outcomes, running = await called(path, platform, calls=[lambda turn: turn.message(params)])
    assert type(the_error(outcomes)) is InvalidCall
    assert [one.reason for one in running.recorded(ToolRefused)] == [Reason.BAD_ARGUMENT]


async def test_the_tool_of_a_turn_ends_with_it(path: Path, platform: Answering) -> None:
    kept: list[Turn] = []

    async def keep(turn: Turn) -> None:
        kept.append(turn)

    async with serving(path, platform, agent=Echo(keep)) as running:
        platform.say("m1", ANA)
        await running.until(TurnEnded)
        with pytest.raises(TurnOver):
            await kept[0].message({"action": "send", "message": "late"})
    assert [one.reason for one in running.recorded(ToolRefused)] == [Reason.TURN_OVER]


async def test_an_action_that_the_configuration_takes_away_is_refused(path: Path, platform: Answering) -> None:
    calls: list[Call] = [{"action": "delete", "messageId": "1"}, {"action": "send", "message": "x"}, _send]
    tools: dict[str, Any] = {"message": {"disabled_actions": ["delete", "send"]}}
    outcomes, running = await called(path, platform, calls=calls, tools=tools)
    assert [type(one) for one in outcomes] == [InvalidAction] * 3
    assert 'Message action "delete" is disabled for this agent.' in str(outcomes[0])
    assert [one.reason for one in running.recorded(ToolRefused)] == [Reason.ACTION_DISABLED] * 3


async def _send(turn: Turn) -> ActionResult:
    return await turn.send("x")


async def test_the_schema_is_that_of_the_turns_channel(path: Path, platform: Answering) -> None:
    shown: list[dict[str, Any]] = []

    async def look(turn: Turn) -> None:
        shown.append(turn.message_tool(SchemaForm.PLAIN))
        shown.append(turn.message_tool())

    telegram = Answering("telegram")
    async with serving(path, platform, telegram, agent=Echo(look)) as running:
        platform.say("m1", ANA)
        await running.until(TurnEnded)
        telegram.say("m2", direct("100", channel="telegram"))
        await running.until(TurnEnded, 2)
    telegram.close()
    on_discord, tool, on_telegram, _ = shown
    assert tool["function"]["parameters"] == on_discord
    assert Action.REACT.value in on_discord["properties"]["action"]["enum"]
    assert "Current channel (discord)" in tool["function"]["description"]
    assert on_telegram["properties"]["channel"]["enum"] == ["discord", "telegram", "all"]


async def test_a_turn_that_works_nowhere_delegates_nothing(path: Path, platform: Answering) -> None:
    caught: list[UsageError] = []

    async def act(turn: Turn) -> None:
        try:
            await turn.delegate("clerk", "count")
        except UsageError as error:
            caught.append(error)

    async with serving(path, platform, agent=Echo(act), runner=Clerk()) as running:
        await running.gateway.wake("main", "look around")
        await running.until(TurnEnded)
        assert [one.reason for one in running.recorded(ToolRefused)] == [Reason.NO_ORIGIN]
        assert running.recorded(DelegationAccepted) == []
    assert [type(one) for one in caught] == [DelegationRefused]


OTHERS: dict[str, Any] = {
    "agents": [{"id": "main", "default": True}, {"id": "desk"}],
    "bindings": [{"agent": "desk", "match": {"channel": "discord", "peer": {"kind": "direct", "id": "200"}}}],
}


@pytest.mark.parametrize(("to", "answered_by"), [("user:200", "desk"), (direct("200"), "desk"), ("user:300", None)])
async def test_a_send_says_which_other_agent_gets_the_answers(
    path: Path, platform: Answering, to: Any, answered_by: str | None
) -> None:
    async def look(running: Running) -> None:
        await running.gateway.send(message(to=to))
        await running.until(IntentSettled, 2)

    _, running = await called(path, platform, calls=[lambda turn: turn.send("hi", to)], see=look, **OTHERS)
    assert [one.answered_by for one in running.recorded(TargetResolved)] == [answered_by] * 2


@pytest.mark.parametrize("to", ["user:200", direct("200")])
async def test_who_gets_the_answers_is_a_decision_that_a_program_may_replace(
    path: Path, platform: Answering, to: Any
) -> None:
    async def act(turn: Turn) -> None:
        await turn.send("hi", to)

    unaware = Decisions(other_agent_at=lambda *_: None)
    async with serving(path, platform, agent=Echo(act), decisions=unaware, **OTHERS) as running:
        platform.say("m1", ANA)
        await running.gateway.send(message(to=to))
        await running.until(IntentSettled, 2)
        await running.until(TurnEnded)
    assert {one.answered_by for one in running.recorded(TargetResolved)} == {None}
