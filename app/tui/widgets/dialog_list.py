"""The list of a dialog: Textual's `OptionList`, with cells in columns."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from trunkline.app.text.cells import ASCII, cut, wrap
from trunkline.app.tui.host import host_of
from trunkline.app.tui.theme import Palette

#: cells of a row: texts with their styles, from left to right
DialogRow = Sequence[tuple[str, Style]]
#: width that rows are laid out for until the dialog has one
_UNKNOWN_WIDTH = 80


class DialogList(OptionList, can_focus=False):
    """Rows to choose from. The screen binds the keys, so that an input line above can keep the focus."""

    #: where each column begins; none: a mark, a name as wide as the longest, and a text
    starts: tuple[int, ...] = ()
    #: whether long texts of the last column continue in further lines
    wraps = False
    #: whether one click takes a row; otherwise the first click selects it and the second takes it
    click_takes = False
    #: text shown while there are no rows
    nothing = ""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, markup=False)
        self._rows: list[DialogRow] = []

    @property
    def ascii_only(self) -> bool:
        return host_of(self).ascii_only

    @property
    def palette(self) -> Palette:
        return host_of(self).palette

    @property
    def count(self) -> int:
        return len(self._rows)

    @property
    def page(self) -> int:
        return max(self.size.height, 1)

    @property
    def selected(self) -> int:
        """Index of the selected row; -1 for none."""
        return -1 if self.highlighted is None else self.highlighted

    def select(self, index: int) -> None:
        self.highlighted = max(0, min(index, self.count - 1)) if self._rows else None

    def write(self, rows: Iterable[DialogRow], *, keep: bool = False) -> None:
        """Replace the rows and select the first one; `keep`: the selection stays."""
        selected = self.selected if keep else 0
        self._rows = list(rows)
        width = self.scrollable_content_region.width or _UNKNOWN_WIDTH
        starts = self.starts or self._fitted_starts(width)
        options = [Option(self._line(row, starts, width)) for row in self._rows]
        if not options and self.nothing:
            options = [Option(Text(self._plain(self.nothing), self.palette.dim), disabled=True)]
        self.set_options(options)
        self.select(max(selected, 0))

    def on_resize(self) -> None:
        self.write(self._rows, keep=True)

    def on_click(self, event: events.Click) -> None:
        """Select the row under the pointer, or take it."""
        event.prevent_default()
        index = event.style.meta.get("option")
        if index is None or not 0 <= index < self.count:
            return
        again = index == self.highlighted
        self.highlighted = index
        if again or self.click_takes:
            self.action_select()

    def _plain(self, text: str) -> str:
        return text.translate(ASCII) if self.ascii_only else text

    def _fitted_starts(self, width: int) -> tuple[int, ...]:
        names = max((cell_len(row[1][0]) for row in self._rows), default=0)
        has_texts = any(row[-1][0] for row in self._rows)
        return (0, 2, (min(names, width // 2 - 2) if has_texts else width - 3) + 4)

    def _line(self, row: DialogRow, starts: Sequence[int], width: int) -> Text:
        """The cells, each at its start; the text of the last one cut or wrapped at the right edge."""
        line = Text(no_wrap=True)
        used = 0
        for (text, style), start, end in zip(row, starts, (*starts[1 : len(row)], width), strict=False):
            room = max(end - start - 1, 0)
            texts = wrap(text, room) if self.wraps and end == width and room else [cut(text, room)]
            for number, part in enumerate(texts):
                line.append("\n" + " " * start if number else " " * (start - used))
                line.append(self._plain(part), style)
                used = start + cell_len(part)
        return line
