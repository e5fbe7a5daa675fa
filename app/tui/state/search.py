"""The filter of the rows, and the breakpoints. Both stay when another run is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trunkline.app.tui.state.open_run import OpenRun
from trunkline.app.view.timeline.breakpoints import Breakpoint, Breakpoints, BreakpointTargets
from trunkline.app.view.timeline.filters import FilterMatcher, TimelineFilter, parse_filter
from trunkline.app.view.timeline.timeline import Timeline, VisibleRows
from trunkline.core.events.delivery import MirrorAppended
from trunkline.sim.events.wire import WireAccepted


class FilteredRows(VisibleRows):
    """The rows that one filter keeps of one timeline; of a run that grows, it looks again at those that may change."""

    def __init__(self, timeline: Timeline, filter_: TimelineFilter) -> None:
        super().__init__(timeline.lanes, timeline.row)
        self._of = timeline
        self._filter = filter_
        self._made_of = timeline.version, len(timeline.seqs), timeline.seqs.version
        self._touched = len(self.marks.touched)
        self._done = 0

    def fits(self, timeline: Timeline, filter_: TimelineFilter, *, resting: bool) -> bool:
        """Whether the kept rows are those of this timeline and filter, and still current.

        Rows change while a run grows, and not every change comes with a violation: then all of them are
        looked at again when the run rests, and in between as rarely as it has grown by a part.
        """
        version, length, order = self._made_of
        if timeline is not self._of or filter_ is not self._filter or timeline.seqs.version != order:
            return False
        return version == timeline.version or (not resting and len(timeline.seqs) * 8 < length * 9)

    def follow(self) -> None:
        """Take the rows that are new, and those that new evidence may have changed."""
        self.version = self._of.version
        last, touched = self._of.view.last, len(self.marks.touched)
        if (last, touched) == (self._done, self._touched):
            return
        matcher = FilterMatcher(self._of.view, self._of.lanes)
        for row in map(self._of.row, sorted(self._named(self.marks.touched[self._touched :]))):
            kept = matcher.keeps(self._filter, row)
            if kept is not (row.seq in self):
                self._broken_of = (-1, 0)
                if kept:
                    self.list_row(row)
                else:
                    self.seqs.remove(row.seq)
        for row in matcher.rows(self._filter, self._of.rows[self._of.row_at(self._done) + 1 :]):
            self.list_row(row)
        self._done, self._touched = last, touched

    def _named(self, touched: Iterable[int]) -> set[int]:
        """Known rows that new evidence names; a wrong mirror is shown at its delivery."""
        view, found = self._of.view, set(touched)
        for seq in list(found):
            event = view.event(seq) if 0 < seq <= view.last else None
            if event is not None and isinstance(event.body, MirrorAppended):
                found |= {accepted.seq for accepted in view.of_intent(event.intent, WireAccepted)}
        return {seq for seq in found if seq <= self._done and seq in self._of}


class Search:
    """The search of the whole app; caches the rows that the filter keeps."""

    def __init__(self) -> None:
        self.filter: TimelineFilter | None = None
        self.breakpoints = Breakpoints()
        self._kept: FilteredRows | None = None
        self._armed: tuple[object, ...] = ()
        self._field: tuple[object, BreakpointTargets] | None = None

    # ------------------------------------------------------------ filter

    def set_filter(self, text: str) -> None:
        """Filter the rows; a blank text shows all of them. Raises `UsageError`."""
        self.filter = parse_filter(text)

    def kept(self, opened: OpenRun, timeline: Timeline) -> VisibleRows:
        """The rows that the filter keeps; all of them without a filter."""
        if self.filter is None:
            return timeline
        resting = not opened.view.growing or opened.playback.held
        if self._kept is None or not self._kept.fits(timeline, self.filter, resting=resting):
            self._kept = FilteredRows(timeline, self.filter)
        self._kept.follow()
        return self._kept

    def messages(self, opened: OpenRun) -> Callable[[str], bool]:
        """A predicate of intents that the filter keeps; true for all without a filter."""
        kept = self.filter
        if kept is None:
            return lambda _intent: True
        found = FilterMatcher(opened.view, opened.lanes).intents(kept, opened.folded.rows)
        return lambda intent: (intent in found) is not kept.inverse

    # ------------------------------------------------------------ breakpoints

    def field(self, opened: OpenRun) -> BreakpointTargets:
        """The open run in the form that breakpoints need."""
        if self._field is None or self._field[0] is not opened:
            self._field = opened, BreakpointTargets(opened.view, opened.lanes, opened.folded.rows)
        return self._field[1]

    def met(self, opened: OpenRun, since: int) -> frozenset[int]:
        """The events after `since` at which a breakpoint stops, of a run that has grown."""
        if not self.breakpoints.set:
            return frozenset()
        rows = opened.folded.rows[opened.folded.row_at(since) + 1 :]
        return self.breakpoints.stops(BreakpointTargets(opened.view, opened.lanes, rows, since=since))

    def toggle(self, one: Breakpoint) -> bool:
        """Set a breakpoint, or remove it. Whether it is set now. Raises `UsageError`."""
        return self.breakpoints.toggle(one)

    def arm(self, opened: OpenRun) -> None:
        """Set the breakpoints of the playback."""
        asked = (opened, self.breakpoints.set, self.breakpoints.on_broken)
        if asked == self._armed:
            return
        self._armed = asked
        opened.playback.stops_at_broken = self.breakpoints.on_broken
        opened.playback.breaks = self.breakpoints.stops(self.field(opened)) if self.breakpoints.set else frozenset()
