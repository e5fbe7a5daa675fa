"""The widest labels of arrows so far, on each side of the gateway."""

from __future__ import annotations

from rich.cells import cell_len

from trunkline.app.view.rows.lanes import GAP_MAX, HAND_GAP_MAX, HAND_GAP_MIN, LABEL_EDGES, TimelineLanes, WantedWidths
from trunkline.app.view.rows.row import TimelineRow

#: wider labels get no more room
MOST_PLACES = GAP_MAX - LABEL_EDGES
MOST_HANDS = HAND_GAP_MIN + HAND_GAP_MAX - LABEL_EDGES + 1


class LabelWidths:
    """The widest labels, measured row by row until both reach the maximum."""

    def __init__(self, lanes: TimelineLanes) -> None:
        self._lanes = lanes
        self.wish = WantedWidths(0, 0)

    @property
    def full(self) -> bool:
        """Whether both maxima are reached."""
        return self.wish.places >= MOST_PLACES and self.wish.hands >= MOST_HANDS

    def add(self, row: TimelineRow) -> None:
        if row.is_note:
            return
        width = cell_len(row.text) + (cell_len(row.who) + 1 if row.who else 0)
        wish, right = self.wish, max(row.start, row.end)
        if right > self._lanes.gateway:
            self.wish = WantedWidths(wish.places, max(wish.hands, min(width, MOST_HANDS)))
        elif right == self._lanes.gateway:
            self.wish = WantedWidths(max(wish.places, min(width, MOST_PLACES)), wish.hands)
