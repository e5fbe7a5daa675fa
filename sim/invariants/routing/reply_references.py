"""The part of R1 about reply references: an answer quotes its message where the operator asked for that."""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.events.gateway import ConfigReloaded, InboundReceived, ProcessStarted, TurnStarted
from trunkline.core.values import IntentKind, WorkKind
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.invariants.base import Checker


class ReplyReferences(Checker):
    """The part of R1 about reply references (``reply_reference`` of a channel)."""

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: process -> channels whose answers quote their message
        self._quoting: dict[int, frozenset[str]] = {}
        #: the same at the start of each turn: a reload may come while it runs
        self._at_turn: dict[str, frozenset[str]] = {}
        #: intent -> the message that it must quote
        self._quotes: dict[str, str] = {}

    @on(ProcessStarted, ConfigReloaded)
    def _configured(self, event: Event, body: ProcessStarted | ConfigReloaded) -> None:
        self._quoting[event.generation] = frozenset(body.quoting)

    @on(TurnStarted)
    def _turn_started(self, event: Event, body: TurnStarted) -> None:
        """Only turns of messages quote; the answer to a chat command does not."""
        quoting = self._quoting.get(event.generation)
        if quoting and body.work is WorkKind.MESSAGE:
            self._at_turn[event.turn or ""] = quoting

    @on(IntentPrepared)
    def _answer_prepared(self, event: Event, body: IntentPrepared) -> None:
        """Only the answer of the turn quotes, and only in the message's own place."""
        channel = body.address.channel
        if channel not in self._at_turn.get(event.turn or "", ()) or channel not in self._quoting[event.generation]:
            return
        received = self.run.received.get(event.inbound or "")
        if body.intent_kind is not IntentKind.REPLY or body.targeted or received is None:
            return
        assert isinstance(received.body, InboundReceived)
        if received.body.address.lane == body.address.lane:
            self._quotes[event.intent or ""] = received.body.subject

    def meant(self, prepared: Event) -> tuple[str | None, ...]:
        """What a message quotes because a hook or its agent says so."""
        return (*self.run.hooks.quotable(prepared.intent), *self.run.answered.quotable(prepared.turn))

    def quoted(self, event: Event, body: WireAccepted) -> None:
        """Compare the reference of an accepted answer with the message that it answers."""
        message = self._quotes.get(event.intent or "", body.reply_to)
        prepared = self.run.intents[event.intent or ""].prepared
        if body.reply_to in (message, *self.meant(prepared)):
            return
        self.violate(
            at=event.seq,
            summary=f"the answer to {prepared.inbound} does not quote it",
            expected=[f"a reply reference to {message}"],
            actual=[f"#{event.seq} {event.at:.3f}s reply reference: {body.reply_to or 'none'}"],
            evidence=[prepared.seq, event.seq],
        )
