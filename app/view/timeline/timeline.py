"""The rows of the timeline.

Which events have a row is computed for all of them; a row itself is drawn when it is shown. While a run grows, lanes,
evidence and mirrors may change, and the affected rows are drawn again.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container

import msgspec
from rich.cells import cell_len

from trunkline.app.view.index.evidence import Evidence
from trunkline.app.view.index.growing import GrowingRows, LazySequence
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.app.view.kinds.registry import has_row, is_arrow, row_or_label
from trunkline.app.view.kinds.world import OUTCOMES
from trunkline.app.view.rows.lanes import (
    GAP_MAX,
    HAND_GAP_MAX,
    HAND_GAP_MIN,
    LABEL_EDGES,
    NO_WIDTHS,
    Look,
    RowBuilder,
    TimelineLanes,
    TimelineRow,
    WantedWidths,
)
from trunkline.core.events import Body, Event, RunEnded, bindings, delivery, leases
from trunkline.core.values import IntentState
from trunkline.sim.events.wire import WireAccepted, WireCalled
from trunkline.sim.index.projection import on
from trunkline.sim.run.culprits import Divergence

#: wider labels get no more room
MOST_PLACES = GAP_MAX - LABEL_EDGES
MOST_HANDS = HAND_GAP_MIN + HAND_GAP_MAX - LABEL_EDGES + 1
MOST_WIDTHS = WantedWidths(MOST_PLACES, MOST_HANDS)
#: tags of a culprit, and of the last right step before one that is missing
CAUSE, GAP = "cause", "gap"
#: drawn rows that are cached
KEPT = 50_000


class CopyBrackets:
    """Brackets in the gutter that join copies: ``┏ ┃ ┣ ┗``. Where groups overlap, ends take precedence over bars."""

    def __init__(self, marks: Evidence, shown: Container[int]) -> None:
        """`shown` contains the events that have a row."""
        #: member of a group -> its sign
        self._ends: dict[int, str] = {}
        #: ranges with a bar, without overlaps
        self._starts: list[int] = []
        self._stops: list[int] = []
        groups = [[seq for seq in group if seq in shown] for group in marks.groups]
        for first, *others in sorted(group for group in groups if len(group) > 1):
            last = others[-1]
            self._ends |= {first: "┏", **dict.fromkeys(others, "┣"), last: "┗"}
            if self._stops and first <= self._stops[-1]:
                self._stops[-1] = max(self._stops[-1], last)
            else:
                self._starts.append(first)
                self._stops.append(last)

    def of(self, seq: int) -> str:
        """The sign beside a row; empty beside most."""
        index = bisect_right(self._starts, seq) - 1
        return self._ends.get(seq) or ("┃" if index >= 0 and seq < self._stops[index] else "")


class VisibleRows:
    """Rows of a run, or those of them that a filter keeps.

    A cursor on an event without a row of its own stands on the last row before it.
    """

    def __init__(self, lanes: TimelineLanes, make: Callable[[int], TimelineRow]) -> None:
        self.marks = lanes.view.marks
        self._lanes = lanes
        #: the events that have a row, in order
        self.seqs = GrowingRows[int]()
        self.rows = LazySequence(self.seqs, make, keep=False)
        #: changed when earlier rows look different, or are others
        self.version: int = 0
        #: cells that the widest labels need on each side of the gateway, up to the most that they get
        self.wish = NO_WIDTHS
        #: the version of the rows and the number of violations that the broken rows were found for
        self._broken_of = (0, 0)
        self._broken = GrowingRows[int]()
        self._broken_rows: tuple[int, ...] = ()

    def __contains__(self, seq: object) -> bool:
        """Whether an event has a row of its own."""
        return isinstance(seq, int) and self.seqs.place(seq) is not None

    @property
    def broken(self) -> tuple[int, ...]:
        """Indexes of the rows with a violation; the same tuple until they change."""
        version, done = self._broken_of
        if version != self.seqs.version:
            done, self._broken = 0, GrowingRows[int]()
        now = self.seqs.version, self.marks.version
        if now != self._broken_of:
            for violation in self.marks.found[done:]:
                index = self.row_at(violation.at)
                if index >= 0 and index not in self._broken:
                    self._broken.add(index)
            self._broken_of = now
            self._broken_rows = tuple(self._broken)
        return self._broken_rows

    def row_at(self, seq: int) -> int:
        """Index of the row that stands for an event; -1 before the first row."""
        return self.seqs.upto(seq) - 1

    def neighbour(self, seq: int, step: int) -> int:
        """The seq `step` rows further down or up, clamped to both ends."""
        if not self.seqs:
            return seq
        return self.seqs[max(0, min(self.row_at(seq) + step, len(self.seqs) - 1))]

    def find(self, seq: int, step: int, wanted: Callable[[TimelineRow], bool]) -> int | None:
        """The next (`step` 1) or previous (-1) row that is wanted, as a seq."""
        index = self.row_at(seq) + 1 if step > 0 else self.row_at(seq - 1)
        while 0 <= index < len(self.seqs):
            if wanted(self.rows[index]):
                return self.seqs[index]
            index += step
        return None

    def list_row(self, row: TimelineRow) -> None:
        """Add a row, and measure its label."""
        self.seqs.add(row.seq)
        self.measure(row)

    def measure(self, row: TimelineRow) -> None:
        """Give the labels as much room as this one needs."""
        gateway, wish, right = self._lanes.gateway, self.wish, max(row.start, row.end)
        if row.is_note or right < gateway:
            return
        width = cell_len(row.text) + (cell_len(row.who) + 1 if row.who else 0)
        if right > gateway:
            self.wish = WantedWidths(wish.places, max(wish.hands, min(width, MOST_HANDS)))
        else:
            self.wish = WantedWidths(max(wish.places, min(width, MOST_PLACES)), wish.hands)


class Timeline(VisibleRows, GrowingView):
    """All rows of a run; `unfolded`: one for every event."""

    def __init__(self, view: RunView, lanes: TimelineLanes, *, unfolded: bool = False) -> None:
        GrowingView.__init__(self, view)
        VisibleRows.__init__(self, lanes, self.row)
        self.lanes = lanes
        self.unfolded = unfolded
        self._builder = RowBuilder(view, lanes)
        #: steps that have a row, whatever they are, with their tags
        self._culprits = {
            step: GAP if culprit.divergence is Divergence.MISSING else CAUSE
            for culprit in view.culprits
            for step in culprit.steps
        }
        #: the violations, the lanes and the groups of copies that rows were drawn for
        self._drawn_for = (0, -1)
        self._groups: object = None
        self._brackets = CopyBrackets(view.marks, ())
        self._made: dict[int, TimelineRow] = {}
        self.grow()

    def take_event(self, event: Event) -> None:
        """List the row of an event, if it has one. The lanes have grown already."""
        super().take_event(event)
        if self.unfolded or event.seq in self._culprits or has_row(self._builder, event):
            if is_arrow(event) and self.wish != MOST_WIDTHS:
                self.list_row(row_or_label(self._builder, event))
            else:
                self.seqs.add(event.seq)

    @on(*OUTCOMES)
    def _came_of(self, event: Event, body: Body) -> None:
        """Hide what has a row only until this comes of it: an earlier mirror of a delivery, or a request."""
        if event.intent and isinstance(body, WireAccepted):
            for mirror in self.view.of_intent(event.intent, delivery.MirrorAppended):
                if mirror.seq < event.seq:
                    self._hide(mirror.seq)
        called = event.cause if not event.intent and event.cause in self else None
        if called is not None and isinstance(self.view.event(called).body, WireCalled):
            self._hide(called)

    @on(delivery.MirrorAppended, delivery.Fallback, bindings.IdentityFallback, delivery.IntentSettled)
    def _looks_different(self, event: Event, body: Body) -> None:
        """Draw the deliveries again that an event changes."""
        if self._made and not (isinstance(body, delivery.IntentSettled) and body.state is not IntentState.MISPLACED):
            for accepted in self.view.of_intent(event.intent, WireAccepted):
                if self._made.pop(accepted.seq, None) is not None:
                    self.version += 1

    def on_stood_by(self, event: Event, _body: leases.LeaseAwaited) -> None:
        self._builder.stood_by.add(event.generation)

    def on_ended(self, _event: Event, _body: RunEnded) -> None:
        """Draw everything again: what was on its way is lost now."""
        self._made.clear()
        self.version += 1

    def settle(self) -> None:
        """Draw everything again if there are other lanes or violations."""
        marks, drawn_for = self.view.marks, (self.view.marks.version, self.lanes.version)
        if drawn_for != self._drawn_for:
            self._drawn_for = drawn_for
            self._made.clear()
            self.version += 1
            if marks.groups is not self._groups:
                self._groups, self._brackets = marks.groups, CopyBrackets(marks, self)

    def _hide(self, seq: int) -> None:
        self._made.pop(seq, None)
        self.version += 1
        if not self.unfolded and seq in self:
            self.seqs.remove(seq)

    def row(self, seq: int) -> TimelineRow:
        row = self._made.get(seq)
        if row is None:
            if len(self._made) >= KEPT:
                self._made.clear()
            row = row_or_label(self._builder, self.view.event(seq))
            mirror, mirror_seq = ("", 0) if self.unfolded else self._mirror(seq)
            bracket = self._brackets.of(seq)
            if seq in self._culprits:
                look = Look.ALARM if row.look is Look.INTERNAL else row.look
                row = msgspec.structs.replace(row, look=look, tags=(*row.tags, self._culprits[seq]))
            if mirror or bracket:
                row = msgspec.structs.replace(row, mirror=mirror, mirror_seq=mirror_seq, bracket=bracket)
            self._made[seq] = row
        return row

    def _mirror(self, seq: int) -> tuple[str, int]:
        """The mirror mark of a delivery and its event: a wrong mirror first, else the last one."""
        marks = self.view.marks.mirrors
        if marks.get(seq) == "?":
            return "m?", seq
        event = self.view.event(seq)
        found = ("", 0)
        if isinstance(event.body, WireAccepted):
            accepted = [accepted.seq for accepted in self.view.of_intent(event.intent, WireAccepted)]
            for mirror in self.view.of_intent(event.intent, delivery.MirrorAppended):
                # It mirrors the delivery before it, or else the first one.
                mirrored = accepted[max(bisect_left(accepted, mirror.seq) - 1, 0)]
                if not found[0].endswith("!") and mirrored == seq:
                    found = "m" + marks.get(mirror.seq, ""), mirror.seq
        return found


def is_delivery(row: TimelineRow) -> bool:
    """Whether a row is a message between people and the gateway."""
    return row.look in {Look.INBOUND, Look.DELIVERED, Look.FIRST, Look.COPY, Look.FALLBACK, Look.MISPLACED}
