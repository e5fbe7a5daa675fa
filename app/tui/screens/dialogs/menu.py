"""A small menu above the run: a few things, each with a letter, what it is, and how it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from trunkline.app.tui.screens.dialog_base import Dialog
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.tui.widgets.too_small import TooSmall
from trunkline.app.view.explain.copy_choices import Choice
from trunkline.app.view.text.cells import clean, cut


class ChoiceList(RowList):
    """The choices."""

    def __init__(self, choices: Sequence[Choice], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.choices = tuple(choices)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.choices)

    def draw(self, index: int, width: int) -> Canvas:
        """Letter, title, and the beginning of the text."""
        choice = self.choices[index]
        canvas = self.canvas(width)
        canvas.put(1, choice.key, self.palette.primary)
        canvas.put(4, cut(choice.title, 20), self.palette.base)
        canvas.put(26, cut(clean(choice.text), width - 27), self.palette.dim)
        return canvas


class MenuDialog(Dialog[Choice]):
    """Ends with what was chosen, or with nothing."""

    CSS_PATH = "menu.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j,ctrl+n", "down", "next", show=False),
        Binding("up,k,ctrl+p", "up", "previous", show=False),
        Binding("home,g", "first", "first", show=False),
        Binding("end,G", "last", "last", show=False),
        Binding("enter", "enter", "take it", show=False),
        Binding("escape,q,f1", "back", "close", show=False),
        Binding("ctrl+c", "quit", "quit", show=False),
    ]

    def __init__(self, title: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._title = title
        self.list = ChoiceList(choices, id="choices")

    def compose(self) -> ComposeResult:
        """A box with the list."""
        with Container(id="choose") as box:
            box.border_title = self._title
            box.border_subtitle = "a letter or Enter takes it, Esc closes"
            yield self.list
        yield TooSmall()

    def on_mount(self) -> None:
        """As high as its choices; the first is selected."""
        self.query_one("#choose").styles.height = self.list.count + 2
        self.list.focus()
        self.list.select(0)

    def on_key(self, event: events.Key) -> None:
        """A letter of the menu takes its line."""
        found = next((one for one in self.list.choices if one.key and one.key == event.character), None)
        if found is not None:
            event.stop()
            event.prevent_default()
            self.dismiss(found)

    def on_row_list_clicked(self, message: RowList.Clicked) -> None:
        """A click takes a line."""
        self.dismiss(self.list.choices[message.index])

    def action_enter(self) -> None:
        """Take the selected line."""
        if 0 <= self.list.selected < self.list.count:
            self.dismiss(self.list.choices[self.list.selected])
