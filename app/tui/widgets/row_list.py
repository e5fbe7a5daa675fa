"""The list for everything that events feed: only the lines in view are drawn.

It is a plain widget with a `top` of its own rather than a scroll view: no virtual size, so a new row never costs a
layout, and the heading lines and the rail are part of the same picture.
"""

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.markup import escape
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from trunkline.app.text.cells import ASCII, clean, wrap
from trunkline.app.tui.host import host_of
from trunkline.app.tui.platform.border_cache import BorderCache
from trunkline.app.tui.platform.textual_private import set_styles_cache
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.theme import Palette


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


# The right edge of a list: where the window is in the whole, and where the violations are.

Cell = tuple[str, Style]


def rail(height: int, count: int, top: int, marks: Iterable[int], cursor: int, palette: Palette) -> list[Cell]:
    """A cell a line. `marks` are lines with something wrong; the whole list is scaled to the height."""
    cells: dict[int, Cell] = {}
    if count > height > 0:
        first = _line(top, count, height)
        last = max(_line(min(top + height, count) - 1, count, height), first)
        cells = dict.fromkeys(range(first, last + 1), ("▐", palette.dim))
        if 0 <= cursor < count:
            cells[_line(cursor, count, height)] = ("▐", palette.primary)
    cells |= dict.fromkeys(marks, ("█", palette.bad))
    return [cells.get(line, (" ", palette.rail)) for line in range(height)]


def marked_lines(marks: Iterable[int], height: int, count: int) -> frozenset[int]:
    """The lines of the rail that stand for rows with something wrong."""
    scale = max(count, height)
    return frozenset(_line(mark, scale, height) for mark in marks if 0 <= mark < count)


