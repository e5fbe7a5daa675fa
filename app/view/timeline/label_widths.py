"""How wide the words of the arrows are, on each side of the gateway: the widest so far."""

from __future__ import annotations

from rich.cells import cell_len

from trunkline.app.view.timeline.lanes import GAP_MAX, HAND_GAP_MAX, HAND_GAP_MIN, LABEL_EDGES, Lanes, Wish
from trunkline.app.view.timeline.row import Row

#: what is wider is given no more room
MOST_PLACES = GAP_MAX - LABEL_EDGES
MOST_HANDS = HAND_GAP_MIN + HAND_GAP_MAX - LABEL_EDGES + 1


class Widest:
    """Learns row by row, and is done when nothing can be wider."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self.wish = Wish(0, 0)

    @property
    def full(self) -> bool:
        """Nothing can change it any more."""
        return self.wish.places >= MOST_PLACES and self.wish.hands >= MOST_HANDS

    def add(self, row: Row) -> None:
        """Look at one row."""
        if row.is_note:
            return
        width = cell_len(row.text) + (cell_len(row.who) + 1 if row.who else 0)
        wish, right = self.wish, max(row.start, row.end)
        if right > self._lanes.gateway:
            self.wish = Wish(wish.places, max(wish.hands, min(width, MOST_HANDS)))
        elif right == self._lanes.gateway:
            self.wish = Wish(max(wish.places, min(width, MOST_PLACES)), wish.hands)
