"""Invariants: their status at the cursor, and the evidence of violations."""

from __future__ import annotations

from trunkline.app.tui.screens.invariants.verdict_list import VerdictDetail, VerdictList
from trunkline.app.tui.screens.list_screen import InspectedListScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.row_list import RowList


class InvariantsScreen(InspectedListScreen[VerdictList, VerdictDetail], screen="invariants"):
    """The list, the violations of the selected one, and in a wide terminal the explanation."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, VerdictList(workspace, id="invariants"), VerdictDetail(workspace, id="verdict"))

    def moment(self) -> tuple[object, ...]:
        return self.workspace.open_run, self.workspace.cursor

    def follow(self) -> None:
        """Select the invariant that the event under the cursor breaks, and its violation there."""
        found = self.workspace.run.verdicts.concerned(self.workspace.cursor)
        chosen = self.list.chosen
        # An event may break several: the one that is looked at stays.
        broken = {violation.invariant for violation in self.workspace.run.view.marks.of(self.workspace.cursor)}
        if found is not None and (chosen is None or chosen.id not in broken):
            self.list.choose(found)
        self.show_detail()
        self.detail.point(self.workspace.cursor)

    def show_detail(self) -> None:
        self.detail.show_row(self.list.chosen)

    def picked(self, pane: RowList) -> None:
        if pane is self.list:
            self.show_detail()

    def enter_detail(self) -> None:
        self.detail.focus()
        chosen = self.list.chosen
        if self.detail.selected < 0 and chosen is not None:
            self.detail.select(0)
            self.detail.point(chosen.latest or chosen.first)