def _line(row: int, count: int, height: int) -> int:
    return min(row * height // max(count, 1), height - 1)


#: rows kept in view around the selected one
MARGIN = 2
#: cells that a copied row is drawn with, so that nothing is cut
COPY_WIDTH = 320
#: lines that are kept: some pages of the largest terminal; more would only be more for the garbage collector to look at
CACHE = 500


class LineWidget(Widget):
    #: the widget's own style while a picture is drawn: computing it per line is slow
    _look_now: Style | None = None

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        set_styles_cache(self, BorderCache())

    @property
    def palette(self) -> Palette:
        return host_of(self).palette

    @property
    def ascii_only(self) -> bool:
        """Only plain ASCII may be drawn."""
        return host_of(self).ascii_only

    def canvas(self, width: int, style: Style | None = None) -> Canvas:
        return Canvas(width, style or self.palette.base)

    def set_titles(self, title: str, subtitle: str | None = None) -> None:
        """Set the titles in the frame; what people wrote is never read as markup."""
        self.border_title = self._plain(title)
        if subtitle is not None:
            self.border_subtitle = self._plain(subtitle)

    def _plain(self, text: str) -> str:
        text = clean(text)
        return escape(text.translate(ASCII) if self.ascii_only else text)

    def finish(self, canvas: Canvas, *, back: Style | None = None, edge: tuple[str, Style] | None = None) -> Strip:
        """The line as the terminal gets it, on the widget's own background; `edge` is one cell more, after its end."""
        look = self._look_now or self.rich_style
        return canvas.strip(look, back=back, edge=edge, ascii_only=self.ascii_only)


class RowList(LineWidget, can_focus=True):
    """Subclasses give the number of rows and draw one; this class keeps the selection in view."""

    #: lines above the rows
    heading = 0
    #: text shown while there are no rows, unless `empty_text` knows better
    nothing = ""
    #: rows with something wrong at the cursor
    wrong: Sequence[int] = ()

    class Clicked(Message):
        """A row was clicked; `again` when it was the selected one."""

        def __init__(self, rows: "RowList", index: int, *, again: bool) -> None:
            super().__init__()
            self.rows = rows
            self.index = index
            self.again = again

        @property
        def control(self) -> "RowList":
            return self.rows

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.workspace = workspace
        self.top = 0
        self.selected = -1
        #: strips by the content of the row and its cell of the rail; also those below the last row
        self._cache: dict[object, Strip] = {}
        #: the heading lines of the last picture
        self._headings: dict[int, Strip] = {}
        #: its size while a picture is drawn
        self._size_now: Size | None = None
        self._rail: list[tuple[str, Style]] = []
        self._marked: tuple[object, int, int, frozenset[int]] | None = None

    @property
    def count(self) -> int:
        raise NotImplementedError

    def draw(self, index: int, width: int) -> Canvas:
        raise NotImplementedError

    def draw_heading(self, line: int, width: int) -> Canvas:
        return self.canvas(width)

    def marks(self) -> Iterable[int]:
        """Rows that the rail marks as wrong."""
        return self.wrong

    def cache_key(self, index: int) -> object:
        """Everything besides the selection that changes how a row looks."""
        return index

    def empty_text(self) -> str:
        """Text shown while there are no rows."""
        return self.nothing

    def target(self) -> int | None:
        """The event that the selected row leads to, if any."""
        return None

    def row_text(self) -> str:
        """The selected row as text to copy; blank if there is none."""
        if not 0 <= self.selected < self.count:
            return ""
        return "  ".join(self.draw(self.selected, COPY_WIDTH).strip(ascii_only=self.ascii_only).text.split())

    @property
    def size(self) -> Size:
        """The size of the content; found once for a whole picture."""
        return self._size_now or super().size

    @property
    def page(self) -> int:
        """How many rows are in view."""
        return max(self.size.height - self.heading, 1)

    def select(self, index: int) -> None:
        """Select a row and bring it into view."""
        self.selected = max(-1, min(index, self.count - 1))
        self.reveal()

    def reveal(self) -> None:
        """Move the window as little as possible so that the selected row and its surroundings are in view."""
        page, count = self.page, self.count
        margin = min(MARGIN, (page - 1) // 2)
        top = min(self.top, self.selected - margin)
        top = max(top, self.selected + margin - page + 1)
        self._scroll_rows(top if count > page else 0)

    def _scroll_rows(self, top: int) -> None:
        self.top = max(0, min(top, self.count - self.page))
        self.refresh()

    def invalidate(self) -> None:
        """Draw every row again."""
        self._cache.clear()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Compute geometry and style once per picture: per line it is slow."""
        self._size_now = self.size
        page, count = self.page, self.count
        self._rail = rail(page, count, self.top, self._marked_lines(page, count), self.selected, self.palette)
        self._look_now = self.rich_style
        try:
            return super().render_lines(crop)
        finally:
            self._look_now = self._size_now = None

    def _marked_lines(self, page: int, count: int) -> frozenset[int]:
        """The marked lines of the rail, cached: a long run may have many marks."""
        marks = self.marks() if count else ()
        known = self._marked
        if known is None or known[0] is not marks or known[1:3] != (page, count):
            known = self._marked = (marks, page, count, marked_lines(marks, page, count))
        return known[3]

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y < self.heading:
            strip = self.finish(self.draw_heading(y, width))
            if strip != self._headings.get(y):
                self._headings[y] = strip
            return self._headings[y]
        line = y - self.heading
        edge = self._rail[line] if line < len(self._rail) else (" ", self.palette.rail)
        return self._strip_of(self.top + line, line, width, edge)

    def _strip_of(self, index: int, line: int, width: int, edge: tuple[str, Style]) -> Strip:
        if index >= self.count:
            return self._empty_strip(line, width, edge)
        selected = index == self.selected
        key = (self.cache_key(index), width, edge, selected, selected and self.has_focus)
        strip = self._cache.get(key)
        if strip is None:
            back = None
            if selected:
                back = self.palette.cursor if self.has_focus else self.palette.cursor_blurred
            strip = self._keep(key, self.draw(index, width - 1), edge, back)
        return strip

    def _keep(self, key: object, canvas: Canvas, edge: tuple[str, Style], back: Style | None = None) -> Strip:
        """The line with its part of the rail."""
        if len(self._cache) > CACHE:
            self._cache.clear()
        strip = self._cache[key] = self.finish(canvas, back=back, edge=edge)
        return strip

    def _empty_strip(self, line: int, width: int, edge: tuple[str, Style]) -> Strip:
        lines = () if self.count else wrap(self.empty_text(), width - 3)
        text = lines[line] if line < len(lines) else ""
        key = ("beyond", text, width, edge)
        strip = self._cache.get(key)
        if strip is None:
            canvas = self.canvas(width - 1)
            canvas.put(1, text, self.palette.dim)
            strip = self._keep(key, canvas, edge)
        return strip

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        line = offset.y - self.heading
        if line < 0:
            return
        if offset.x >= self.size.width - 1 and self.count > self.page:
            # The rail stands for the whole list: a click goes to that part.
            self.post_message(self.Clicked(self, line * self.count // self.page, again=False))
        elif self.top + line < self.count:
            index = self.top + line
            self.post_message(self.Clicked(self, index, again=index == self.selected))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._scroll_rows(self.top + 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._scroll_rows(self.top - 3)

    def on_resize(self) -> None:
        self._cache.clear()
        self.reveal()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()
