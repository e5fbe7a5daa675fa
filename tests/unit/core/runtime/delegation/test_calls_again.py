"""A turn that runs again after a crash, and delegates something else with the same call."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.small_gateway import ANA, Echo, TinyPlatform, serving
from trunkline import Turn
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import ToolRefused, TurnEnded
from trunkline.core.events.hands import DelegationAccepted
from trunkline.core.reasons import Reason

pytestmark = pytest.mark.anyio

WORKERS: dict[str, Any] = {"each": {"robot": {"worker": True}, "crane": {"worker": True}}}


@pytest.mark.parametrize(
    ("hand", "task", "recorded"),
    [
        ("robot", "weld", []),
        ("crane", "weld", [("delegate", Reason.CALL_CHANGED, "m1.hand1 was given to robot: weld")]),
        ("robot", "lift", [("delegate", Reason.CALL_CHANGED, "m1.hand1 was given to robot: weld")]),
    ],
)
async def test_the_stored_delegation_is_the_answer_and_another_call_is_recorded(
    path: Path, platform: TinyPlatform, hand: str, task: str, recorded: list[Any]
) -> None:
    said: list[str] = []
    asked = [("robot", "weld"), (hand, task)]

    async def act(turn: Turn) -> str | None:
        agent_id, message = asked[len(said)]
        said.append(await turn.call_hand_tool("agent_send_async", {"agent_id": agent_id, "message": message}))
        return "on it"

    async with serving(path, platform, Echo(act), hands=WORKERS) as running:
        platform.say("m1", ANA, "go")
        await running.until(IntentSettled)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE inbox SET state = 'pending'")
    async with serving(path, platform, Echo(act), hands=WORKERS) as running:
        await running.until(TurnEnded)
        refused = [(one.tool, one.reason, one.detail) for one in running.recorded(ToolRefused)]
        again = running.recorded(DelegationAccepted)
        named = [one.delegation for one in running.log.events if isinstance(one.body, ToolRefused)]
        rows = (await running.gateway.hands.list()).rows
    assert said[0] == said[1]
    assert (refused, again) == (
        [(tool, reason, detail.replace("m1", rows[0].inbound)) for tool, reason, detail in recorded],
        [],
    )
    assert named == [rows[0].id] * len(recorded)
    assert [(row.hand, row.task) for row in rows] == [("robot", "weld")]
