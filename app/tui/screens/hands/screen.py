"""Hands: the delegations, and whether their results were delivered."""

from __future__ import annotations

from trunkline.app.tui.screens.hands.hand_list import HandList, HandRecord
from trunkline.app.tui.screens.list_screen import ListScreen
from trunkline.app.tui.state.workspace import Workspace

#: least maximal height of the list
LEAST_MOST = 9


class HandsScreen(ListScreen, screen="hands"):
    """One row per run of a hand; Enter goes to its record, and from there to an event."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, HandList(workspace, id="hands"), HandRecord(workspace, id="record"))

    def sync(self) -> None:
        """Size the list by its runs, within bounds: a record is long."""
        super().sync()
        self.fit_list(max(LEAST_MOST, self.host.size.height // 3))

    def enter_row(self) -> None:
        self.enter_detail()
