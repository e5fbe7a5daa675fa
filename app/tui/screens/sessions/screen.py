"""Sessions: every transcript beside what people saw."""

from __future__ import annotations

from trunkline.app.tui.screens.list_screen import InspectedListScreen
from trunkline.app.tui.screens.sessions.alignment import Alignment
from trunkline.app.tui.screens.sessions.session_list import SessionList
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.row_list import RowList

#: from this height on the list may be longer
HIGH = 32


class SessionsScreen(InspectedListScreen[SessionList, Alignment], screen="sessions"):
    """The list, the alignment of the selected session, and in a high terminal the explanation."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, SessionList(workspace, id="sessions"), Alignment(workspace, id="sides"))

    def fit(self) -> None:
        self.fit_list(8 if self.host.size.height < HIGH else 12)

    def follow(self) -> None:
        owner = self.workspace.run.sessions.owner_of(self.workspace.subject)
        if owner is not None:
            self.list.choose(owner)
        elif self.workspace.subject == self.workspace.run.view.last:
            self.list.begin()

    def show_detail(self) -> None:
        self.detail.sync(self.list.chosen, self.list.blame)

    def select_row(self, pane: RowList, index: int) -> None:
        """Select a session; a row of the sides moves the cursor, and the session stays."""
        if pane is self.detail and pane.count:
            self.workspace.seek(self.detail.pairs[index].seq)
            self._seen = self.moment()
            self.moved()
        else:
            super().select_row(pane, index)

    def picked(self, pane: RowList) -> None:
        if pane is self.list:
            self.list.keep()
        super().picked(pane)

    def enter_detail(self) -> None:
        self.detail.focus()
