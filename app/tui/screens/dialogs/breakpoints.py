"""Breakpoints: list, set and remove them; offers those of the cursor and a typed filter."""

from __future__ import annotations

from trunkline.app.text.cells import count, error_text
from trunkline.app.text.fact import Tone
from trunkline.app.tui.screens.dialogs.search_dialog import Item, SearchDialog
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.timeline.breakpoints import Breakpoint, BreakpointKind
from trunkline.core.errors import UsageError

_WHAT = {
    BreakpointKind.KIND: "at each event of the kind",
    BreakpointKind.LANE: "whenever something crosses the lane",
    BreakpointKind.INVARIANT: "where it breaks",
    BreakpointKind.FILTER: "at each row that it keeps",
}


class BreakpointsDialog(SearchDialog[None]):
    """Enter sets or removes the selected breakpoint. A typed filter becomes a breakpoint."""

    title_text = "Breakpoints: where playing stops"
    hint = "Enter sets or removes, Esc closes"
    placeholder = "a filter to stop at: k:fallback, lane:ops v:dup, a word"

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._lines: list[Breakpoint | None] = []
        super().__init__()

    def show(self, text: str) -> None:
        """Write all lines: the switch, the set breakpoints, and those that can be set."""
        self._write(text, keep=False)
        if text.strip():
            # Enter takes the typed filter.
            self.list.select(1 + len(self.workspace.search.breakpoints.set))

    def _write(self, text: str, *, keep: bool) -> None:
        points, run = self.workspace.search.breakpoints, self.workspace.run
        field = self.workspace.search.field(run)
        on = points.on_broken
        items = [
            Item(
                mark="●" if on else "○",
                name="any broken invariant",
                text=f"{'on' if on else 'off'}  {count(len(run.view.marks.stops), 'event')} in this run",
                tone=Tone.PLAIN if on else Tone.DIM,
            )
        ]
        self._lines = [None]
        for one in points.set:
            items.append(Item(mark="●", name=str(one), text=f"set  {count(len(field.hits(one)), 'event')}"))
            self._lines.append(one)
        index = self.workspace.all_rows.row_at(self.workspace.cursor)
        row = self.workspace.all_rows.rows[index] if index >= 0 else None
        for one in field.offers(self.workspace.cursor, row, text):
            if one not in points.set:
                hits = count(len(field.hits(one)), "event")
                items.append(Item(mark="+", name=str(one), text=f"{_WHAT[one.on]}: {hits}", tone=Tone.DIM))
                self._lines.append(one)
        self.list.write_items(items, keep=keep)

    def take(self) -> None:
        points = self.workspace.search.breakpoints
        index = self.list.selected
        one = self._lines[index] if 0 <= index < len(self._lines) else None
        if one is None:
            points.on_broken = not points.on_broken
        else:
            try:
                points.toggle(one)
            except UsageError as error:
                self.notify(error_text(error), severity="warning", markup=False, timeout=5)
                return
        if one is not None and one.on is BreakpointKind.FILTER and self.words.value:
            self.words.value = ""
        self._write(self.words.value, keep=True)
