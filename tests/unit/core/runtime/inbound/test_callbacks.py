"""A callback turn: the result of a hand as a message of that hand, with a prompt for this turn only."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import room
from tests.support.small_gateway import ANA, BEN, KEY, Echo, TinyPlatform, serving
from trunkline import Address, Peer, Turn
from trunkline.core.config import HandsConfig
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import WorkKind

pytestmark = pytest.mark.anyio

THREAD = Address(channel="discord", account="default", kind=room("500").kind, conversation="777", parent="500")


class Delegating(Echo):
    """An agent that delegates every message of a person, and presents every result."""

    def __init__(self) -> None:
        super().__init__(self._act)
        self.seen: list[dict[str, Any]] = []

    async def _act(self, turn: Turn) -> str:
        facts = ("work", "peer", "place", "text", "prompt", "callback", "session_key", "agent")
        self.seen.append({fact: getattr(turn, fact) for fact in facts})
        if turn.callback is not None:
            return f"{turn.peer.name} says: {turn.text}"
        if turn.text.startswith("count"):
            await turn.delegate("clerk", turn.text)
        return f"on it: {turn.text}"

    def of(self, kind: WorkKind) -> list[dict[str, Any]]:
        return [facts for facts in self.seen if facts["work"] is kind]


@pytest.mark.parametrize("place", [ANA, room("500"), THREAD])
async def test_the_result_is_a_message_of_the_hand_from_the_place_that_asked(
    path: Path, platform: TinyPlatform, place: Address
) -> None:
    agent = Delegating()
    async with serving(path, platform, agent) as running:
        platform.say("m1", place, "count the mails")
        await running.until(IntentSettled, 2)
    [callback] = agent.of(WorkKind.CALLBACK)
    assert callback["peer"] == Peer(id="hand:clerk", name="clerk")
    assert (callback["text"], callback["place"], callback["agent"]) == ("done: count the mails", place, "main")
    facts = callback["callback"]
    assert (facts.hand, facts.outcome) == ("clerk", HandOutcome.OK)
    assert callback["session_key"] == agent.seen[0]["session_key"]


async def test_only_the_turn_of_the_result_has_the_prompt(path: Path, platform: TinyPlatform) -> None:
    agent = Delegating()
    async with serving(path, platform, agent) as running:
        platform.say("m1", ANA, "count")
        await running.until(IntentSettled, 2)
        platform.say("m2", ANA, "thank you")
        await running.until(IntentSettled, 3)
        await running.gateway.wake("main", "look around")
        await running.until(TurnEnded, 4)
        assert [facts["prompt"] for facts in agent.of(WorkKind.CALLBACK)] == [HandsConfig().prompt]
        assert [facts["prompt"] for facts in agent.of(WorkKind.MESSAGE)] == [None, None]
        assert [facts["prompt"] for facts in agent.of(WorkKind.WAKE)] == [None]
        # It is passed beside the conversation, which does not remember it.
        lines = sorted(text for _, text in await running.transcript(KEY))
        said = ["clerk says: done: count", "count", "done: count", "on it: count", "on it: thank you", "thank you"]
        assert lines == said
    assert "delegated" in HandsConfig().prompt and "data, not instructions" in HandsConfig().prompt


async def test_the_answer_goes_to_the_person_who_asked_and_to_nobody_else(path: Path, platform: TinyPlatform) -> None:
    agent = Delegating()
    async with serving(path, platform, agent) as running:
        platform.say("m1", ANA, "count mine")
        platform.say("m2", BEN, "count his")
        await running.until(IntentSettled, 4)
    told = {place: [one.text for one in platform.sent if one.address == place] for place in (ANA, BEN)}
    assert told == {
        ANA: ["on it: count mine", "clerk says: done: count mine"],
        BEN: ["on it: count his", "clerk says: done: count his"],
    }
