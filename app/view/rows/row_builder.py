"""Builds timeline rows: arrows between two lanes and notes at one, for one run and its lanes."""

from __future__ import annotations

from trunkline.app.text.cells import clean
from trunkline.app.view.index.run_index import RunView, typed
from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.app.view.rows.row import Look, TimelineRow
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
from trunkline.core.values import Address, IntentState
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import WorldSession


class RowBuilder:
    """Builds rows for one run and its lanes."""

    def __init__(self, view: RunView, lanes: TimelineLanes) -> None:
        self.view = view
        self.lanes = lanes
        #: processes that had to wait for the lease
        self.stood_by: set[int] = set()

    def lane_of(self, body: Body) -> int:
        """The lane of an internal event: that of its address, else the gateway's."""
        address = getattr(body, "address", None)
        return self.lanes.of(address if isinstance(address, Address) and not isinstance(body, _INSIDE) else None)

    def arrow(
        self, event: Event, look: Look, start: int, end: int, text: str, *, who: str = "", tags: tuple[str, ...] = ()
    ) -> TimelineRow:
        """A row from one lane to another; a note, if they are the same."""
        text = clean(text)
        return TimelineRow(seq=event.seq, at=event.at, look=look, start=start, end=end, text=text, who=who, tags=tags)

    def note(
        self, event: Event, look: Look, text: str, lane: int | None = None, tags: tuple[str, ...] = ()
    ) -> TimelineRow:
        """A row at one lane, by default the gateway's."""
        at = self.lanes.gateway if lane is None else lane
        return self.arrow(event, look, at, at, text, tags=tags)

    def outbound(self, event: Event, look: Look, address: Address, text: str, *tags: str) -> TimelineRow:
        """A row from the gateway to the lane of an address."""
        return self.arrow(event, look, self.lanes.gateway, self.lanes.of(address), text, tags=tags)

    def change(self, event: Event, address: Address, text: str, *, repeated: bool) -> TimelineRow:
        """A change of a message that people see; a repeated one changes nothing."""
        if repeated:
            return self.outbound(event, Look.SUPPRESSED, address, f"{text}: so already", "sup")
        return self.outbound(event, Look.DELIVERED, address, text)

    def target(self, event: Event) -> Address | None:
        """The destination of the intent of an event."""
        body = self.view.prepared(event)
        return body.address if body is not None else None

    def accepted_look(self, event: Event) -> tuple[Look, tuple[str, ...]]:
        """Look and tags of an accepted delivery: violations decide first, then the events."""
        marks = self.view.marks
        copy = marks.copies.get(event.seq)
        misplaced = event.seq in marks.misplaced or self._was_misplaced(event)
        tags = (*((f"{copy.number}×",) if copy else ()), *(("!!",) if misplaced else ()))
        if copy and copy.number > 1:
            return Look.COPY, tags
        if misplaced:
            return Look.MISPLACED, tags
        if copy:
            return Look.FIRST, tags
        fell_back = self.view.of_intent(event.intent, Fallback, IdentityFallback)
        return (Look.FALLBACK, ("FB",)) if fell_back else (Look.DELIVERED, ())

    def _was_misplaced(self, event: Event) -> bool:
        """The platform put it elsewhere than requested, and the gateway recorded that."""
        body = event.body
        if not isinstance(body, WireAccepted) or body.address.lane == body.requested.lane:
            return False
        ends = typed(self.view.of_intent(event.intent), IntentSettled)
        return any(end.state is IntentState.MISPLACED for _, end in ends)

    def inbound_look(self, event: Event, default: Look) -> tuple[Look, tuple[str, ...]]:
        """Look and tags of an inbound message: a copy when a violation says that it was taken twice."""
        copy = self.view.marks.copies.get(event.seq)
        if copy is None:
            return default, ()
        return (Look.COPY if copy.number > 1 else Look.FIRST), (f"{copy.number}×",)


#: steps inside the gateway, although they carry an address
_INSIDE = (
    InboundReceived,
    WorldSession,
    SessionCreated,
    TargetResolved,
    IntentPrepared,
    AttemptStarted,
    ChunkAcked,
)
