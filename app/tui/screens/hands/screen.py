"""Hands: the delegations, and whether their results were delivered."""

from __future__ import annotations

from trunkline.app.tui.screens.hands.hand_list import HandList, HandRecord
from trunkline.app.tui.screens.list_screen import ListScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.index.places import PlaceKey

#: least maximal height of the list
LEAST_MOST = 9


class HandsScreen(ListScreen, screen="hands"):
    """A row per delegation; Enter goes to its record, and from there to an event."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, HandList(workspace, id="hands"), HandRecord(workspace, id="record"))

    def sync(self) -> None:
        """Size the list by its runs, within bounds: a record is long."""
        super().sync()
        self.fit_list(max(LEAST_MOST, self.host.size.height // 3))

    def enter_row(self) -> None:
        self.enter_detail()

    def action_bars(self) -> None:
        if self.run_is_open() and isinstance(self.list, HandList):
            self.list.switch()

    def action_hand(self) -> None:
        """Back from the selected delegation to its message."""
        if self.run_is_open() and isinstance(self.list, HandList) and self.list.chosen is not None:
            self.show_message(self.list.chosen.id)

    def choose(self, thing: str | PlaceKey) -> None:
        self.list.choose(thing)
        self.detail.explain_row(self.list)
