"""The facts of session bindings, and of fallbacks to other places and identities."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.core.events import Event
from trunkline.core.events.bindings import (
    BindingBound,
    BindingDegraded,
    BindingEnded,
    BindingEnding,
    BindingTouched,
    IdentityFallback,
)
from trunkline.core.events.delivery import Fallback
from trunkline.core.values import Address, ChatKind
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.index.projection import Projection, on

Lane = tuple[str, str, str, str]


@dataclass(slots=True)
class BindingFacts:
    """A binding, as recorded so far."""

    id: str
    body: BindingBound
    bound: Event
    #: its expiry, the earlier of its deadlines
    expires_at: float | None
    last_activity_at: float
    ending: Event | None = None
    ended: Event | None = None
    degraded: Event | None = None

    def routes(self, at: float) -> bool:
        """Whether the bound conversation belongs to its session at a time."""
        over = self.expires_at is not None and self.expires_at <= at
        return self.ending is None and self.ended is None and not over


class RunBindings(Projection):
    """Bindings by id, by place and by delegation; and recorded fallbacks."""

    def __init__(self) -> None:
        self.by_id: dict[str, BindingFacts] = {}
        #: the last binding of each place
        self.at: dict[Lane, BindingFacts] = {}
        #: all bindings of each place, in order
        self.had: dict[Lane, list[BindingFacts]] = {}
        #: the last binding of each conversation, by the accounts that it was bound through
        self.shared: dict[tuple[str, str, str], dict[str, BindingFacts]] = {}
        self.of_delegation: dict[str, BindingFacts] = {}
        #: delegations and intents with a recorded fallback
        self.fell_back: set[str] = set()
        #: intent -> the first chunk that the bot posts, by a recorded fallback
        self.by_bot: dict[str, int] = {}
        #: (channel, conversation, id of a proxy's copy) -> id of the original message
        self.proxied: dict[tuple[str, str, str], str] = {}

    def routing(self, place: Address, at: float) -> BindingFacts | None:
        """The binding by which a place belongs to a session at a time."""
        facts = self.at.get(place.lane)
        return facts if facts is not None and facts.routes(at) else None

    def owner_of(self, place: Address, at: float) -> BindingFacts | None:
        """The binding by which a group or channel belongs to another account of the gateway, and not to its own."""
        if place.kind is ChatKind.DIRECT or self.routing(place, at) is not None:
            return None
        found = self.shared.get(_shared(place), {})
        owners = (
            facts for account, facts in found.items() if account != place.account and facts.body.owner == "channel"
        )
        return next((facts for facts in owners if facts.routes(at)), None)

    def holds(self, place: Address, session_key: str) -> bool:
        """Whether a place belongs, or has belonged, to a session."""
        return any(facts.body.session_key == session_key for facts in self.had.get(place.lane, ()))

    def has_fallen_back(self, prepared: Event) -> bool:
        """Whether a fallback was recorded for a message."""
        return prepared.delegation in self.fell_back or prepared.intent in self.fell_back

    def holding(self, place: Address, seq: int) -> BindingFacts | None:
        """The binding of a place at an event, unless it had already ended."""
        for facts in reversed(self.had.get(place.lane, ())):
            if facts.bound.seq < seq and (facts.ended is None or facts.ended.seq > seq):
                return facts
        return None

    @on(BindingBound)
    def _bound(self, event: Event, body: BindingBound) -> None:
        facts = BindingFacts(event.binding or "", body, event, body.expires_at, event.at)
        self.by_id[facts.id] = self.at[body.conversation.lane] = facts
        self.had.setdefault(body.conversation.lane, []).append(facts)
        self.shared.setdefault(_shared(body.conversation), {})[body.conversation.account] = facts
        if event.delegation is not None:
            self.of_delegation[event.delegation] = facts

    @on(BindingTouched)
    def _touched(self, event: Event, body: BindingTouched) -> None:
        facts = self.by_id.get(event.binding or "")
        if facts is not None:
            facts.expires_at, facts.last_activity_at = body.expires_at, body.last_activity_at

    @on(BindingEnding)
    def _ending(self, event: Event, _body: BindingEnding) -> None:
        facts = self.by_id.get(event.binding or "")
        if facts is not None:
            facts.ending = event

    @on(BindingEnded)
    def _ended(self, event: Event, _body: BindingEnded) -> None:
        facts = self.by_id.get(event.binding or "")
        if facts is not None:
            facts.ended = event

    @on(BindingDegraded)
    def _degraded(self, event: Event, _body: BindingDegraded) -> None:
        facts = self.by_id.get(event.binding or "")
        if facts is not None:
            facts.degraded = event

    @on(Fallback)
    def _fallback(self, event: Event, _body: Fallback) -> None:
        for name in (event.delegation, event.intent):
            if name is not None:
                self.fell_back.add(name)

    @on(PeerSaid)
    def _said(self, event: Event, body: PeerSaid) -> None:
        if body.stands_for is not None:
            place = body.address
            self.proxied[place.channel, place.conversation, body.message_id] = body.stands_for

    @on(IdentityFallback)
    def _identity(self, event: Event, body: IdentityFallback) -> None:
        self.by_bot.setdefault(event.intent or "", body.chunk)


def _shared(place: Address) -> tuple[str, str, str]:
    """A conversation, whichever account sees it."""
    return place.channel, place.conversation, place.thread or ""
