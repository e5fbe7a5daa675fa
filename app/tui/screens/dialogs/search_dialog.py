"""A box above the run with a line to type in and a list below that follows: filter, breakpoints, why-not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

import msgspec
from rich.cells import cell_len
from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Input

from trunkline.app.tui.screens.dialog_base import TYPING, Dialog
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.tui.widgets.too_small import TooSmall
from trunkline.app.view.text.cells import cut, wrap
from trunkline.app.view.text.fact import Tone

Result = TypeVar("Result")


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One line: a mark, a name, and what there is to say."""

    mark: str = ""
    name: str
    text: str = ""
    tone: Tone = Tone.PLAIN


class ItemList(RowList):
    """The lines below what is typed."""

    can_focus = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.items: list[Item] = []
        self.nothing = ""
        #: texts go on in further lines instead of being cut
        self.wraps = False
        #: what is drawn: the item, its text in this line, and whether it is its first
        self._lines: list[tuple[int, str, bool]] = []

    @property
    def count(self) -> int:
        """Lines, after wrapping."""
        return len(self._lines)

    @property
    def chosen(self) -> int:
        """The item of the selected line; -1 for none."""
        return self._lines[self.selected][0] if 0 <= self.selected < self.count else -1

    def choose(self, item: int) -> None:
        """Select the first line of an item."""
        self.select(next((at for at, line in enumerate(self._lines) if line[0] == item), 0))

    def empty_text(self) -> str:
        """What is told in place of lines."""
        return self.nothing

    def write(self, items: Iterable[Item], *, keep: bool = False) -> None:
        """Show these; `keep`: the selection stays where it is."""
        self.items = list(items)
        self._wrap()
        self.invalidate()
        self.select(max(self.selected, 0) if keep else 0)

    def on_resize(self) -> None:
        """Wrap again."""
        self._wrap()
        super().on_resize()

    def _wrap(self) -> None:
        width = self.size.width - 1
        room = width - self._names(width) - 5
        self._lines = []
        for index, item in enumerate(self.items):
            texts = wrap(item.text, room) if self.wraps and room > 0 else [item.text]
            self._lines += [(index, text, not number) for number, text in enumerate(texts)]

    def _names(self, width: int) -> int:
        """Cells for the names: as many as they need, at most a half; all where nothing else is said."""
        if not any(item.text for item in self.items):
            return width - 3
        return min(max((cell_len(one.name) for one in self.items), default=0), width // 2 - 2)

    def draw(self, index: int, width: int) -> Canvas:
        """One line: mark, name in a column of its own, text."""
        number, text, first = self._lines[index]
        item = self.items[number]
        canvas = self.canvas(width)
        style = self.palette.tone(item.tone)
        room = self._names(width)
        if first:
            canvas.put(0, item.mark, style)
            canvas.put(2, cut(item.name, room), style + Style(bold=item.tone is Tone.GOOD))
        canvas.put(room + 4, cut(text, width - room - 5), style)
        return canvas


class SearchDialog(Dialog[Result], Generic[Result]):
    """Subclasses give the titles and the lines, and say what Enter does."""

    CSS_PATH = "search_dialog.tcss"
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
        """A line to type in above the list."""
        with Container(id="typed") as box:
            box.border_title = self.title_text
            box.border_subtitle = self.hint
            yield self.words
            yield self.list
        yield TooSmall()

    def on_mount(self) -> None:
        """Show what there is while nothing is typed."""
        self.show(self.words.value)

    def on_input_changed(self, message: Input.Changed) -> None:
        """Follow what is typed."""
        self.show(message.value)

    def on_input_submitted(self) -> None:
        """Do what Enter does."""
        self.take()

    def on_row_list_clicked(self, message: RowList.Clicked) -> None:
        """A click selects; a second one takes."""
        self.list.select(message.index)
        if message.again:
            self.take()

    def show(self, text: str) -> None:
        """Write the lines for what is typed."""
        raise NotImplementedError

    def take(self) -> None:
        """Enter was pressed."""
        raise NotImplementedError
