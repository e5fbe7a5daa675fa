"""The lanes of a run that can be hidden, with their names and their numbers of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

import msgspec

from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.app.view.rows.row import TimelineRow


class LaneChoice(msgspec.Struct, frozen=True):
    """A lane that can be hidden: its name, the number of its rows, and whether it is hidden."""

    index: int
    name: str
    rows: int
    hidden: bool


def choosable(lanes: TimelineLanes, rows: Iterable[TimelineRow], hidden: Collection[str]) -> list[LaneChoice]:
    """Every lane but the gateway's, from left to right."""
    touched = Counter(lane for row in rows for lane in {row.start, row.end})
    every = ((index, lane.path) for index, lane in enumerate(lanes.all) if index != lanes.gateway)
    return [LaneChoice(index, name, touched[index], name in hidden) for index, name in every]


def hidden_lanes(lanes: TimelineLanes, hidden: Collection[str]) -> frozenset[int]:
    """The lanes of a run with one of these names."""
    return frozenset(index for index, lane in enumerate(lanes.all) if lane.path in hidden and index != lanes.gateway)
