"""The lane picker: which lanes the timeline draws."""

from __future__ import annotations

from trunkline.app.text.cells import clean, count
from trunkline.app.text.fact import Tone
from trunkline.app.tui.screens.dialogs.search_dialog import Item, SearchDialog
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.timeline.lane_filter import LaneChoice, choosable


class LanesDialog(SearchDialog[None]):
    """Enter hides or shows the selected lane. Its rows stay: their arrows lead out of the picture."""

    title_text = "Lanes: which of them are drawn"
    hint = "Enter hides or shows, Esc closes"
    placeholder = "name of a place or a hand"

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._lanes: list[LaneChoice | None] = []
        super().__init__()
        self.list.nothing = "no lane has this name"

    def show(self, text: str) -> None:
        self._write(text, keep=False)
        if text.strip() and self._lanes[1:]:
            self.list.select(1)

    def _write(self, text: str, *, keep: bool) -> None:
        run, hidden = self.workspace.run, self.workspace.view_options.hidden
        every = choosable(run.lanes, self.workspace.all_rows.rows, hidden)
        wanted = text.casefold().split()
        found = [one for one in every if all(word in one.name.casefold() for word in wanted)]
        gone = sum(one.hidden for one in every)
        self._lanes = [None, *found]
        first = Item(
            mark="○" if gone else "●",
            name="all lanes",
            text=f"{gone} of {len(every)} hidden: Enter shows all" if gone else f"{len(every)}, all shown",
            tone=Tone.WARN if gone else Tone.PLAIN,
        )
        self.list.write_items([first, *map(_item, found)], keep=keep)

    def take(self) -> None:
        """Hide the lane, or show it; on the first line: show all."""
        index = self.list.selected
        if not 0 <= index < len(self._lanes):
            return
        one, hidden = self._lanes[index], self.workspace.view_options.hidden
        if one is None:
            hidden.clear()
        else:
            hidden ^= {one.name}
        self._write(self.words.value, keep=True)


def _item(one: LaneChoice) -> Item:
    rows = count(one.rows, "row") if one.rows else "idle: nothing happens in it"
    return Item(
        mark="○" if one.hidden else "●",
        name=clean(one.name),
        text=f"hidden  {rows}" if one.hidden else rows,
        tone=Tone.DIM if one.hidden else Tone.PLAIN,
    )
