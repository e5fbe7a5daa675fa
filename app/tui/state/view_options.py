"""How the run is looked at: lanes that are hidden, moments that were marked, and keys that were used."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from trunkline.app.view.timeline.lane_filter import hidden_lanes

if TYPE_CHECKING:
    from trunkline.app.tui.state.workspace import OpenRun


class ViewOptions:
    """One for the whole app. Hidden lanes and used keys stay when another run is opened; marks are of one run."""

    def __init__(self) -> None:
        #: names of lanes that are not drawn
        self.hidden: set[str] = set()
        #: actions that were asked for at least once: their hints are not shown any more
        self.used: set[str] = set()
        self._marks: WeakKeyDictionary[OpenRun, dict[int, str]] = WeakKeyDictionary()

    def use(self, action: str, screen: str) -> None:
        """Somebody did this, on this screen."""
        name = action.removeprefix("screen.")
        self.used |= {name, f"{screen}:{name}"}

    def hidden_in(self, opened: OpenRun) -> frozenset[int]:
        """The lanes of a run that are not drawn."""
        return hidden_lanes(opened.view, opened.lanes, self.hidden)

    def marks(self, opened: OpenRun) -> dict[int, str]:
        """The events of a run that were marked, with the words that somebody gave them."""
        return self._marks.setdefault(opened, {})
