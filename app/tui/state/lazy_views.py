"""Views that are made when they are first asked for, and what becomes of one that cannot be made of a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from trunkline.app import gc_policy
from trunkline.app.errors import error_line
from trunkline.app.runs.model import Run
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.text.cells import clean
from trunkline.core.events import Trace

#: those that are made of the lives of messages
OF_LIVES = ("messages", "queue", "hands")

Made = TypeVar("Made")


class LazyViews:
    """Makes the views of one run. Lines that can be read may contradict each other: the app says so, and goes on."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._why: dict[str, str] = {}
        self._untold: list[str] = []

    def make(self, name: str, make: Callable[[], Made], instead: Callable[[RunView], Made]) -> Made:
        """A view; `instead` of one that cannot be made, that of a run without events."""
        try:
            # In the middle of a frame the collector would take several frames to look at what is made.
            with gc_policy.paused(len(self._view.events)):
                return make()
        except Exception as error:  # noqa: BLE001 -- an altered trace may break anything
            self._why[name] = f"the {name} of this trace cannot be shown: what it tells makes no sense"
            self._untold.append(clean(f"{self._why[name]} ({error_line(error)})"))
            return instead(self.nothing)

    @property
    def nothing(self) -> RunView:
        """The run without its events."""
        return RunView(Run(trace=Trace(header=self._view.header, events=()), verdicts=()))

    def why(self, name: str) -> str:
        """Why a view is empty that should not be; nothing of one that is as it should be."""
        return self._why.get(name, self._why.get("lives", "") if name in OF_LIVES else "")

    def take_problems(self) -> list[str]:
        """What could not be made since this was asked the last time, and why."""
        told, self._untold = self._untold, []
        return told
