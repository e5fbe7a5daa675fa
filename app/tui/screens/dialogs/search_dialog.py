"""A dialog with an input line, and a list that follows what is typed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

import msgspec
from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Input

from trunkline.app.text.fact import Tone
from trunkline.app.tui.screens.dialog_base import TYPING, Dialog
from trunkline.app.tui.widgets.dialog_list import DialogList, DialogRow
from trunkline.app.tui.widgets.too_small import TooSmall

Result = TypeVar("Result")


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A row: a mark, a name, and a text."""

    mark: str = ""
    name: str
    text: str = ""
    tone: Tone = Tone.PLAIN


class ItemList(DialogList):
    """The items below the input line."""

    def write_items(self, items: Iterable[Item], *, keep: bool = False) -> None:
        """Replace the items; `keep`: the selection stays."""
        self.write(map(self._row, items), keep=keep)

    def _row(self, item: Item) -> DialogRow:
        style = self.palette.tone(item.tone)
        return (item.mark, style), (item.name, style + Style(bold=item.tone is Tone.GOOD)), (item.text, style)


class SearchDialog(Dialog[Result], Generic[Result]):
    """Subclasses give titles and items, and what Enter does."""

    AUTO_FOCUS = "#words"
    BINDINGS = TYPING
    title_text = ""
    hint = ""
    placeholder = ""

    def __init__(self, value: str = "") -> None:
        super().__init__()
        self.list = ItemList(id="lines")
        self.words = Input(value, placeholder=self.placeholder, id="words", compact=True)
        self.words.cursor_blink = False

    def compose(self) -> ComposeResult:
        with Container(id="typed", classes="box") as box:
            box.border_title = self.title_text
            box.border_subtitle = self.hint
            yield self.words
            yield self.list
        yield TooSmall()

    def on_mount(self) -> None:
        self.show(self.words.value)

    def on_input_changed(self, message: Input.Changed) -> None:
        self.show(message.value)

    def on_input_submitted(self) -> None:
        self.take()

    def on_option_list_option_selected(self) -> None:
        """Take the item that was clicked twice."""
        self.take()

    def repaint(self) -> None:
        self.show(self.words.value)

    def show(self, text: str) -> None:
        """Write the items for what is typed."""
        raise NotImplementedError

    def take(self) -> None:
        """Act on the selected item."""
        raise NotImplementedError
