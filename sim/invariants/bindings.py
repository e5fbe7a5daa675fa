"""Bound conversations: B1, D8; and what B2 and R2 say of them is in `sim.invariants.identity`."""

from __future__ import annotations

from collections.abc import Callable

from core.events import Body, Event
from core.events.bodies import (
    BindingBound,
    BindingEnded,
    BindingRefused,
    InboundAdmitted,
    InboundReceived,
    MirrorAppended,
    PeerSaid,
    RouteDecided,
    RouterDecided,
    ThreadOpened,
    TurnStarted,
)
from core.values import Address
from sim.invariants.base import Checker
from sim.invariants.story import Lane, Story


class BindingLife(Checker):
    """B1: while a binding is active its conversation belongs to its session, and to no other; after it, never."""

    id = "B1"
    title = "Binding life cycle and ownership"
    sentence = (
        "Messages of a bound conversation go to the bound session while the binding is active and unexpired, and to no "
        "bound session otherwise; a conversation has one binding; the router chooses active ones; a refused binding "
        "leaves no thread."
    )

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        #: threads that were opened under a name, and are not bound yet: by what asked for them
        self._opened: dict[Lane, Event] = {}

    def handlers(self) -> dict[type[Body], Callable[[Event], None]]:
        """Bindings, routes, and the router."""
        return {
            RouteDecided: self._routed,
            RouterDecided: self._router,
            BindingBound: self._bound,
            BindingEnded: self._ended,
            ThreadOpened: self._thread,
            BindingRefused: self._refused,
        }

    def _routed(self, event: Event) -> None:
        body, received = event.body, self.story.received.get(event.inbound or "")
        assert isinstance(body, RouteDecided)
        if received is None or not isinstance(received.body, InboundReceived):
            return
        place = received.body.address
        facts = self.story.bound.at.get(place.lane)
        if facts is None and event.binding is None:
            return
        self.exercised += 1
        active = self.story.bound.routing(place, event.at)
        if active is not None and body.session_key != active.body.session_key:
            self._wrong(event, place, f"session {active.body.session_key}, by {active.id}", active.bound)
        elif active is None and self.story.bound.holds(place, body.session_key):
            last = facts.ended or facts.ending or facts.bound if facts is not None else event
            self._wrong(event, place, "the default route: the binding is over", last)

    def _wrong(self, event: Event, place: Address, expected: str, evidence: Event) -> None:
        body = event.body
        assert isinstance(body, RouteDecided)
        self.violate(
            at=event.seq,
            summary=f"{event.inbound}, said at {self.story.name(place)}, went to session {body.session_key}",
            expected=[expected],
            actual=[f"#{event.seq} {event.at:.3f}s session {body.session_key}, by {body.matched_by}"],
            evidence=[evidence.seq, event.seq],
            first_wrong=event.seq,
        )

    def _router(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, RouterDecided)
        self.exercised += 1
        facts = self.story.bound.by_id.get(event.binding or "")
        if body.mode != "bound" or (facts is not None and facts.routes(event.at)):
            return
        self.violate(
            at=event.seq,
            summary=f"the completion of {event.delegation} was routed to a binding that is not active",
            expected=["an active, unexpired binding, or none"],
            actual=[f"#{event.seq} {event.at:.3f}s {event.binding}"],
            evidence=[event.seq],
            first_wrong=event.seq,
        )

    def _bound(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, BindingBound)
        self.exercised += 1
        self._opened.pop(body.conversation.lane, None)
        others = self.story.bound.had.get(body.conversation.lane, [])[:-1]
        for other in others:
            if other.ended is None and other.ending is None:
                self.violate(
                    at=event.seq,
                    summary=f"{self.story.name(body.conversation)} was bound while {other.id} still held it",
                    expected=["the end of the binding before it"],
                    actual=[f"#{e.seq} {e.at:.3f}s {e.kind}" for e in (other.bound, event)],
                    evidence=[other.bound.seq, event.seq],
                    first_wrong=event.seq,
                )

    def _ended(self, event: Event) -> None:
        self.exercised += 1
        body = event.body
        assert isinstance(body, BindingEnded)
        facts = self.story.bound.by_id.get(event.binding or "")
        if facts is not None and facts.body.conversation.lane == body.conversation.lane:
            return
        self.violate(
            at=event.seq,
            summary=f"{event.binding} ended, and was never bound there",
            expected=["a binding.bound of the same conversation before it"],
            actual=[f"#{event.seq} {event.at:.3f}s {event.kind} at {self.story.name(body.conversation)}"],
            evidence=[event.seq],
            first_wrong=event.seq,
        )

    def _thread(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, ThreadOpened)
        if event.cause is not None or event.delegation is not None:
            self._opened[body.address.lane] = event

    def _refused(self, event: Event) -> None:
        """Whatever was opened for it and is not bound would be left behind (B130)."""
        self.exercised += 1
        for lane, opened in tuple(self._opened.items()):
            if opened.delegation is not None and opened.delegation == event.delegation:
                del self._opened[lane]
                self.violate(
                    at=event.seq,
                    summary=f"binding was refused, and a thread was left behind at {lane}",
                    expected=["no thread"],
                    actual=[f"#{e.seq} {e.at:.3f}s {e.kind}" for e in (opened, event)],
                    evidence=[opened.seq, event.seq],
                    first_wrong=opened.seq,
                )


class NoSelfEcho(Checker):
    """D8: what the gateway has posted itself never comes back as a message, a turn, or a line of a transcript."""

    id = "D8"
    title = "No self-echo"
    sentence = (
        "An own accept that a platform brings back starts nothing; other bots and relays follow the configured policy "
        "and are not dropped wholesale."
    )

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        #: place and id of own messages that came back
        self._echoes: dict[tuple[Lane, str], Event] = {}
        self._inbound: dict[str, Event] = {}

    def handlers(self) -> dict[type[Body], Callable[[Event], None]]:
        """What comes back, and what starts of it."""
        return {
            PeerSaid: self._said,
            InboundReceived: self._received,
            InboundAdmitted: self._started,
            TurnStarted: self._started,
            MirrorAppended: self._mirrored,
        }

    def _said(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, PeerSaid)
        if body.echo_of is not None:
            self._echoes[body.address.lane, body.message_id] = event

    def _received(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, InboundReceived)
        echo = self._echoes.get((body.address.lane, body.message_id))
        if echo is not None:
            self.exercised += 1
            self._inbound[event.inbound or ""] = echo

    def _started(self, event: Event) -> None:
        echo = self._inbound.get(event.inbound or "")
        if echo is not None:
            self._wrong(event, echo)

    def _mirrored(self, event: Event) -> None:
        if event.intent is None and event.inbound in self._inbound:
            self._wrong(event, self._inbound[event.inbound or ""])

    def _wrong(self, event: Event, echo: Event) -> None:
        self.violate(
            at=event.seq,
            summary=f"the gateway's own words came back as {event.inbound}, and {event.kind} followed",
            expected=["inbound.dropped (own-echo)"],
            actual=[f"#{e.seq} {e.at:.3f}s {e.kind}" for e in (echo, event)],
            evidence=[echo.seq, event.seq],
            first_wrong=event.seq,
        )
