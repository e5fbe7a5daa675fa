"""Two conversations side by side, as people saw them: a message that appeared in both is shown twice."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.index.visible_messages import VisibleMessage


class ColumnMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message in one of the two columns."""

    seen: VisibleMessage
    #: 0 is the left column, 1 the right one
    side: int
    #: ``1×``, ``2×``: its copy number
    tag: str = ""
    #: a copy that should not exist, or a message in the wrong place
    wrong: bool = False


def pair_of(view: RunView, seq: int) -> tuple[PlaceKey, ...]:
    """The conversation with the latest message, and the one with its other copy, else the next latest.

    In the order of the lanes; fewer if fewer have messages.
    """
    latest = {place: _latest(view.visible.of(place), seq) for place in view.visible.places()}
    order = sorted(latest, key=lambda place: latest[place], reverse=True)
    if len(order) < 2:
        return tuple(order)
    first, second = order[:2]
    twin = view.marks.twin(latest[first])
    if twin is not None:
        holder = next((place for place in order if any(seen.seq == twin for seen in view.visible.of(place))), second)
        second = holder if holder != first else second
    lanes = [place.key for place in view.places.in_order()]
    return tuple(sorted((first, second), key=lambda place: lanes.index(place) if place in lanes else len(lanes)))


def beside(view: RunView, places: Sequence[PlaceKey]) -> list[ColumnMessage]:
    """All messages of some conversations, in order of events."""
    found: list[ColumnMessage] = []
    for side, place in enumerate(places):
        for seen in view.visible.of(place):
            copy = view.marks.copies.get(seen.seq)
            wrong = seen.seq in view.marks.misplaced or (copy is not None and copy.number > 1)
            found.append(ColumnMessage(seen=seen, side=side, tag=f"{copy.number}×" if copy else "", wrong=wrong))
    return sorted(found, key=lambda shown: shown.seen.seq)


def _latest(seen: Sequence[VisibleMessage], seq: int) -> int:
    """The last message up to event `seq`; before the first one, its negated event number."""
    at = bisect_right(seen, seq, key=lambda one: one.seq)
    return seen[at - 1].seq if at else -(seen[0].seq if seen else 0)
