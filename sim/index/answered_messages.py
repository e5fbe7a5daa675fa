"""The messages that the cast's agents answer on purpose, by the message tool."""

from __future__ import annotations

from collections.abc import Mapping

from trunkline.core.events import Event
from trunkline.core.values import Address
from trunkline.sim.events.actions import AgentActs
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.index.intent_facts import IntentFacts
from trunkline.sim.index.projection import Projection, on


class AnsweredMessages(Projection):
    """Which messages agents name when they answer, so that a quote of one is theirs and not the gateway's."""

    def __init__(self, intents: Mapping[str, IntentFacts]) -> None:
        self._intents = intents
        #: turn -> messages of people, by id, and the agent's own, by intent
        self._people: dict[str, list[str]] = {}
        self._own: dict[str, list[str]] = {}

    def quotable(self, turn: str | None) -> tuple[str, ...]:
        """What the agent of a turn answers, by the platform's id."""
        sent = [self._intents[own].accepts for own in self._own.get(turn or "", ()) if own in self._intents]
        ids = [one.body.provider_id for accepts in sent for one in accepts if isinstance(one.body, WireAccepted)]
        return (*self._people.get(turn or "", ()), *ids)

    def in_thread(self, turn: str | None, place: Address, at: Address) -> bool:
        """Whether `at` is the thread of an answered message in `place`, on a platform that answers in threads."""
        return (at.channel, at.conversation) == (place.channel, place.conversation) and at.thread in self.quotable(turn)

    @on(AgentActs)
    def _acts(self, event: Event, body: AgentActs) -> None:
        if body.message_id is not None:
            self._people.setdefault(event.turn or "", []).append(body.message_id)
        if body.of is not None:
            self._own.setdefault(event.turn or "", []).append(body.of)
