"""Breakpoints: where playing stops. On a kind of event, a lane, an invariant, or whatever a filter keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.text.cells import clean
from trunkline.app.view.timeline.filters import FilterMatcher, parse_filter
from trunkline.app.view.timeline.lanes import TimelineLanes
from trunkline.app.view.timeline.row import TimelineRow
from trunkline.core.errors import UsageError


class BreakpointKind(StrEnum):
    """What a breakpoint looks at."""

    KIND = "kind"
    LANE = "lane"
    INVARIANT = "invariant"
    FILTER = "filter"


class Breakpoint(msgspec.Struct, frozen=True):
    """One of them. `value` is a kind, the name of a lane, the id of an invariant, or the text of a filter."""

    on: BreakpointKind
    value: str

    def __str__(self) -> str:
        return f"{self.on} {clean(self.value)}"


class BreakpointTargets:
    """A run as breakpoints see it: its events, and its rows."""

    def __init__(self, view: RunView, lanes: TimelineLanes, rows: Iterable[TimelineRow], *, since: int = 0) -> None:
        """`since`: only what came after this event counts; the rows are those that came after it."""
        self.view = view
        self.since = since
        self.rows = tuple(rows)
        self.matcher = FilterMatcher(view, lanes)
        self.names = tuple(_name(view, lanes, index) for index in range(len(lanes.all)))

    def hits(self, one: Breakpoint) -> frozenset[int]:
        """The events at which it stops; none where this run has nothing of the kind."""
        match one.on:
            case BreakpointKind.KIND:
                events = self.view.events[self.since :]
                return frozenset(event.seq for event in events if event.kind == one.value)
            case BreakpointKind.LANE:
                lanes = {index for index, name in enumerate(self.names) if name == one.value}
                return frozenset(row.seq for row in self.rows if row.start in lanes or row.end in lanes)
            case BreakpointKind.INVARIANT:
                found = (v.at for v in self.view.violations() if v.invariant == one.value)
                return frozenset(at for at in found if at > self.since)
            case BreakpointKind.FILTER:
                return self._kept(one.value)

    def _kept(self, text: str) -> frozenset[int]:
        try:
            filter_ = parse_filter(text)
        except UsageError:
            return frozenset()
        return frozenset(row.seq for row in self.matcher.rows(filter_, self.rows)) if filter_ else frozenset()

    def offers(self, seq: int, row: TimelineRow | None, text: str) -> Iterator[Breakpoint]:
        """What can be made of the event under the cursor, of its row, and of what is typed, the likeliest first."""
        if text.strip():
            yield Breakpoint(BreakpointKind.FILTER, " ".join(text.split()))
        if not 0 < seq <= self.view.last:
            return
        for violation in self.view.marks.of(seq):
            yield Breakpoint(BreakpointKind.INVARIANT, violation.invariant)
        yield Breakpoint(BreakpointKind.KIND, self.view.event(seq).kind)
        for lane in dict.fromkeys((row.start, row.end)) if row else ():
            yield Breakpoint(BreakpointKind.LANE, self.names[lane])


def _name(view: RunView, lanes: TimelineLanes, index: int) -> str:
    lane = lanes.all[index]
    return view.places.label(view.places.at(lane.place).address) if lane.place else lane.label


class Breakpoints:
    """Those that are set. They stay when another run is opened."""

    def __init__(self) -> None:
        #: playing stops where an invariant breaks, whichever it is
        self.on_broken = True
        self.set: tuple[Breakpoint, ...] = ()

    def toggle(self, one: Breakpoint) -> bool:
        """Set it, or remove it when it is set. Whether it is set now. Raises `UsageError` for a filter that is none."""
        if one in self.set:
            self.set = tuple(other for other in self.set if other != one)
            return False
        if one.on is BreakpointKind.FILTER:
            parse_filter(one.value)
        self.set = (*self.set, one)
        return True

    def stops(self, field: BreakpointTargets) -> frozenset[int]:
        """Every event of a run at which playing stops, but for broken invariants in general."""
        return frozenset(seq for one in self.set for seq in field.hits(one))
