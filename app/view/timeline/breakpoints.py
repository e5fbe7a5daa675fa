"""Breakpoints stop playback at a kind of event, a lane, an invariant, or the matches of a filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import StrEnum

import msgspec

from trunkline.app.text.cells import clean
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.app.view.rows.row import TimelineRow
from trunkline.app.view.timeline.filters import FilterMatcher, parse_filter
from trunkline.core.errors import UsageError


class BreakpointKind(StrEnum):
    """The kind of thing that a breakpoint matches."""

    KIND = "kind"
    LANE = "lane"
    INVARIANT = "invariant"
    FILTER = "filter"


class Breakpoint(msgspec.Struct, frozen=True):
    """A breakpoint. `value` is a kind, the name of a lane, the id of an invariant, or the text of a filter."""

    on: BreakpointKind
    value: str

    def __str__(self) -> str:
        return f"{self.on} {clean(self.value)}"


class BreakpointTargets:
    """The events and rows of a run that breakpoints can match."""

    def __init__(self, view: RunView, lanes: TimelineLanes, rows: Iterable[TimelineRow], *, since: int = 0) -> None:
        """Match only events after `since`; `rows` are the rows after it."""
        self.view = view
        self.since = since
        self.rows = tuple(rows)
        self.matcher = FilterMatcher(view, lanes)
        #: of the lanes
        self.names = tuple(lane.path if lane.place else lane.label for lane in lanes.all)

    def hits(self, one: Breakpoint) -> frozenset[int]:
        """The events at which a breakpoint stops."""
        match one.on:
            case BreakpointKind.KIND:
                events = self.view.events[self.since :]
                return frozenset(event.seq for event in events if event.kind == one.value)
            case BreakpointKind.LANE:
                lanes = {index for index, name in enumerate(self.names) if name == one.value}
                return frozenset(row.seq for row in self.rows if row.start in lanes or row.end in lanes)
            case BreakpointKind.INVARIANT:
                found = (v.at for v in self.view.marks.violations if v.invariant == one.value)
                return frozenset(at for at in found if at > self.since)
            case BreakpointKind.FILTER:
                with suppress(UsageError):
                    if filter_ := parse_filter(one.value):
                        return frozenset(row.seq for row in self.matcher.rows(filter_, self.rows))
                return frozenset()

    def offers(self, seq: int, row: TimelineRow | None, text: str) -> Iterator[Breakpoint]:
        """Suggested breakpoints for the cursor's event, its row and the typed text, the likeliest first."""
        if text.strip():
            yield Breakpoint(BreakpointKind.FILTER, " ".join(text.split()))
        if not 0 < seq <= self.view.last:
            return
        for violation in self.view.marks.of(seq):
            yield Breakpoint(BreakpointKind.INVARIANT, violation.invariant)
        yield Breakpoint(BreakpointKind.KIND, self.view.event(seq).kind)
        for lane in dict.fromkeys((row.start, row.end)) if row else ():
            yield Breakpoint(BreakpointKind.LANE, self.names[lane])


class Breakpoints:
    """The breakpoints that are set. They survive the opening of another run."""

    def __init__(self) -> None:
        #: playback stops at any violation
        self.on_broken = True
        self.set: tuple[Breakpoint, ...] = ()

    def toggle(self, one: Breakpoint) -> bool:
        """Toggle a breakpoint. Whether it is set now. Raises `UsageError` for an invalid filter."""
        if one in self.set:
            self.set = tuple(other for other in self.set if other != one)
            return False
        if one.on is BreakpointKind.FILTER:
            parse_filter(one.value)
        self.set = (*self.set, one)
        return True

    def stops(self, field: BreakpointTargets) -> frozenset[int]:
        """Every event of a run at which playback stops, except violations in general."""
        return frozenset(seq for one in self.set for seq in field.hits(one))
