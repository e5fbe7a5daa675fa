"""Why not elsewhere: every other place, with the first condition that excluded it."""

from __future__ import annotations

from trunkline.app.text.cells import clean
from trunkline.app.tui.screens.dialogs.search_dialog import Item, SearchDialog
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.explain.alternatives import Alternative, why_not


class AlternativesDialog(SearchDialog[int]):
    """Returns the event of the chosen decision, if any."""

    hint = "type a place, Enter goes to the decision, Esc closes"
    placeholder = "why not there: type a place"

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        event = workspace.run.view.event(workspace.cursor) if workspace.cursor else None
        self.title_text = f"Why not elsewhere?  #{event.seq} {event.kind}" if event else "Why not elsewhere?"
        self._answers = why_not(workspace.run.view, workspace.cursor) if event else []
        self._shown: list[Alternative] = []
        super().__init__()
        self.list.wraps = True
        self.list.nothing = "no place of this run has this name" if event else "nothing has happened yet: ] steps"

    def show(self, text: str) -> None:
        wanted = text.casefold().split()
        self._shown = [one for one in self._answers if all(word in one.name.casefold() for word in wanted)]
        self.list.write_items(
            Item(
                mark=one.mark,
                name=clean(one.name),
                text=f"{one.text}{f'  #{one.seq}' if one.seq else ''}",
                tone=one.tone,
            )
            for one in self._shown
        )

    def take(self) -> None:
        index = self.list.selected
        if 0 <= index < len(self._shown) and self._shown[index].seq:
            self.dismiss(self._shown[index].seq)
