"""What the checkers share: an index of the run so far, folded from its events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from core.events import Body, Event
from core.events.bodies import (
    CompletionPlanned,
    DelegationAccepted,
    InboundAdmitted,
    InboundReceived,
    IntentPrepared,
    IntentSettled,
    PlatformPushed,
    ProcessStarted,
    RecoveryDecided,
    RouteDecided,
    ThreadOpened,
    WireAccepted,
    WorldPlace,
)
from core.values import Address, WorkKind

Lane = tuple[str, str, str, str]


@dataclass(slots=True)
class IntentFacts:
    """One intent: how it was prepared and what the platforms accepted of it (events, in order)."""

    prepared: Event
    body: IntentPrepared
    accepts: list[Event] = field(default_factory=list[Event])
    settled: list[Event] = field(default_factory=list[Event])

    @property
    def accepted_chunks(self) -> set[int]:
        """Chunks that people can see."""
        return {event.body.chunk for event in self.accepts if isinstance(event.body, WireAccepted)}


class Story:
    """Places by name, intents with their accepts, inbound messages with where they came from."""

    def __init__(self) -> None:
        self.intents: dict[str, IntentFacts] = {}
        #: inbound id -> the event in which the gateway took it
        self.received: dict[str, Event] = {}
        #: delegation id -> the inbound of the turn that delegated
        self.delegated_by: dict[str, str] = {}
        #: intent id -> the last decision on it at a start
        self.recovered: dict[str, Event] = {}
        #: inbound id -> the decision that froze where its answers go
        self.routed: dict[str, Event] = {}
        #: delegation id -> how its result would be told, and in how many steps
        self.planned: dict[str, tuple[Event, int]] = {}
        #: callback work -> the delegation that it tells of
        self.callbacks: dict[str, str] = {}
        #: (channel, message id) -> thread opened on the message
        self.opened_on: dict[tuple[str, str], Address] = {}
        #: (lane, id as delivered) -> id as first posted
        self.original: dict[tuple[Lane, str], str] = {}
        #: how direct conversations share sessions
        self.dm_scope = ""
        self._names: dict[Lane, str] = {}
        self._handlers: dict[type[Body], Callable[[Event, Any], None]] = {
            WorldPlace: self._place,
            PlatformPushed: self._pushed,
            ProcessStarted: self._process,
            ThreadOpened: self._opened,
            InboundReceived: self._received,
            InboundAdmitted: self._admitted,
            DelegationAccepted: self._delegated,
            CompletionPlanned: self._planned,
            RecoveryDecided: self._recovered,
            RouteDecided: self._routed,
            IntentPrepared: self._prepared,
            WireAccepted: self._accepted,
            IntentSettled: self._settled,
        }

    @property
    def bodies(self) -> tuple[type[Body], ...]:
        """The events that it is made from."""
        return tuple(self._handlers)

    def see(self, event: Event) -> None:
        """Take one of these events in."""
        self._handlers[type(event.body)](event, event.body)

    # ------------------------------------------------------------ questions

    def name(self, address: Address | None) -> str:
        """What people call a place."""
        if address is None:
            return "nowhere"
        name = self._names.get(address.lane)
        return f"{address.channel}/{name}" if name else str(address)

    def origin(self, inbound: str | None) -> tuple[Address, str] | None:
        """Place and message id that a piece of work goes back to, through callbacks; none for wake-ups."""
        for _ in range(len(self.callbacks) + 1):
            event = self.received.get(inbound or "")
            if event is not None and isinstance(event.body, InboundReceived):
                return event.body.address, event.body.message_id
            inbound = self.delegated_by.get(self.callbacks.get(inbound or "", ""))
        return None

    def logical(self, event: Event) -> tuple[Lane, str] | None:
        """The message that an ``inbound.received`` is about: where, and the id under which it was first posted."""
        body = event.body
        if not isinstance(body, InboundReceived):
            return None
        lane = body.address.lane
        return lane, self.original.get((lane, body.message_id), body.message_id)

    # ------------------------------------------------------------ folding

    def _place(self, _event: Event, body: WorldPlace) -> None:
        self._names[body.address.lane] = body.name

    def _pushed(self, _event: Event, body: PlatformPushed) -> None:
        self.original[body.address.lane, body.message_id] = body.original_id

    def _process(self, _event: Event, body: ProcessStarted) -> None:
        self.dm_scope = body.dm_scope

    def _opened(self, _event: Event, body: ThreadOpened) -> None:
        if body.on_message is not None:
            self.opened_on[body.address.channel, body.on_message] = body.address

    def _received(self, event: Event, _body: InboundReceived) -> None:
        self.received[event.inbound or ""] = event

    def _admitted(self, event: Event, body: InboundAdmitted) -> None:
        if body.work is WorkKind.CALLBACK:
            self.callbacks[event.inbound or ""] = event.delegation or ""

    def _delegated(self, event: Event, _body: DelegationAccepted) -> None:
        self.delegated_by[event.delegation or ""] = event.inbound or ""

    def _planned(self, event: Event, body: CompletionPlanned) -> None:
        self.planned[event.delegation or ""] = (event, len(body.steps))

    def _routed(self, event: Event, _body: RouteDecided) -> None:
        self.routed[event.inbound or ""] = event

    def _recovered(self, event: Event, _body: RecoveryDecided) -> None:
        self.recovered[event.intent or ""] = event

    def _prepared(self, event: Event, body: IntentPrepared) -> None:
        self.intents[event.intent or ""] = IntentFacts(event, body)

    def _accepted(self, event: Event, _body: WireAccepted) -> None:
        facts = self.intents.get(event.intent or "")
        if facts is not None:
            facts.accepts.append(event)

    def _settled(self, event: Event, _body: IntentSettled) -> None:
        facts = self.intents.get(event.intent or "")
        if facts is not None:
            facts.settled.append(event)
