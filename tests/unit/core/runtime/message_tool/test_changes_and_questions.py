"""Changes and questions of the message tool: which message is meant, what is refused, what a platform answers."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import direct, room
from tests.support.sending import message, serving
from tests.support.small_gateway import ANA, BEN, KEY, Echo, Running
from tests.support.tool_calls import Answering, Call, Outcome, called, outcome_of, the_error, the_result
from trunkline import Action, ActionResult, ActionStatus, InvalidAction, Turn
from trunkline.core.errors import PlatformError, Refused
from trunkline.core.events.actions import ActionAnswered
from trunkline.core.events.delivery import IntentPrepared, IntentSettled
from trunkline.core.events.gateway import ToolRefused, TurnEnded
from trunkline.core.message_tool.conversations import account_place, server_place
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


async def two_ends(running: Running) -> None:
    await running.until(IntentSettled, 2)


async def test_an_edit_concerns_a_message_that_is_still_queued(path: Path, platform: Answering) -> None:
    async def correct(turn: Turn) -> ActionResult:
        sent = await turn.send("frist")
        return await turn.message({"action": "edit", "messageId": sent.intent, "message": "first"})

    async def look(running: Running) -> None:
        await two_ends(running)
        assert await running.transcript(KEY) == [("user", "hello"), ("assistant", "first")]

    outcomes, _ = await called(path, platform, calls=[correct], see=look)
    result = the_result(outcomes)
    assert (result.action, result.status, result.place) == (Action.EDIT, ActionStatus.QUEUED, ANA)
    assert platform.seen == {(str(ANA), "1"): "first"}


async def test_a_reaction_concerns_a_message_of_a_person(path: Path, platform: Answering) -> None:
    calls: list[Call] = [{"action": "react", "messageId": "m1", "emoji": "+1"}]

    async def look(running: Running) -> None:
        await running.until(IntentSettled)

    outcomes, _ = await called(path, platform, calls=calls, see=look)
    assert the_result(outcomes).ok
    assert platform.reactions == {(str(ANA), "m1"): {"+1"}}


@pytest.mark.parametrize("named", [{}, {"target": "channel:C1"}], ids=["here", "by its target"])
async def test_the_message_of_a_person_is_in_its_room_while_the_thread_for_the_answer_is_not_open(
    path: Path, anyio_backend: str, named: dict[str, str]
) -> None:
    platform, hall = Answering("slack"), room("C1", channel="slack")
    calls: list[Call] = [{"action": "react", "messageId": "m1", "emoji": "+1", **named}]

    async def look(running: Running) -> None:
        await running.until(IntentSettled)

    opening = {"slack": {"auto_thread": True}}
    outcomes, _ = await called(path, platform, calls=calls, at=hall, see=look, channels=opening)
    assert the_result(outcomes).place == hall
    assert platform.reactions == {(str(hall), "m1"): {"+1"}}
    platform.close()


MEANT: list[Any] = [
    pytest.param({"action": "edit", "messageId": "m1", "message": "x"}, Reason.NOT_OWN_MESSAGE, id="somebody else's"),
    pytest.param({"action": "delete", "messageId": "m1"}, Reason.NOT_OWN_MESSAGE, id="a deletion of somebody else's"),
    pytest.param({"action": "edit", "messageId": "77", "message": "x"}, Reason.UNKNOWN_MESSAGE, id="nobody's"),
    pytest.param(
        {"action": "edit", "messageId": "send:k", "message": "x", "target": "user:200"},
        Reason.OTHER_CONVERSATION,
        id="of another conversation",
    ),
    pytest.param({"action": "delete", "messageId": " "}, Reason.BAD_ACTION, id="a blank id"),
    pytest.param({"action": "edit", "messageId": "send:k", "message": " "}, Reason.BAD_ACTION, id="no new text"),
    pytest.param({"action": "reactions", "messageId": "77.x"}, None, id="a question about what is not known"),
]


@pytest.mark.parametrize(("params", "reason"), MEANT)
async def test_the_message_that_is_meant_is_checked_before_anything_is_stored(
    path: Path, platform: Answering, params: dict[str, object], reason: Reason | None
) -> None:
    outcomes: list[Outcome] = []

    async def act(turn: Turn) -> None:
        outcomes.append(await outcome_of(params, turn))
        outcomes.append(await outcome_of({**params, "dryRun": True}, turn))

    async with serving(path, platform, agent=Echo(act)) as running:
        await running.gateway.send(message(to="user:100"))
        platform.say("m1", ANA)
        await running.until(IntentSettled)
        with_turn = len(running.recorded(IntentPrepared))
        await running.until(TurnEnded)
        refused = running.recorded(ToolRefused)
    assert with_turn == 1
    assert [one.reason for one in refused] == ([] if reason is None else [reason] * 2)
    if reason is not None:
        assert [type(one) for one in outcomes] == [type(outcomes[0])] * 2
        assert isinstance(outcomes[0], InvalidAction)


GATES: dict[str, Any] = {"channels": {"discord": {"actions": {"moderation": True, "presence": True}}}}
WHOLE: list[Any] = [
    ({"action": "kick", "guildId": "g1", "userId": "u1"}, server_place("discord", "default", "g1")),
    ({"action": "set-presence", "status": "idle"}, account_place("discord", "default")),
]


@pytest.mark.parametrize(("params", "place"), WHOLE)
async def test_an_action_without_a_target_concerns_a_server_or_the_account(
    path: Path, platform: Answering, params: dict[str, object], place: Any
) -> None:
    async def look(running: Running) -> None:
        await running.until(IntentSettled)

    outcomes, _ = await called(path, platform, calls=[params], see=look, **GATES)
    assert the_result(outcomes).place == place
    assert [request.address for request in platform.asked] == [place]


async def test_a_person_is_no_channel(path: Path, platform: Answering) -> None:
    calls: list[Call] = [{"action": "channel-info", "target": "user:100"}]
    outcomes, _ = await called(path, platform, calls=calls)
    assert the_error(outcomes).facts == 'Channel id "user:100" resolved to a user target.'


ROOM = room("500")
MODERATED: list[Any] = [
    pytest.param(ROOM, GATES, {}, None, id="in a room, with the gate"),
    pytest.param(ROOM, {}, {}, Reason.NOT_OWN_MESSAGE, id="without the gate"),
    pytest.param(ANA, GATES, {}, Reason.NOT_OWN_MESSAGE, id="in a direct chat"),
    pytest.param(ROOM, GATES, {"action": "edit", "message": "x"}, Reason.NOT_OWN_MESSAGE, id="an edit"),
]


@pytest.mark.parametrize(("at", "config", "params", "reason"), MODERATED)
async def test_an_agent_that_moderates_deletes_what_others_wrote_in_a_room(
    path: Path, platform: Answering, at: Any, config: Any, params: dict[str, object], reason: Reason | None
) -> None:
    """Also a dry run says which."""
    call = {"action": "delete", "messageId": "m1", **params}

    async def look(running: Running) -> None:
        if reason is None:
            await running.until(IntentSettled)

    outcomes, _ = await called(path, platform, calls=[{**call, "dryRun": True}, call], at=at, see=look, **config)
    if reason is None:
        assert [isinstance(one, ActionResult) for one in outcomes] == [True, True]
        assert [(one.action, one.message_id) for one in platform.asked] == [(Action.DELETE, "m1")]
    else:
        assert [one.reason for one in outcomes if isinstance(one, InvalidAction)] == [reason] * 2
        assert platform.asked == []


# ---------------------------------------------------------------- questions


async def test_a_platform_answers_a_question(path: Path, platform: Answering) -> None:
    platform.answer = {"messages": [{"id": "1", "text": "é"}], "more": False, "at": 1.5, "next": None}
    outcomes, running = await called(path, platform, calls=[{"action": "read", "target": "channel:500", "limit": 3}])
    result = the_result(outcomes)
    assert (result.status, result.handled_by, result.place) == (ActionStatus.DONE, "adapter", room("500"))
    assert result.for_model()["data"] == platform.answer
    [answered] = running.recorded(ActionAnswered)
    assert (answered.action, answered.reason, answered.place) == (Action.READ, None, room("500"))
    assert [(query.address, query.fields) for query in platform.questions] == [(room("500"), '{"limit":3}')]
    assert running.recorded(IntentPrepared) == []


def deep() -> object:
    nested: object = "end"
    for _ in range(100):
        nested = [nested]
    return nested


def endless() -> object:
    ring: list[object] = []
    ring.append(ring)
    return ring


WRONG: list[Any] = [
    (lambda: {1: "a name that is a number"}, "a name is of type int"),
    (lambda: {"at": datetime(2026, 1, 1, tzinfo=UTC)}, "a value is of type datetime"),
    (lambda: {"size": float("nan")}, "a number is nan"),
    (lambda: b"bytes", "a value is of type bytes"),
    (lambda: {"text": "cut \ud83d"}, "half a character"),
    (lambda: ["x"] * 20_000, "more than 10000 values"),
    (lambda: ["x" * 600_000, {"y" * 600_000: 1}], "more than 1000000 characters"),
    (lambda: {"x": 2**70}, "a number is too large"),
    (deep, "levels"),
    (endless, "levels"),
    (lambda: Refused("no access"), "no access"),
    (lambda: KeyError("bug"), "KeyError"),
    (lambda: asyncio.CancelledError("a library's own"), "CancelledError"),
    (lambda: SystemExit(3), "SystemExit"),
]


@pytest.mark.parametrize(("answer", "words"), WRONG)
async def test_a_question_without_a_good_answer_is_an_error_of_the_platform(
    path: Path, platform: Answering, answer: Callable[[], object], words: str
) -> None:
    platform.answer = answer()
    calls: list[Call] = [{"action": "read"}, {"action": "send", "message": "and go on"}]

    async def look(running: Running) -> None:
        await running.until(IntentSettled)

    outcomes, running = await called(path, platform, calls=calls, see=look)
    assert isinstance(outcomes[0], PlatformError)
    assert words in str(outcomes[0])
    [answered] = running.recorded(ActionAnswered)
    assert answered.reason in (Reason.PLATFORM_ERROR, Reason.REFUSED)
    assert isinstance(outcomes[1], ActionResult)
    assert [request.text for request in platform.sent] == ["and go on"]


async def test_an_adapter_that_answers_no_questions_is_not_asked(path: Path, anyio_backend: str) -> None:
    platform = Answering(actions=frozenset())
    calls: list[Call] = [{"action": "read"}, {"action": "react", "messageId": "m1", "emoji": "x"}]
    outcomes, running = await called(path, platform, calls=calls)
    platform.close()
    assert [type(one) for one in outcomes] == [InvalidAction] * 2
    assert [one.reason for one in running.recorded(ToolRefused)] == [Reason.UNSUPPORTED] * 2


async def test_what_is_said_to_one_person_is_not_known_in_the_chat_of_another(path: Path, platform: Answering) -> None:
    """Platforms number the messages of each conversation, so an id is looked for in its own one."""
    outcomes: list[Outcome] = []

    async def act(turn: Turn) -> None:
        outcomes.append(await outcome_of({"action": "edit", "messageId": "1", "message": "x"}, turn))

    async with serving(path, platform, agent=Echo(act)) as running:
        await running.gateway.send(message(to="user:200"))
        platform.say("m1", ANA)
        await running.until(TurnEnded)
    error = the_error(outcomes)
    assert isinstance(error, InvalidAction)
    assert error.reason in (Reason.UNKNOWN_MESSAGE, Reason.OTHER_CONVERSATION)
    assert platform.seen == {(str(BEN), "1"): "hi"}
    assert direct("200") == BEN
