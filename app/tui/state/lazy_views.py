"""Views that are made when they are first asked for, and their replacement where a trace makes no sense."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from trunkline.app import gc_policy
from trunkline.app.errors import error_line
from trunkline.app.runs.model import Run
from trunkline.app.text.cells import clean
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.core.events import Trace

#: views that read the message histories
OF_HISTORIES = ("messages", "queue", "hands")
#: names of views in messages, where they differ from the attribute
_LABELS = {"unfolded": "internal events", "histories": "messages"}

Made = TypeVar("Made")


class LazyViews:
    """Makes the views of one run. A readable trace may still contradict itself: the app reports that and goes on."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._why: dict[str, str] = {}
        self._problems: list[str] = []
        #: names of the growing views that were made, in order
        self.made: list[str] = []

    def make(self, name: str, make: Callable[[], Made], instead: Callable[[RunView], Made]) -> Made:
        """Make a view and let it grow with the run. If that fails: `instead`, made of the run without its events."""
        try:
            # A collection in the middle of a frame would take several frames to visit the new objects.
            with gc_policy.paused(len(self._view.events)):
                made = make()
        except Exception as error:  # noqa: BLE001 -- an altered trace may break anything
            self._why[name] = f"the {_LABELS.get(name, name)} of this trace cannot be shown: the trace makes no sense"
            self._problems.append(clean(f"{self._why[name]} ({error_line(error)})"))
            return instead(self.nothing)
        if isinstance(made, GrowingView):
            self._view.register(made)
            self.made.append(name)
        return made

    @property
    def nothing(self) -> RunView:
        """The same run without its events."""
        return RunView(Run(trace=Trace(header=self._view.header, events=()), verdicts=()))

    def why(self, name: str) -> str:
        """Why a view could not be made; empty for one that could."""
        return self._why.get(name, self._why.get("histories", "") if name in OF_HISTORIES else "")

    def take_problems(self) -> list[str]:
        """The views that could not be made since the last call, and why."""
        problems, self._problems = self._problems, []
        return problems
