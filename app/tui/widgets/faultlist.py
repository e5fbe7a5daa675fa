"""The faults of the palette, a line each: its name, and what it will do or why it cannot be placed here."""

from __future__ import annotations

from app.tui.widgets.canvas import Canvas
from app.tui.widgets.rowlist import RowList
from app.view.faults import Option
from app.view.text import clean, cut

#: cells of a name
_NAME = 20


class FaultList(RowList):
    """Everything that can go wrong at the cursor."""

    def __init__(self, options: tuple[Option, ...], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.options = options

    @property
    def count(self) -> int:
        """How many faults there are."""
        return len(self.options)

    @property
    def chosen(self) -> Option | None:
        """The selected fault."""
        return self.options[self.selected] if 0 <= self.selected < self.count else None

    def draw(self, index: int, width: int) -> Canvas:
        """One fault."""
        option = self.options[index]
        canvas = self.canvas(width)
        possible = option.step is not None
        canvas.put(0, "·" if not possible else "▸", self.palette.dim if not possible else self.palette.warn)
        canvas.put(2, option.word, self.palette.base if possible else self.palette.faint)
        canvas.put(_NAME, cut(clean(option.told), width - _NAME - 1), self.palette.dim)
        return canvas
