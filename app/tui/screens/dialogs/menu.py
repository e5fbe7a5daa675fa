"""A small menu above the run: each choice has a letter, a title, and the beginning of its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from trunkline.app.text.cells import clean
from trunkline.app.tui.screens.dialog_base import Dialog
from trunkline.app.tui.widgets.dialog_list import DialogList
from trunkline.app.tui.widgets.too_small import TooSmall
from trunkline.app.view.explain.copy_choices import Choice


class MenuList(DialogList):
    """The choices. A click takes one."""

    starts = (1, 4, 26)
    click_takes = True


class MenuDialog(Dialog[Choice]):
    """Returns the choice that was taken, if any."""

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
        self._choices = tuple(choices)
        self.list = MenuList(id="choices")

    def compose(self) -> ComposeResult:
        with Container(id="choose", classes="box") as box:
            box.border_title = self._title
            box.border_subtitle = "a letter or Enter takes it, Esc closes"
            box.styles.height = len(self._choices) + 2
            yield self.list
        yield TooSmall()

    def on_mount(self) -> None:
        self.repaint()

    def repaint(self) -> None:
        palette = self.host.palette
        self.list.write(
            (
                ((one.key, palette.primary), (one.title, palette.base), (clean(one.text), palette.dim))
                for one in self._choices
            ),
            keep=True,
        )

    def on_key(self, event: events.Key) -> None:
        found = next((one for one in self._choices if one.key and one.key == event.character), None)
        if found is not None:
            event.stop()
            event.prevent_default()
            self.dismiss(found)

    def on_option_list_option_selected(self) -> None:
        self.action_enter()

    def action_enter(self) -> None:
        if 0 <= self.list.selected < len(self._choices):
            self.dismiss(self._choices[self.list.selected])
