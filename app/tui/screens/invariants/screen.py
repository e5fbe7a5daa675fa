"""Invariants: their status at the cursor, and the evidence of violations."""

from __future__ import annotations

from textual.app import ComposeResult

from trunkline.app.tui.screens.invariants.verdict_list import VerdictDetail, VerdictList
from trunkline.app.tui.screens.list_screen import ListAndDetail
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.fact_list import Inspector
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.index.places import PlaceKey


class InvariantsScreen(ListAndDetail[VerdictList, VerdictDetail], screen="invariants"):
    """The list, the violations of the selected one, and in a wide terminal the explanation."""

    CSS_PATH = "screen.tcss"

    def __init__(self, workspace: Workspace) -> None:
        self.inspector = Inspector(workspace, id="why")
        super().__init__(
            workspace, VerdictList(workspace, id="invariants"), VerdictDetail(workspace, id="verdict"), self.inspector
        )
        self._seen: tuple[object, int] | None = None

    def compose_body(self) -> ComposeResult:
        yield self.list
        yield self.detail
        yield self.inspector

    def sync(self) -> None:
        """Show the current state. When the cursor moved to an event of a violation, that invariant is selected."""
        if self.workspace.open_run is not None:
            self.list.sync()
            moved = self._follow()
            self.detail.show_row(self.list.chosen)
            if moved:
                self.detail.point(self.workspace.cursor)
            self.inspector.sync()
        self.refresh_bars()

    def on_resize(self) -> None:
        self.call_after_refresh(self.sync)

    def _follow(self) -> bool:
        """Select the invariant that the event under the cursor breaks; true when the cursor has moved."""
        at = (self.workspace.open_run, self.workspace.cursor)
        if at == self._seen:
            return False
        self._seen = at
        found = self.workspace.run.verdicts.concerned(self.workspace.cursor)
        chosen = self.list.chosen
        # An event may break several: the one that is looked at stays.
        broken = {violation.invariant for violation in self.workspace.run.view.marks.of(self.workspace.cursor)}
        if found is not None and (chosen is None or chosen.id not in broken):
            self.list.choose(found)
        return True

    def choose(self, thing: str | PlaceKey) -> None:
        if isinstance(thing, str):
            self.list.choose(thing)
            self.detail.show_row(self.list.chosen)

    def picked(self, pane: RowList) -> None:
        if pane is self.list:
            self.detail.show_row(self.list.chosen)

    def action_enter(self) -> None:
        """From the list to the violations; from a line of a violation to its event."""
        pane = self.pane
        if pane is self.list:
            self.detail.focus()
            chosen = self.list.chosen
            if self.detail.selected < 0 and chosen is not None:
                self.detail.select(0)
                self.detail.point(chosen.latest or chosen.first)
            return
        target = pane.target() if isinstance(pane, VerdictDetail | Inspector) else None
        self.go(target)
