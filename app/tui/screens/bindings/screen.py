"""Bindings: which conversations belong to which sessions, for how long, and where a conversation goes now."""

from __future__ import annotations

from textual.app import ComposeResult

from trunkline.app.tui.screens.bindings.binding_list import BindingList, BindingRecord
from trunkline.app.tui.screens.dialogs.resolve_place import ResolvePlaceDialog
from trunkline.app.tui.screens.list_screen import ListAndDetail
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.fact_list import Inspector
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.explain.resolver import Resolution, answer
from trunkline.app.view.index.places import PlaceKey

#: least maximal height of the list
LEAST_MOST = 8


class BindingsScreen(ListAndDetail[BindingList, BindingRecord], screen="bindings"):
    """The list with its life bars, the record of the selected one, and in a high terminal the explanation."""

    CSS_PATH = "screen.tcss"

    def __init__(self, workspace: Workspace) -> None:
        self.inspector = Inspector(workspace, id="why")
        super().__init__(
            workspace, BindingList(workspace, id="bindings"), BindingRecord(workspace, id="record"), self.inspector
        )
        self._seen: tuple[object, int, int] | None = None

    def compose_body(self) -> ComposeResult:
        yield self.list
        yield self.detail
        yield self.inspector

    def sync(self) -> None:
        """Show the current state. When the cursor moved to an event of a binding, that one is selected."""
        if self.workspace.open_run is not None:
            self.list.sync()
            self._fit()
            self._follow()
            self.detail.show_row(self.list.chosen)
            self.inspector.sync()
        self.refresh_bars()

    def _fit(self) -> None:
        """Size the list by its bindings, within bounds."""
        most = max(LEAST_MOST, self.host.size.height // 3)
        height = max(min(self.list.count + 3, most), 5)
        self.list.styles.height = height
        # Where the terminal is wide, the body is a grid.
        self.query_one("#body").styles.grid_rows = f"{height} 1fr"

    def on_resize(self) -> None:
        self.call_after_refresh(self.sync)

    def _follow(self) -> None:
        at = (self.workspace.open_run, self.workspace.cursor, self.workspace.subject)
        if at == self._seen:
            return
        self._seen = at
        view = self.workspace.run.view
        found = view.bindings.concerned(view.event(self.workspace.subject)) if self.workspace.subject else None
        if found is not None:
            self.list.choose(found)

    def choose(self, thing: str | PlaceKey) -> None:
        if isinstance(thing, str):
            self.list.choose(thing)
            self.detail.show_row(self.list.chosen)

    def picked(self, pane: RowList) -> None:
        if pane is not self.list:
            return
        if self.list.chosen is not None:
            self.workspace.pick(self.list.chosen.since)
            self._seen = (self.workspace.open_run, self.workspace.cursor, self.workspace.subject)
        self.detail.show_row(self.list.chosen)

    def action_enter(self) -> None:
        """From the list to the record; from a line of a record or an explanation to its event."""
        pane = self.pane
        if pane is self.list:
            self.detail.focus()
            self.detail.select(max(self.detail.selected, 0))
            return
        target = pane.target() if isinstance(pane, BindingRecord | Inspector) else None
        self.go(target)

    def action_ask(self) -> None:
        if self.workspace.open_run is None:
            self.notify("no run is open: s chooses a scenario", timeout=3)
            return
        self.host.push_screen(ResolvePlaceDialog(self.workspace), self._answered)

    def _answered(self, found: Resolution | None) -> None:
        if found is None or self.workspace.open_run is None:
            return
        if found.binding is not None:
            self.list.choose(found.binding.id)
            self.detail.show_row(self.list.chosen)
        self.notify(answer(self.workspace.run.view, found), title=found.because, timeout=6, markup=False)
