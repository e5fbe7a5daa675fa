"""When the garbage collector goes through everything: when nobody waits for a picture.

A round over what the screens of a long run hold takes several frames, and finds next to nothing: what they throw away
is freed at once. So no such round comes by itself while the app is used, and one a while after.
"""

from __future__ import annotations

import gc
from time import monotonic

from textual.app import App
from textual.timer import Timer

#: objects made before the youngest are looked at; and rounds over the young before one over everything
THRESHOLDS = (2000, 10, 1000)
#: rounds over the young that are worth one over everything
DUE = 10
#: seconds without a key before it
AFTER = 2.0


class IdleCollector:
    """Moves full rounds of the collector to where nobody notices them."""

    def __init__(self, app: App[int]) -> None:
        self._app = app
        self._before = gc.get_threshold()
        self._used = 0.0
        self._timer: Timer | None = None

    def begin(self) -> None:
        """The app is shown."""
        gc.set_threshold(*THRESHOLDS)

    def end(self) -> None:
        """The app is left: as it was before."""
        gc.set_threshold(*self._before)

    def used(self) -> None:
        """Somebody does something; a while after the last time is the moment for a round, if one is due."""
        self._used = monotonic()
        if self._timer is None and gc.get_count()[2] >= DUE:
            self._timer = self._app.set_timer(AFTER, self._collect)

    def _collect(self) -> None:
        self._timer = None
        if monotonic() - self._used < AFTER:
            self._timer = self._app.set_timer(AFTER, self._collect)
        else:
            gc.collect()
