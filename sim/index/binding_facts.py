"""The facts of session bindings, and of fallbacks to other places and identities."""

import msgspec

from trunkline.core.events import Event, bindings, delivery
from trunkline.core.values import Address, ChatKind
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.index.projection import Projection

Lane = tuple[str, str, str, str]


class BindingFacts(msgspec.Struct):
    """A binding, as recorded so far."""

    id: str
    body: bindings.BindingBound
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

    by_id: dict[str, BindingFacts] = {}
    #: the last binding of each place
    at: dict[Lane, BindingFacts] = {}
    #: all bindings of each place, in order; those that have not ended, by their events; and the last end
    _had: dict[Lane, list[BindingFacts]] = {}
    _open: dict[Lane, dict[int, BindingFacts]] = {}
    _last_end: dict[Lane, int] = {}
    #: the sessions that each place has belonged to
    _sessions: dict[Lane, set[str]] = {}
    #: the last binding of each conversation, by the accounts that it was bound through
    shared: dict[tuple[str, str, str], dict[str, BindingFacts]] = {}
    of_delegation: dict[str, BindingFacts] = {}
    #: delegation or intent -> where a recorded fallback sends it
    fallbacks: dict[str | None, set[Lane]] = {}
    #: intent -> the first chunk that the bot posts, by a recorded fallback
    by_bot: dict[str, int] = {}
    #: (channel, conversation, id of a proxy's copy) -> id of the original message
    proxied: dict[tuple[str, str, str], str] = {}

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
        return session_key in self._sessions.get(place.lane, ())

    def open_before(self, bound: Event, place: Address) -> list[BindingFacts]:
        """The other bindings of a place that had neither ended nor begun to end when it was bound."""
        others = (facts for facts in self._open.get(place.lane, {}).values() if facts.bound is not bound)
        return [facts for facts in others if facts.ending is None]

    def has_fallen_back(self, prepared: Event) -> bool:
        """Whether a fallback was recorded for a message."""
        return prepared.delegation in self.fallbacks or prepared.intent in self.fallbacks

    def holding(self, place: Address, seq: int) -> BindingFacts | None:
        """The binding of a place at an event, unless it had already ended."""
        if not self._open.get(place.lane) and self._last_end.get(place.lane, 0) <= seq:
            return None
        for facts in reversed(self._had.get(place.lane, ())):
            if facts.bound.seq < seq and (facts.ended is None or facts.ended.seq > seq):
                return facts
        return None

    def on_bound(self, event: Event, body: bindings.BindingBound) -> None:
        facts = BindingFacts(event.binding or "", body, event, body.expires_at, event.at)
        self.by_id[facts.id] = self.at[body.conversation.lane] = facts
        self._had.setdefault(body.conversation.lane, []).append(facts)
        self._open.setdefault(body.conversation.lane, {})[event.seq] = facts
        self._sessions.setdefault(body.conversation.lane, set()).add(body.session_key)
        self.shared.setdefault(_shared(body.conversation), {})[body.conversation.account] = facts
        if event.delegation is not None:
            self.of_delegation[event.delegation] = facts

    def on_touched(self, event: Event, body: bindings.BindingTouched) -> None:
        facts = self.by_id.get(event.binding or "")
        if facts is not None:
            facts.expires_at, facts.last_activity_at = body.expires_at, body.last_activity_at

    def on_ending(self, event: Event, _body: bindings.BindingEnding) -> None:
        facts = self.by_id.get(event.binding or "")
        if facts is not None:
            facts.ending = event

    def on_ended(self, event: Event, _body: bindings.BindingEnded) -> None:
        facts = self.by_id.get(event.binding or "")
        if facts is not None:
            lane = facts.body.conversation.lane
            facts.ended = event
            self._open[lane].pop(facts.bound.seq, None)
            self._last_end[lane] = event.seq

    def on_degraded(self, event: Event, _body: bindings.BindingDegraded) -> None:
        facts = self.by_id.get(event.binding or "")
        if facts is not None:
            facts.degraded = event

    def on_fallback(self, event: Event, body: delivery.Fallback) -> None:
        for name in (event.delegation, event.intent):
            if name is not None:
                self.fallbacks.setdefault(name, set()).add(body.used.lane)

    def on_said(self, event: Event, body: PeerSaid) -> None:
        if body.stands_for is not None:
            place = body.address
            self.proxied[place.channel, place.conversation, body.message_id] = body.stands_for

    def on_identity(self, event: Event, body: bindings.IdentityFallback) -> None:
        self.by_bot.setdefault(event.intent or "", body.chunk)


def _shared(place: Address) -> tuple[str, str, str]:
    """A conversation, whichever account sees it."""
    return place.channel, place.conversation, place.thread or ""
