"""The base of screens over the open run, as far as their groups of actions need it."""

from __future__ import annotations

from abc import abstractmethod

from textual.screen import Screen

from trunkline.app.tui.screens.app_actions import AppActions
from trunkline.app.tui.screens.list_keys import ListKeys
from trunkline.app.tui.state.workspace import Workspace


class ActionScreen(ListKeys, AppActions, Screen[None]):
    """A screen over the open run. The groups of actions derive from it."""

    workspace: Workspace
    #: whether the filter applies to the rows of this screen
    filtered = False

    @abstractmethod
    def moved(self) -> None:
        """Show a change of the workspace."""

    def run_is_open(self) -> bool:
        """Whether a run is open; notifies if none is."""
        if self.workspace.open_run is None:
            self.notify("no run is open: s chooses a scenario", timeout=3)
        return self.workspace.open_run is not None
