"""Sessions: every transcript beside what people saw."""

from __future__ import annotations

from textual.app import ComposeResult

from trunkline.app.tui.screens.list_screen import ListAndDetail
from trunkline.app.tui.screens.sessions.alignment import Alignment
from trunkline.app.tui.screens.sessions.session_list import SessionList
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.fact_list import Inspector
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.index.places import PlaceKey

#: from this height on the list may be longer
HIGH = 32


class SessionsScreen(ListAndDetail[SessionList, Alignment], screen="sessions"):
    """The list, the alignment of the selected session, and in a high terminal the explanation."""

    CSS_PATH = "screen.tcss"

    def __init__(self, workspace: Workspace) -> None:
        self.inspector = Inspector(workspace, id="why")
        super().__init__(
            workspace, SessionList(workspace, id="sessions"), Alignment(workspace, id="sides"), self.inspector
        )
        self._seen: tuple[object, int, int] | None = None

    def compose_body(self) -> ComposeResult:
        yield self.list
        yield self.detail
        yield self.inspector

    def sync(self) -> None:
        """Show the current state. When the cursor moved to another event, its session is selected."""
        if self.workspace.open_run is not None:
            self.list.sync()
            most = 8 if self.host.size.height < HIGH else 12
            self.list.styles.height = max(min(self.list.count + 3, most), 5)
            at = (self.workspace.open_run, self.workspace.cursor, self.workspace.subject)
            if at != self._seen:
                self._seen = at
                owner = self.workspace.run.sessions.owner_of(self.workspace.subject)
                if owner is not None:
                    self.list.choose(owner)
                elif self.workspace.subject == self.workspace.run.view.last:
                    self.list.begin()
            self.detail.sync(self.list.chosen, self.list.blame)
            self.inspector.sync()
        self.refresh_bars()

    def select_row(self, pane: RowList, index: int) -> None:
        """Select a session; a row of the sides moves the cursor, and the session stays."""
        if pane is self.detail and pane.count:
            self.workspace.seek(self.detail.pairs[index].seq)
            self._seen = (self.workspace.open_run, self.workspace.cursor, self.workspace.subject)
            self.moved()
        else:
            super().select_row(pane, index)

    def choose(self, thing: str | PlaceKey) -> None:
        self.list.choose(thing)
        self.detail.sync(self.list.chosen)

    def picked(self, pane: RowList) -> None:
        """Another session of the same moment."""
        if pane is not self.list:
            return
        self.list.keep()
        if self.list.chosen is not None:
            self.workspace.pick(self.list.chosen.since)
            self._seen = (self.workspace.open_run, self.workspace.cursor, self.workspace.subject)
        self.detail.sync(self.list.chosen)

    def action_enter(self) -> None:
        """From the list to the sides; from a row of the sides to the timeline; from a fact to its event."""
        if self.pane is self.list:
            self.detail.focus()
            return
        target = self.inspector.target() if self.pane is self.inspector else None
        if self.pane is self.detail and 0 <= self.detail.selected < self.detail.count:
            target = self.detail.pairs[self.detail.selected].delivery
        self.go(target)
