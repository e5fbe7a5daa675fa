"""The lanes of a run that can be hidden, with their names and their numbers of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

import msgspec

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.rows.lanes import LaneKind, TimelineLanes
from trunkline.app.view.rows.row import TimelineRow


class LaneChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A lane that can be hidden."""

    index: int
    #: the same in every run of a scenario
    name: str
    #: number of its timeline rows
    rows: int
    hidden: bool


def lane_name(view: RunView, lanes: TimelineLanes, index: int) -> str:
    """The full name of a lane: ``discord/ops/deploy``, ``hand codex``."""
    lane = lanes.all[index]
    if lane.place:
        return view.places.label(view.places.at(lane.place).address)
    return f"hand {lane.label}" if lane.kind is LaneKind.HAND else lane.label


def choosable(
    view: RunView, lanes: TimelineLanes, rows: Iterable[TimelineRow], hidden: Collection[str]
) -> list[LaneChoice]:
    """Every lane but the gateway's, from left to right."""
    touched: Counter[int] = Counter()
    for row in rows:
        touched.update({row.start, row.end})
    found: list[LaneChoice] = []
    for index in range(len(lanes.all)):
        if index != lanes.gateway:
            name = lane_name(view, lanes, index)
            found.append(LaneChoice(index=index, name=name, rows=touched[index], hidden=name in hidden))
    return found


def hidden_lanes(view: RunView, lanes: TimelineLanes, hidden: Collection[str]) -> frozenset[int]:
    """The lanes of a run with one of these names."""
    if not hidden:
        return frozenset()
    return frozenset(
        index for index in range(len(lanes.all)) if index != lanes.gateway and lane_name(view, lanes, index) in hidden
    )
