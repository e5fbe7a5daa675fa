"""A list that declares its columns: a layout for each width, and the cells of a row by column title."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec
from rich.cells import cell_len
from rich.style import Style

from trunkline.app.text.cells import cut, middle_cut
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.bindings.lifetime_bar import column as column_of
from trunkline.app.view.index.places import PlaceKey

ListedRow = TypeVar("ListedRow")
#: start and width of a cell in a line
Span = tuple[int, int]


class ListColumn(msgspec.Struct, frozen=True):
    """A column. `width` 0 takes what the others leave, `right` aligns numbers, `middle` keeps both ends of a text."""

    title: str
    width: int
    right: bool = False
    middle: bool = False


def columns(declared: str) -> tuple[ListColumn, ...]:
    """Columns from ``"title width | title width"``.

    Before a width, ``>`` aligns right and ``~`` cuts in the middle; ``*`` takes the rest: ``"age >7 | text *"``.
    """
    found: list[ListColumn] = []
    for text in declared.split("|"):
        title, _, rule = text.strip().rpartition(" ")
        width = rule.strip(">~")
        found.append(ListColumn(title, 0 if width == "*" else int(width), right=">" in rule, middle="~" in rule))
    return tuple(found)


def spread(columns: Sequence[ListColumn], width: int, gap: int = 2) -> list[Span]:
    """Start and width of each column in a line of `width` cells."""
    fixed = sum(column.width for column in columns) + gap * (len(columns) - 1)
    flexible = max(sum(column.width == 0 for column in columns), 1)
    rest = max((width - fixed) // flexible, 4)
    spans: list[Span] = []
    x = 0
    for column in columns:
        size = column.width or rest
        spans.append((x, size))
        x += size + gap
    return spans


class StyledCell(NamedTuple):
    """A cell of a row. `more` replaces the text where it fits."""

    text: str
    style: Style
    more: str = ""


class ColumnList(RowList, Generic[ListedRow]):
    """Subclasses declare `layouts`, set `rows`, and give the cells of a row."""

    heading = 1
    #: cells between two columns, and at the end of a row
    gap = 2
    margin = 2
    #: (least width, columns), the widest first
    layouts: tuple[tuple[int, tuple[ListColumn, ...]], ...] = ()
    titles_when_empty = True
    #: titles for columns that are too narrow for theirs
    short_titles: Mapping[str, str] = {}

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self.rows: Sequence[ListedRow] = ()

    @property
    def count(self) -> int:
        return len(self.rows)

    @property
    def chosen(self) -> ListedRow | None:
        return self.rows[self.selected] if 0 <= self.selected < self.count else None

    def select_where(self, matches: Callable[[ListedRow], bool]) -> bool:
        """Select the first row that matches; false if none does."""
        index = next((at for at, row in enumerate(self.rows) if matches(row)), None)
        if index is not None:
            self.select(index)
        return index is not None

    @property
    def columns(self) -> tuple[ListColumn, ...]:
        """The columns at the current width."""
        return next(columns for least, columns in self.layouts if self.size.width >= least)

    def cells(self, index: int) -> Mapping[str, StyledCell]:
        """The cells of a row by column title; a missing one stays blank."""
        raise NotImplementedError

    def draw_title(self, canvas: Canvas, column: ListColumn, x: int, size: int) -> None:
        title = column.title if cell_len(column.title) <= size else self.short_titles.get(column.title, column.title)
        text = cut(title, size)
        canvas.put(x + size - cell_len(text) if column.right else x, text, self.palette.dim)

    def draw_cell(
        self, canvas: Canvas, index: int, column: ListColumn, cell: StyledCell, span: tuple[int, int]
    ) -> None:
        x, size = span
        text = cell.more if cell.more and cell_len(cell.more) <= size else cell.text
        text = middle_cut(text, size) if column.middle else cut(text, size)
        canvas.put(x + size - cell_len(text) if column.right else x, text, cell.style)

    def draw_heading(self, line: int, width: int) -> Canvas:
        """Draw the titles. A heading is one cell wider than a row, which leaves room for the rail."""
        canvas = self.canvas(width)
        if self.count or self.titles_when_empty:
            for column, (x, size) in zip(
                self.columns, spread(self.columns, width - 1 - self.margin, self.gap), strict=True
            ):
                self.draw_title(canvas, column, x, size)
        return canvas

    def draw(self, index: int, width: int) -> Canvas:
        canvas = self.canvas(width)
        cells = self.cells(index)
        for column, span in zip(self.columns, spread(self.columns, width - self.margin, self.gap), strict=True):
            cell = cells.get(column.title)
            if cell is not None:
                self.draw_cell(canvas, index, column, cell, span)
        return canvas

    def draw_scale(self, canvas: Canvas, x: int, size: int, span: tuple[float, float], now: float, edge: int) -> None:
        """Draw the scale of bars over time, and the cursor on it. `edge`: cells at both ends that are left to it."""
        first, last = f"{span[0]:.1f} s", f"{span[1]:.1f} s"
        if cell_len(first) + cell_len(last) + 2 * edge + 3 <= size:
            canvas.put(x + edge, first, self.palette.dim)
            canvas.put(x + size - cell_len(last) - edge, last, self.palette.dim)
        if now >= span[0]:
            canvas.put(x + column_of(now, span, size), "▼", self.palette.primary + Style(bold=True))


class ChoosableList(ColumnList[ListedRow]):
    """A list that follows the workspace, and selects what a card of another screen leads to."""

    def sync(self) -> None:
        """Show the current state of the workspace; the selection stays."""
        raise NotImplementedError

    def choose(self, thing: str | PlaceKey) -> None:
        """Select the row of a thing, by its id."""
