"""Bindings: which conversations belong to which sessions, for how long, and where a conversation goes now."""

from __future__ import annotations

from trunkline.app.tui.screens.bindings.binding_list import BindingList, BindingRecord
from trunkline.app.tui.screens.dialogs.resolve_place import ResolvePlaceDialog
from trunkline.app.tui.screens.list_screen import InspectedListScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.explain.resolver import Resolution, answer

#: least maximal height of the list
LEAST_MOST = 8


class BindingsScreen(InspectedListScreen[BindingList, BindingRecord], screen="bindings"):
    """The list with its life bars, the record of the selected one, and in a high terminal the explanation."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, BindingList(workspace, id="bindings"), BindingRecord(workspace, id="record"))

    def fit(self) -> None:
        height = self.fit_list(max(LEAST_MOST, self.host.size.height // 3))
        # Where the terminal is wide, the body is a grid.
        self.query_one("#body").styles.grid_rows = f"{height} 1fr"

    def follow(self) -> None:
        view = self.workspace.run.view
        found = view.bindings.concerned(view.event(self.workspace.subject)) if self.workspace.subject else None
        if found is not None:
            self.list.choose(found)

    def show_detail(self) -> None:
        self.detail.show_row(self.list.chosen)

    def action_ask(self) -> None:
        unknown = self.workspace.inside_unknown()
        if unknown:
            self.notify_once(f"where a conversation goes is {unknown}")
        elif self.run_is_open():
            self.host.push_screen(ResolvePlaceDialog(self.workspace), self._answered)

    def _answered(self, found: Resolution | None) -> None:
        if found is None or self.workspace.open_run is None:
            return
        if found.binding is not None:
            self.choose(found.binding.id)
        self.notify(answer(self.workspace.run.view, found), title=found.because, timeout=6, markup=False)
