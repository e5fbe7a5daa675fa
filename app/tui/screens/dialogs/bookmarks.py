"""Marks: set one at the cursor, or go to one."""

from __future__ import annotations

from trunkline.app.text.cells import clean, seconds
from trunkline.app.text.fact import Tone
from trunkline.app.tui.screens.dialogs.search_dialog import Item, SearchDialog
from trunkline.app.tui.state.workspace import Workspace


class BookmarksDialog(SearchDialog[int]):
    """Returns the event to go to, if one was chosen. The typed text names a new mark."""

    title_text = "Marks: moments to come back to"
    hint = "Enter sets, goes or removes, Esc closes"
    placeholder = "a name for a mark here, or nothing"

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._seqs: list[int] = []
        super().__init__()

    def show(self, text: str) -> None:
        """The event under the cursor, then every mark in order of time."""
        run, here = self.workspace.run, self.workspace.cursor
        marks = self.workspace.view_options.marks(run)
        name = " ".join(text.split())
        items: list[Item] = []
        if here in marks and not name:
            items.append(Item(mark="–", name=f"#{here}", text="Enter removes the mark here", tone=Tone.DIM))
        else:
            called = f" as {name}" if name else ""
            items.append(Item(mark="+", name=f"#{here}", text=f"Enter marks this moment{clean(called)}"))
        self._seqs = sorted(marks)
        for seq in self._seqs:
            what = marks[seq] or self._what(seq)
            where = "  (here)" if seq == here else ""
            items.append(Item(mark="'", name=f"#{seq}", text=f"{seconds(run.view.time(seq))} s  {clean(what)}{where}"))
        self.list.write_items(items)
        if marks and not name and here not in marks:
            self.list.select(1)

    def _what(self, seq: int) -> str:
        index = self.workspace.all_rows.row_at(seq)
        return self.workspace.all_rows.rows[index].text if index >= 0 else "before the first event"

    def take(self) -> None:
        index = self.list.selected
        here, marks = self.workspace.cursor, self.workspace.view_options.marks(self.workspace.run)
        name = " ".join(self.words.value.split())
        if index > 0:
            self.dismiss(self._seqs[index - 1])
        elif here in marks and not name:
            del marks[here]
            self.dismiss(None)
        else:
            marks[here] = name
            self.dismiss(None)
