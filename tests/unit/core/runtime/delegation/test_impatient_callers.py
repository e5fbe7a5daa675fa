"""Who asks for the end of a delegation may stop waiting for it: the delegation ends all the same."""

from pathlib import Path

import anyio
import pytest

from tests.support.small_gateway import ANA, Echo, TinyPlatform, serving
from trunkline import HandTask, Turn
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.hands import DelegationFinished, DelegationIgnored
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome

pytestmark = pytest.mark.anyio


class Endless:
    """A hand that never ends."""

    def __init__(self) -> None:
        self.began = anyio.Event()

    def has(self, hand: str) -> bool:
        return hand == "endless"

    async def run(self, task: HandTask) -> str:
        self.began.set()
        await anyio.sleep(3600)
        return "too late"


@pytest.mark.parametrize("hand", ["endless", "helper"])
async def test_an_agent_that_does_not_wait_for_a_cancel(path: Path, platform: TinyPlatform, hand: str) -> None:
    endless = Endless()

    async def helper(_: Turn) -> str | None:
        endless.began.set()
        await anyio.sleep(3600)
        return "too late"

    async def act(turn: Turn) -> str | None:
        delegation = await turn.delegate(hand, turn.text)
        await endless.began.wait()
        with anyio.move_on_after(0) as scope:
            await turn.cancel(delegation)
        assert scope.cancelled_caught
        return "never mind"

    async with serving(path, platform, Echo(act), runner=endless, others={"helper": Echo(helper)}) as running:
        platform.say("m1", ANA, "count")
        [finished] = await running.until(DelegationFinished)
        await running.until(IntentSettled)
        [row] = (await running.gateway.hands.list()).rows
        assert (await running.gateway.hands.show(row.id)).late == ()
        assert running.recorded(DelegationIgnored) == []
    assert (finished.outcome, finished.reason) == (HandOutcome.CANCELLED, Reason.CANCELLED_BY_AGENT)
    assert [one.text for one in platform.sent] == ["never mind"]
