"""What a turn can ask of the past: the newest lines of its session with their authors, and what earlier runs did."""

from pathlib import Path

import anyio
import pytest

from tests.support.factories import room
from tests.support.small_gateway import ANA, Echo, TinyPlatform, serving
from trunkline import Turn
from trunkline.core.agent import DoneBefore
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.events.hands import DelegationAccepted
from trunkline.core.values import Peer, TranscriptLine

pytestmark = pytest.mark.anyio

HALL = room("500")


async def test_lines_have_their_authors_and_can_be_limited(path: Path, platform: TinyPlatform) -> None:
    seen: list[tuple[TranscriptLine, ...]] = []

    async def act(turn: Turn) -> str | None:
        if turn.text == "delegate":
            await turn.delegate("clerk", "count")
        seen.append(await turn.history())
        assert await turn.history(2) == seen[-1][-2:]
        assert await turn.history(0) == ()
        return f"re: {turn.text}"

    async with serving(path, platform, Echo(act)) as running:
        platform.say("m1", HALL, "one", Peer(id="1", name="Ana"))
        await running.until(IntentSettled)
        platform.say("m2", HALL, "delegate", Peer(id="2", name="hand:clerk"))
        await running.until(IntentSettled, 3)
    said = {(line.role, None if line.by is None else (line.by.id, line.by.name)) for line in seen[-1]}
    assert said == {
        ("user", ("1", "Ana")),
        # As agents see them: nobody passes for a hand.
        ("user", ("2", "person:hand:clerk")),
        ("hand", ("hand:clerk", "clerk")),
        ("assistant", None),
    }


async def test_a_turn_that_runs_again_can_ask_what_was_done(path: Path, platform: TinyPlatform) -> None:
    runs: list[DoneBefore] = []
    stopped = anyio.Event()

    async def act(turn: Turn) -> str | None:
        runs.append(await turn.done_before())
        if len(runs) == 1:
            await turn.send("first")
            await turn.delegations()
            await turn.delegate("clerk", "count")
            await turn.send("elsewhere", "user:200", channel="discord")
            stopped.set()
            await anyio.sleep_forever()
        return None

    agent = Echo(act)
    async with serving(path, platform, agent) as running:
        platform.say("m1", ANA)
        with anyio.fail_after(30):
            await stopped.wait()
        await running.until(DelegationAccepted)
    again = TinyPlatform()
    async with serving(path, again, agent) as running:
        await running.until(TurnEnded)
    again.close()
    first, second = runs[:2]
    assert first == DoneBefore()
    assert [(one.action.value, one.said, str(one.place)) for one in second.sent] == [
        ("send", "first", "discord:default/100"),
        ("send", "elsewhere", "discord:default/200"),
    ]
    assert [(one.hand, one.task) for one in second.delegated] == [("clerk", "count")]
    assert again.sent == []
