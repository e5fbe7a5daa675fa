"""What an agent may not send itself, it cannot have another agent send: the task belongs to the same conversation."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.small_gateway import ANA, BEN, Echo, TinyPlatform, serving
from trunkline import PolicyDenied, Turn
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.hands import DelegationFinished
from trunkline.core.reasons import Reason
from trunkline.core.values import WorkKind

pytestmark = pytest.mark.anyio

NOT_WITHIN: dict[str, Any] = {"message": {"cross_context": {"allow_within_provider": False}}}


async def test_a_task_is_bound_by_the_conversation_that_it_is_done_for(path: Path, platform: TinyPlatform) -> None:
    errors: list[PolicyDenied] = []

    async def act(turn: Turn) -> str | None:
        if turn.work is WorkKind.MESSAGE:
            await turn.delegate("helper", turn.text)
        return None

    async def helper(turn: Turn) -> str | None:
        await turn.send("for Ana", ANA)
        try:
            await turn.send("what Ana wrote", BEN)
        except PolicyDenied as error:
            errors.append(error)
        return None

    async with serving(path, platform, Echo(act), others={"helper": Echo(helper)}, tools=NOT_WITHIN) as running:
        platform.say("m1", ANA, "count")
        await running.until(DelegationFinished)
        await running.until(IntentSettled)
    assert [error.reason for error in errors] == [Reason.CROSS_CONTEXT_DENIED]
    assert [(one.address, one.text) for one in platform.sent] == [(ANA, "for Ana")]
