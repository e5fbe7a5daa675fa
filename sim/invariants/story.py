"""What the checkers share: an index of the run so far, folded from its events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from core.channels import rules_for
from core.events import Body, Event
from core.events.bodies import (
    CompletionPlanned,
    ConfigReloaded,
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
    TurnStarted,
    WireAccepted,
    WorldPlace,
)
from core.profiles import Profile
from core.reasons import Reason
from core.routing.keys import linked_name
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
        #: turn id -> the session that it runs in
        self.running: dict[str, str] = {}
        #: inbound id -> the session that it was admitted to
        self.admitted: dict[str, str] = {}
        #: delegation id -> the session of the turn that delegated
        self.delegated_in: dict[str, str] = {}
        #: how conversations share sessions now: DM scope, group scope
        self.dm_scope = ""
        self.group_scope = ""
        #: canonical name -> ids of one person
        self.links: dict[str, tuple[str, ...]] = {}
        #: counts up when the scopes may have changed
        self.scopes_changed = 0
        #: places whose session is the main one by the scope of their own binding
        self.in_main: set[Lane] = set()
        self._names: dict[Lane, str] = {}
        #: inbound id -> the place that its session is of
        self._homes: dict[str, Address] = {}
        self._handlers: dict[type[Body], Callable[[Event, Any], None]] = {
            WorldPlace: self._place,
            PlatformPushed: self._pushed,
            ProcessStarted: self._process,
            ConfigReloaded: self._reloaded,
            TurnStarted: self._turn,
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

    def home(self, inbound: str | None) -> Address | None:
        """The place that a message's session is of: its own, or the thread that is opened on it."""
        home = self._homes.get(inbound or "")
        if home is not None:
            return home
        origin = self.origin(inbound)
        return None if origin is None else origin[0]

    def person(self, place: Address) -> str:
        """Whom a direct conversation is with: the linked name (``*ana``), else the platform's id."""
        rules = rules_for(place.channel)
        name = linked_name(rules, place.conversation, self.links, Profile.TRUNKLINE)
        return f"*{name}" if name else rules.fold(place.kind, place.conversation)

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
        before = (self.dm_scope, self.group_scope, self.links)
        self.dm_scope, self.group_scope, self.links = body.dm_scope, body.group_scope, body.identity_links
        self.scopes_changed += before != (self.dm_scope, self.group_scope, self.links)

    def _reloaded(self, _event: Event, body: ConfigReloaded) -> None:
        self.dm_scope, self.group_scope, self.links = body.dm_scope, body.group_scope, body.identity_links
        self.scopes_changed += 1

    def _turn(self, event: Event, body: TurnStarted) -> None:
        self.running[event.turn or ""] = body.session_id

    def _opened(self, _event: Event, body: ThreadOpened) -> None:
        if body.on_message is not None:
            self.opened_on[body.address.channel, body.on_message] = body.address

    def _received(self, event: Event, _body: InboundReceived) -> None:
        self.received[event.inbound or ""] = event

    def _admitted(self, event: Event, body: InboundAdmitted) -> None:
        self.admitted[event.inbound or ""] = body.session_id
        if body.work is WorkKind.CALLBACK:
            self.callbacks[event.inbound or ""] = event.delegation or ""

    def _delegated(self, event: Event, _body: DelegationAccepted) -> None:
        self.delegated_by[event.delegation or ""] = event.inbound or ""
        self.delegated_in[event.delegation or ""] = self.running.get(event.turn or "", "")

    def _planned(self, event: Event, body: CompletionPlanned) -> None:
        self.planned[event.delegation or ""] = (event, len(body.steps))

    def _routed(self, event: Event, body: RouteDecided) -> None:
        self.routed[event.inbound or ""] = event
        received = self.received.get(event.inbound or "")
        if body.reply_reason is Reason.REPLY_IN_OPENED_THREAD and body.reply_to is not None:
            self._homes[event.inbound or ""] = body.reply_to
        elif received is not None and isinstance(received.body, InboundReceived):
            self._homes[event.inbound or ""] = received.body.address
        if body.scope == "main" and body.reply_to is not None:
            self.in_main.add(body.reply_to.lane)

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
