"""The rows of the timeline.

Which events have a row is computed for all of them; a row itself is drawn when it is shown. While a run grows, lanes,
evidence and mirrors may change, and the affected rows are drawn again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import overload

import msgspec

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import has_row, is_arrow, row_or_label
from trunkline.app.view.kinds.attach import OUTCOMES
from trunkline.app.view.rows.lanes import TimelineLanes, WantedWidths
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.app.view.timeline.copy_brackets import CopyBrackets
from trunkline.app.view.timeline.label_widths import LabelWidths
from trunkline.core.events import Event
from trunkline.core.events.base import RunEnded
from trunkline.core.events.bindings import IdentityFallback
from trunkline.core.events.delivery import Fallback, IntentSettled, MirrorAppended
from trunkline.core.values import IntentState
from trunkline.sim.events.wire import WireAccepted, WireCalled

#: drawn rows that are cached
KEPT = 50_000


class LazyRows(Sequence[TimelineRow]):
    """Rows by index, drawn on access."""

    def __init__(self, seqs: Sequence[int], make: Callable[[int], TimelineRow]) -> None:
        self._seqs = seqs
        self._make = make

    def __len__(self) -> int:
        return len(self._seqs)

    def __iter__(self) -> Iterator[TimelineRow]:
        return map(self._make, self._seqs)

    @overload
    def __getitem__(self, index: int) -> TimelineRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TimelineRow]: ...

    def __getitem__(self, index: int | slice) -> TimelineRow | Sequence[TimelineRow]:
        if isinstance(index, slice):
            return [self._make(seq) for seq in self._seqs[index]]
        return self._make(self._seqs[index])


class VisibleRows:
    """Rows of a run, or those of them that a filter keeps.

    A cursor on an event without a row of its own stands on the last row before it.
    """

    def __init__(self, view: RunView, lanes: TimelineLanes, make: Callable[[int], TimelineRow]) -> None:
        self.view = view
        #: the events that have a row, in order
        self.seqs: list[int] = []
        self.rows = LazyRows(self.seqs, make)
        #: incremented when earlier rows change or disappear
        self.version: int = 0
        self._widest = LabelWidths(lanes)
        #: cache of the broken rows: the version, the number of indexed violations, and the rows in order
        self._broken: tuple[int, int, list[int]] = (0, 0, [])
        self._broken_rows: tuple[int, ...] = ()
        #: incremented when rows disappear or are inserted
        self.removed: int = 0

    def __contains__(self, seq: object) -> bool:
        """Whether an event has a row of its own."""
        if not isinstance(seq, int):
            return False
        index = bisect_left(self.seqs, seq)
        return index < len(self.seqs) and self.seqs[index] == seq

    @property
    def broken(self) -> tuple[int, ...]:
        """Indexes of the rows with a violation; the same tuple until they change."""
        found = self.view.marks.found
        removed, done, rows = self._broken
        if removed != self.removed:
            done, rows = 0, []
        if done != len(found):
            for violation in found[done:]:
                index = self.row_at(violation.at)
                at = bisect_left(rows, index)
                if index >= 0 and rows[at : at + 1] != [index]:
                    rows.insert(at, index)
            self._broken = self.removed, len(found), rows
            self._broken_rows = tuple(rows)
        return self._broken_rows

    @property
    def wish(self) -> WantedWidths:
        """Cells that the widest labels need beside the gateway."""
        return self._widest.wish

    def row_at(self, seq: int) -> int:
        """Index of the row that stands for an event; -1 before the first row."""
        return bisect_right(self.seqs, seq) - 1

    def neighbour(self, seq: int, step: int) -> int:
        """The seq `step` rows further down or up, clamped to both ends."""
        if not self.seqs:
            return seq
        return self.seqs[max(0, min(self.row_at(seq) + step, len(self.seqs) - 1))]

    def find(self, seq: int, step: int, wanted: Callable[[TimelineRow], bool]) -> int | None:
        """The next (`step` 1) or previous (-1) row that is wanted, as a seq."""
        index = bisect_right(self.seqs, seq) if step > 0 else bisect_left(self.seqs, seq) - 1
        while 0 <= index < len(self.seqs):
            if wanted(self.rows[index]):
                return self.seqs[index]
            index += step
        return None


class FilteredRows(VisibleRows):
    """Some rows of a timeline."""

    def __init__(self, whole: Timeline) -> None:
        super().__init__(whole.view, whole.lanes, whole.row)

    def add(self, rows: Iterable[TimelineRow]) -> None:
        """Add more rows, in order."""
        for row in rows:
            self.seqs.append(row.seq)
            self._widest.add(row)

    def put(self, row: TimelineRow, *, kept: bool) -> None:
        """Add or remove an earlier row."""
        at = bisect_left(self.seqs, row.seq)
        if (self.seqs[at : at + 1] == [row.seq]) is kept:
            return
        self.removed += 1
        if kept:
            self.seqs.insert(at, row.seq)
            self._widest.add(row)
        else:
            del self.seqs[at]


class Timeline(VisibleRows):
    """All rows of a run; `unfolded`: one for every event."""

    def __init__(self, view: RunView, lanes: TimelineLanes, *, unfolded: bool = False) -> None:
        super().__init__(view, lanes, self.row)
        self.lanes = lanes
        self.unfolded = unfolded
        self._builder = RowBuilder(view, lanes)
        self._marked = 0
        #: the version of the lanes that rows were drawn for
        self._laid = -1
        self._groups: object = None
        self._brackets = CopyBrackets(view.marks, ())
        self._made: dict[int, TimelineRow] = {}
        self._done = 0
        self.grow()

    def grow(self) -> None:
        """Take the events and violations that are new since the last call. The lanes have grown already."""
        for event in self.view.events[self._done :]:
            self._builder.learn(event)
            if event.intent:
                self._look_back(event)
            elif event.cause is not None and isinstance(event.body, OUTCOMES):
                self._answer(event.cause)
            elif isinstance(event.body, RunEnded):
                # What was on its way is lost now.
                self._made.clear()
                self.version += 1
            if self.unfolded or has_row(self._builder, event):
                self.seqs.append(event.seq)
                if is_arrow(event) and not self._widest.full:
                    self._widest.add(self._plain(event))
        self._done = self.view.last
        marks, lanes = self.view.marks, self._builder.lanes
        if self._laid != lanes.version or self._marked != marks.version:
            self._made.clear()
            self.version += 1
            if self._marked != marks.version and marks.groups is not self._groups:
                self._groups, self._brackets = marks.groups, CopyBrackets(marks, self)
            self._marked, self._laid = marks.version, lanes.version

    def _look_back(self, event: Event) -> None:
        """Redraw accepted rows that an event changes; an accept hides the row of its earlier mirror."""
        body = event.body
        if isinstance(body, WireAccepted):
            for mirror in self.view.of_intent(event.intent, MirrorAppended):
                if mirror.seq < event.seq:
                    self._hide(mirror.seq)
        elif self._made and (
            isinstance(body, MirrorAppended | Fallback | IdentityFallback)
            or (isinstance(body, IntentSettled) and body.state is IntentState.MISPLACED)
        ):
            for accepted in self.view.of_intent(event.intent, WireAccepted):
                if self._made.pop(accepted.seq, None) is not None:
                    self.version += 1

    def _answer(self, called: int) -> None:
        """Hide a request that had a row of its own while nothing had come of it."""
        if called in self and isinstance(self.view.event(called).body, WireCalled):
            self._hide(called)

    def _hide(self, seq: int) -> None:
        self._made.pop(seq, None)
        self.version += 1
        if not self.unfolded and seq in self:
            del self.seqs[bisect_left(self.seqs, seq)]
            self.removed += 1

    # ------------------------------------------------------------ one row

    def row(self, seq: int) -> TimelineRow:
        row = self._made.get(seq)
        if row is None:
            if len(self._made) >= KEPT:
                self._made.clear()
            row = self._made[seq] = self._finished(self._plain(self.view.event(seq)))
        return row

    def _plain(self, event: Event) -> TimelineRow:
        return row_or_label(self._builder, event)

    def _finished(self, row: TimelineRow) -> TimelineRow:
        """The row with its mirror mark and its bracket."""
        mirror, seq = ("", 0) if self.unfolded else self._mirror(row.seq)
        bracket = self._brackets.of(row.seq)
        if mirror or bracket:
            return msgspec.structs.replace(row, mirror=mirror, mirror_seq=seq, bracket=bracket)
        return row

    def _mirror(self, seq: int) -> tuple[str, int]:
        """The mirror mark of a delivery and its event: a wrong mirror first, else the last one."""
        marks = self.view.marks.mirrors
        if marks.get(seq) == "?":
            return "m?", seq
        event = self.view.event(seq)
        found = ("", 0)
        if isinstance(event.body, WireAccepted):
            for mirror in self.view.of_intent(event.intent, MirrorAppended):
                if not found[0].endswith("!") and self._mirrored(mirror) == seq:
                    found = "m" + marks.get(mirror.seq, ""), mirror.seq
        return found

    def _mirrored(self, mirror: Event) -> int | None:
        accepted = [event.seq for event in self.view.of_intent(mirror.intent, WireAccepted)]
        before = [seq for seq in accepted if seq < mirror.seq]
        return before[-1] if before else next(iter(accepted), None)


def is_delivery(row: TimelineRow) -> bool:
    """Whether a row is a message between people and the gateway."""
    return row.look in {Look.INBOUND, Look.DELIVERED, Look.FIRST, Look.COPY, Look.FALLBACK, Look.MISPLACED}
