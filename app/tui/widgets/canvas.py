"""One line of cells to draw on, and its strip for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from trunkline.app.text.cells import ASCII, clean


class Canvas:
    """A row of `width` cells, each a character and a style. Text beyond the edges is clipped."""

    __slots__ = ("_cells", "_styles", "width")

    def __init__(self, width: int, style: Style) -> None:
        # A pane that is being laid out may have less than no room.
        self.width = width = max(width, 0)
        self._cells = [" "] * width
        self._styles = [style] * width

    def put(self, x: int, text: str, style: Style) -> int:
        """Write text from cell `x`; returns the cell after it. Wide characters take their two cells."""
        if x >= 0 and text.isascii() and text.isprintable():
            # Most texts are: one cell for each character.
            end = x + len(text)
            fits = max(min(end, self.width) - x, 0)
            self._cells[x : x + fits] = text[:fits]
            self._styles[x : x + fits] = [style] * fits
            return end
        if not text.isprintable():
            text = clean(text)
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
        return self._cells[x] if 0 <= x < self.width else ""

    def restyle(self, style: Style) -> None:
        self._styles = [style] * self.width

    def strip(
        self,
        look: Style | None = None,
        *,
        back: Style | None = None,
        edge: tuple[str, Style] | None = None,
        ascii_only: bool = False,
    ) -> Strip:
        """The line as segments. `look` lies under everything, and `back` between it and what has its own background.

        `edge` is a cell more at the end, without `back`.
        """
        below = look + back if look and back else look or back
        segments: list[Segment] = []
        for start, end, own in self._runs():
            style = below + own if below else own
            segments.append(_segment("".join(self._cells[start:end]), style, ascii_only=ascii_only))
        if edge is not None:
            segments.append(_segment(edge[0], look + edge[1] if look else edge[1], ascii_only=ascii_only))
        return Strip(segments, self.width + (edge is not None))

    def _runs(self) -> Iterator[tuple[int, int, Style]]:
        """Where the same style begins and ends."""
        if not self.width:
            return
        start, style = 0, self._styles[0]
        for x, other in enumerate(self._styles):
            if other is not style:
                yield start, x, style
                start, style = x, other
        yield start, self.width, style


def _segment(text: str, style: Style, *, ascii_only: bool) -> Segment:
    return Segment(text.translate(ASCII) if ascii_only else text, style)
