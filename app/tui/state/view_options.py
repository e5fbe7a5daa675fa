"""View options: hidden lanes, marks, and which actions were used."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from trunkline.app.tui.state.open_run import OpenRun
from trunkline.app.view.timeline.lane_filter import hidden_lanes


class ViewOptions:
    """Hidden lanes and used actions stay when another run is opened; marks belong to one run."""

    def __init__(self) -> None:
        #: names of lanes that are not drawn
        self.hidden: set[str] = set()
        #: actions that were used at least once: their hints are no longer shown
        self.used: set[str] = set()
        self._marks: WeakKeyDictionary[OpenRun, dict[int, str]] = WeakKeyDictionary()

    def use(self, action: str, screen: str) -> None:
        """Record an action on a screen."""
        name = action.removeprefix("screen.")
        self.used |= {name, f"{screen}:{name}"}

    def hidden_in(self, opened: OpenRun) -> frozenset[int]:
        """The lanes of a run that are not drawn."""
        return hidden_lanes(opened.lanes, self.hidden)

    def marks(self, opened: OpenRun) -> dict[int, str]:
        """The marked events of a run, with the names of their marks."""
        return self._marks.setdefault(opened, {})
