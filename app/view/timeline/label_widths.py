"""How wide the words of the arrows are, on each side of the gateway: the widest so far."""

from __future__ import annotations

from rich.cells import cell_len

from trunkline.app.view.timeline.lanes import (
    GAP_MAX,
    HAND_GAP_MAX,
    HAND_GAP_MIN,
    LABEL_EDGES,
    TimelineLanes,
    WantedWidths,
)
from trunkline.app.view.timeline.row import TimelineRow

#: what is wider is given no more room
MOST_PLACES = GAP_MAX - LABEL_EDGES
MOST_HANDS = HAND_GAP_MIN + HAND_GAP_MAX - LABEL_EDGES + 1


class LabelWidths:
    """Learns row by row, and is done when nothing can be wider."""

    def __init__(self, lanes: TimelineLanes) -> None:
        self._lanes = lanes
        self.wish = WantedWidths(0, 0)

    @property
    def full(self) -> bool:
        """Nothing can change it any more."""
        return self.wish.places >= MOST_PLACES and self.wish.hands >= MOST_HANDS

    def add(self, row: TimelineRow) -> None:
        """Look at one row."""
        if row.is_note:
            return
        width = cell_len(row.text) + (cell_len(row.who) + 1 if row.who else 0)
        wish, right = self.wish, max(row.start, row.end)
        if right > self._lanes.gateway:
            self.wish = WantedWidths(wish.places, max(wish.hands, min(width, MOST_HANDS)))
        elif right == self._lanes.gateway:
            self.wish = WantedWidths(max(wish.places, min(width, MOST_PLACES)), wish.hands)
