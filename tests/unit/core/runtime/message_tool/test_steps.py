"""The order of steps of the message tool, by which of two mistakes an agent is told about, and what a dry run does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import ACROSS, direct, room
from tests.support.sending import Platform, stored
from tests.support.small_gateway import ANA, KEY
from tests.support.tool_calls import Answering, Call, called, the_error, the_result
from trunkline import Action, ActionStatus, InvalidAction, InvalidSend, PolicyDenied, TargetError
from trunkline.core.errors import UnknownName
from trunkline.core.events.actions import ActionPreviewed, PolicyDecided
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.events.gateway import ToolRefused
from trunkline.core.reasons import Reason

pytestmark = pytest.mark.anyio

ELSEWHERE = {"action": "send", "channel": "telegram", "target": "user:42"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def discord(anyio_backend: str) -> Iterator[Answering]:
    tiny = Answering()
    yield tiny
    tiny.close()


@pytest.fixture
def telegram(anyio_backend: str) -> Iterator[Answering]:
    tiny = Answering("telegram")
    yield tiny
    tiny.close()


#: two mistakes in one call, and the error and the reason of the one that is found first
MISTAKES: list[Any] = [
    pytest.param({"action": "sing", "target": "user:1", "to": "x"}, InvalidAction, Reason.BAD_ACTION, id="parse first"),
    pytest.param(
        {"action": "send", "target": "user:1", "to": "user:1", "channel": "pigeon"},
        InvalidAction,
        Reason.BAD_TARGET,
        id="target rules before the channel",
    ),
    pytest.param(
        {"action": "send", "target": "user:1", "channel": "pigeon", "accountId": "nobody"},
        InvalidAction,
        Reason.UNKNOWN_CHANNEL,
        id="the channel before the account",
    ),
    pytest.param(
        {"action": "send", "target": "@nobody", "accountId": "nobody", "buffer": "!"},
        InvalidAction,
        Reason.BAD_ACTION,
        id="attachments are parsed before anything",
    ),
    pytest.param(
        {"action": "send", "target": "@nobody", "accountId": "nobody", "message": "x"},
        UnknownName,
        Reason.UNKNOWN_ACCOUNT,
        id="the account before the target",
    ),
    pytest.param(
        {**ELSEWHERE, "target": "what", "message": "x"},
        TargetError,
        Reason.BAD_TARGET,
        id="the target before the policy",
    ),
    pytest.param(ELSEWHERE, PolicyDenied, Reason.CROSS_CONTEXT_DENIED, id="the policy before the requirements"),
    pytest.param(
        {"action": "edit", "messageId": "nobody's"},
        InvalidAction,
        Reason.BAD_ACTION,
        id="the requirements before the message",
    ),
]


@pytest.mark.parametrize(("params", "error", "reason"), MISTAKES)
@pytest.mark.parametrize("dry_run", [False, True])
async def test_the_first_mistake_in_the_order_of_steps_is_reported(
    path: Path,
    discord: Answering,
    telegram: Answering,
    params: dict[str, object],
    error: type[Exception],
    reason: Reason,
    dry_run: bool,
) -> None:
    """A dry run finds the same mistakes."""
    outcomes, running = await called(path, discord, telegram, calls=[{**params, "dryRun": dry_run}])
    found = the_error(outcomes)
    assert type(found) is error, found
    [refused] = running.recorded(ToolRefused)
    assert (refused.reason, refused.detail) == (reason, found.facts)
    assert running.recorded(IntentPrepared) == []


DRY: list[Call] = [
    {"action": "send", "message": "hi", "dryRun": True},
    {"action": "poll", "pollQuestion": "Lunch?", "pollOption": ["yes", "no"], "dryRun": True},
    {"action": "react", "messageId": "m1", "emoji": "+1", "dryRun": True},
    {"action": "read", "dryRun": "true"},
    {"action": "broadcast", "targets": ["user:1", "channel:5"], "channel": "discord", "message": "x", "dryRun": True},
    lambda turn: turn.send("hi", dry_run=True),
]


@pytest.mark.parametrize("call", DRY)
async def test_a_dry_run_stores_sends_and_asks_nothing(path: Path, discord: Answering, call: Call) -> None:
    outcomes, running = await called(path, discord, calls=[call])
    result = the_result(outcomes)
    assert (result.status, result.handled_by, result.ok) == (ActionStatus.DRY_RUN, "dry-run", True)
    assert len(running.recorded(ActionPreviewed)) == max(len(result.results), 1)
    assert (discord.tried, discord.asked, discord.questions) == ([], [], [])
    left = stored(path)
    assert (left["intents"], left["sends"], len(left["transcript"]), len(left["session_map"])) == ([], [], 1, 1)


async def test_a_result_says_what_was_done_and_where(path: Path, discord: Answering) -> None:
    outcomes, _ = await called(path, discord, calls=[{"action": "send", "message": "hi"}])
    result = the_result(outcomes)
    assert (result.action, result.status, result.handled_by) == (Action.SEND, ActionStatus.QUEUED, "core")
    assert (result.channel, result.place, result.session_key) == ("discord", ANA, KEY)
    assert result.intent is not None
    assert result.for_model() == {
        "ok": True,
        "status": "queued",
        "action": "send",
        "handledBy": "core",
        "channel": "discord",
        "to": str(ANA),
        "messageId": result.intent,
        "session": KEY,
    }


async def test_in_a_wake_up_the_only_channel_is_the_channel(path: Path, discord: Answering) -> None:
    calls: list[Call] = [
        {"action": "send", "target": "user:1", "message": "x"},
        lambda turn: turn.send("y", "user:1"),
        lambda turn: turn.send("nowhere"),
        {"action": "send", "message": "nowhere"},
    ]
    outcomes, running = await called(path, discord, calls=calls, at=None)
    assert [type(one).__name__ for one in outcomes] == ["ActionResult", "ActionResult", "InvalidSend", "InvalidAction"]
    assert [one.reason for one in running.recorded(ToolRefused)] == [Reason.NO_TARGET] * 2
    assert "requires a target" in running.recorded(ToolRefused)[0].detail


async def test_with_several_channels_a_wake_up_has_to_name_one(
    path: Path, discord: Answering, telegram: Answering
) -> None:
    calls: list[Call] = [{"action": "send", "target": "user:1", "message": "x"}, lambda turn: turn.send("y", "user:1")]
    outcomes, _ = await called(path, discord, telegram, calls=calls, at=None)
    wanted = "Channel is required when multiple channels are configured: discord, telegram"
    assert all(wanted in str(one) for one in outcomes)


RULES = [{"agent": "main", "match": {"channel": "telegram", "account": "night"}}]


@pytest.mark.parametrize(
    ("rules", "named", "sends"),
    [(RULES, None, "night"), (RULES, "default", "default"), ([], None, "default")],
    ids=["that of its rules", "named", "the default one"],
)
async def test_an_agent_writes_by_the_account_that_its_rules_name(
    path: Path, discord: Answering, telegram: Answering, rules: list[Any], named: str | None, sends: str
) -> None:
    night = Platform("telegram", "night")
    calls: list[Call] = [
        {**ELSEWHERE, "message": "hi"} | ({} if named is None else {"accountId": named}),
        lambda turn: turn.send("hi", "user:42", channel="telegram", account=named),
    ]
    config: dict[str, Any] = {"tools": ACROSS, "bindings": rules}
    outcomes, _ = await called(path, discord, telegram, night, calls=calls, **config)
    night.close()
    places = [getattr(one, "place", one) for one in outcomes]
    assert places == [direct("42", channel="telegram", account=sends)] * 2


@pytest.mark.parametrize(
    ("place", "reason"),
    [(room("1", channel="nosuch"), Reason.UNKNOWN_CHANNEL), (room("1", account="nosuch"), Reason.UNKNOWN_ACCOUNT)],
)
async def test_an_exact_place_that_nobody_serves_is_refused(
    path: Path, discord: Answering, place: Any, reason: Reason
) -> None:
    outcomes, running = await called(path, discord, calls=[lambda turn: turn.send("x", place)])
    assert isinstance(the_error(outcomes), InvalidSend)
    assert [one.reason for one in running.recorded(ToolRefused)] == [reason]
    assert running.recorded(IntentPrepared) == []


async def test_what_stays_where_it_is_needs_no_decision(path: Path, discord: Answering) -> None:
    calls: list[Call] = [{"action": "send", "message": "x"}, {"action": "send", "target": "user:100", "message": "y"}]
    _, running = await called(path, discord, calls=calls)
    assert running.recorded(PolicyDecided) == []
