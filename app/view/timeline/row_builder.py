"""What rows of the timeline are made with: arrows between lanes and notes on one, over one run and its lanes."""

from __future__ import annotations

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.labels.events import describe
from trunkline.app.view.timeline.lanes import Lanes
from trunkline.app.view.timeline.row import Look, Row
from trunkline.core.events import Body, Event
from trunkline.core.events.bindings import IdentityFallback
from trunkline.core.events.delivery import (
    AttemptStarted,
    ChunkAcked,
    Fallback,
    IntentPrepared,
    IntentSettled,
    TargetResolved,
)
from trunkline.core.events.gateway import InboundReceived, SessionCreated
from trunkline.core.events.leases import LeaseAwaited
from trunkline.core.values import Address, IntentState
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import WorldSession


class Drawing:
    """Turns events into rows, over one run and its lanes."""

    def __init__(self, view: RunView, lanes: Lanes) -> None:
        self.view = view
        self.lanes = lanes
        self._fallbacks: set[str | None] = set()
        #: processes that stood by
        self.stood_by: set[int] = set()

    def learn(self, event: Event) -> None:
        """Take note of what changes how other rows look."""
        if isinstance(event.body, Fallback | IdentityFallback):
            self._fallbacks.add(event.intent)
        elif isinstance(event.body, LeaseAwaited):
            self.stood_by.add(event.generation)

    def internal(self, event: Event) -> Row:
        """The row of an event that is shown only unfolded."""
        return self.note(event, Look.INTERNAL, describe(self.view, event), self.lanes.of(_address(event.body)))

    def arrow(
        self, event: Event, look: Look, start: int, end: int, text: str, *, who: str = "", tags: tuple[str, ...] = ()
    ) -> Row:
        """A row from one lane to another."""
        return Row(seq=event.seq, at=event.at, look=look, start=start, end=end, text=text, who=who, tags=tags)

    def note(self, event: Event, look: Look, text: str, lane: int | None = None, tags: tuple[str, ...] = ()) -> Row:
        """A row at one lane, by default the gateway's."""
        at = self.lanes.gateway if lane is None else lane
        return Row(seq=event.seq, at=event.at, look=look, start=at, end=at, text=text, tags=tags)

    def outbound(self, event: Event, look: Look, address: Address, text: str, *tags: str) -> Row:
        """A row from the gateway to the lane of an address."""
        return self.arrow(event, look, self.lanes.gateway, self.lanes.of(address), text, tags=tags)

    def target(self, event: Event) -> Address | None:
        """Where the intent of an event wants to go."""
        prepared = self.view.of_intent(event.intent, IntentPrepared)
        body = prepared[0].body if prepared else None
        return body.address if isinstance(body, IntentPrepared) else None

    def fell_back(self, event: Event) -> bool:
        """A fallback was recorded for the intent of this event."""
        return event.intent is not None and event.intent in self._fallbacks

    def accepted(self, event: Event) -> tuple[Look, tuple[str, ...]]:
        """Look and tags of an accepted delivery: what the violations say, then what the events say."""
        marks = self.view.marks
        copy = marks.copies.get(event.seq)
        misplaced = event.seq in marks.misplaced or self.went_astray(event)
        tags = (f"{copy.number}×",) if copy else ()
        if misplaced:
            tags = (*tags, "!!")
        if copy and copy.number > 1:
            return Look.COPY, tags
        if misplaced:
            return Look.MISPLACED, tags
        if copy:
            return Look.FIRST, tags
        return (Look.FALLBACK, ("FB",)) if self.fell_back(event) else (Look.DELIVERED, ())

    def went_astray(self, event: Event) -> bool:
        """The platform put it elsewhere than asked, and the gateway says so."""
        body = event.body
        if not isinstance(body, WireAccepted) or body.address.lane == body.requested.lane:
            return False
        ends = [one.body for one in self.view.of_intent(event.intent, IntentSettled)]
        return any(isinstance(end, IntentSettled) and end.state is IntentState.MISPLACED for end in ends)

    def taken(self, event: Event, otherwise: Look) -> tuple[Look, tuple[str, ...]]:
        """Look and tags of a message on its way in: a copy when the violations say that it was taken twice."""
        copy = self.view.marks.copies.get(event.seq)
        if copy is None:
            return otherwise, ()
        return (Look.COPY if copy.number > 1 else Look.FIRST), (f"{copy.number}×",)


#: steps of the gateway itself, whatever place they are about
_INSIDE = (
    InboundReceived,
    WorldSession,
    SessionCreated,
    TargetResolved,
    IntentPrepared,
    AttemptStarted,
    ChunkAcked,
)


def _address(body: Body) -> Address | None:
    address = getattr(body, "address", None)
    return address if isinstance(address, Address) and not isinstance(body, _INSIDE) else None
