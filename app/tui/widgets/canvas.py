"""One line of cells to draw on, and the strip that a terminal gets of it."""

from __future__ import annotations

from rich.cells import get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from app.tui.theme import ASCII


class Canvas:
    """A row of `width` cells, each a character and a style. What does not fit is left out."""

    __slots__ = ("_cells", "_styles", "width")

    def __init__(self, width: int, style: Style) -> None:
        self.width = width
        self._cells = [" "] * width
        self._styles = [style] * width

    def put(self, x: int, text: str, style: Style) -> int:
        """Write text from cell `x`; returns the cell after it. Wide characters take their two cells."""
        for char in text:
            size = get_character_cell_size(char)
            if not size:
                self._combine(x, char)
            elif x >= 0 and x + size <= self.width:
                self._cells[x] = char
                self._styles[x] = style
                if size == 2:
                    self._cells[x + 1] = ""
                    self._styles[x + 1] = style
            x += size
        return x

    def _combine(self, x: int, mark: str) -> None:
        """Put a mark without a width of its own on the character before."""
        before = x - 1
        if 0 < before < self.width and not self._cells[before]:
            before -= 1
        if 0 <= before < self.width:
            self._cells[before] += mark

    def line(self, start: int, end: int, char: str, style: Style) -> None:
        """Fill the cells from `start` up to, not including, `end`."""
        for x in range(max(start, 0), min(end, self.width)):
            self._cells[x] = char
            self._styles[x] = style

    def char(self, x: int) -> str:
        """What stands in a cell."""
        return self._cells[x] if 0 <= x < self.width else ""

    def restyle(self, style: Style) -> None:
        """Give every cell one style."""
        self._styles = [style] * self.width

    def strip(self, *, back: Style | None = None, ascii_only: bool = False) -> Strip:
        """The line as segments. `back` lies under styles without a background of their own."""
        segments: list[Segment] = []
        start = 0
        styles, cells = self._styles, self._cells
        for x in range(1, self.width + 1):
            if x == self.width or styles[x] is not styles[start]:
                text = "".join(cells[start:x])
                style = styles[start]
                segments.append(Segment(text.translate(ASCII) if ascii_only else text, back + style if back else style))
                start = x
        return Strip(segments, self.width)
