"""The lists of messages, of the queue and of hands: they select the row of the event under the cursor."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from rich.cells import cell_len
from rich.style import Style

from trunkline.app.text.cells import cut, middle_cut, wrap
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.tui.widgets.row_list import Canvas, RowList
from trunkline.app.view.bindings.lifetime_bar import BarCell
from trunkline.app.view.bindings.lifetime_bar import column as column_of
from trunkline.app.view.explain.explanation import explain
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.labels.messages import LabelCell, ListLine
from trunkline.app.view.wire_side.facts import shown_instead

# Facts with their labels, wrapped to the width: the Why pane. Lines that name an event lead to it.

LABEL = 10


class WhyLine(msgspec.Struct, frozen=True):
    """A drawn line of a fact; `first` carries label and mark."""

    fact: Fact
    text: str
    first: bool


class FactList(RowList):
    """A list of facts. Facts of events after the cursor are dim."""

    lines: Sequence[WhyLine] = ()
    #: facts and width that the lines were wrapped from
    _wrapped_from: tuple[Sequence[Fact], int] = ((), 0)

    @property
    def count(self) -> int:
        return len(self.lines)

    def write(self, facts: Iterable[Fact], *, from_top: bool) -> None:
        """Show these facts; `from_top`: begin at the top, for another subject."""
        wrapped_from = (list(facts), self.size.width - 2)
        if wrapped_from != self._wrapped_from:
            self._wrapped_from = wrapped_from
            self.lines = [line for fact in wrapped_from[0] for line in self._wrapped(fact, wrapped_from[1])]
        if from_top:
            self.top, self.selected = 0, -1
        self.refresh()

    def cache_key(self, index: int) -> object:
        """A line looks the same at any index, except after the cursor."""
        line = self.lines[index]
        return line, line.fact.seq > self.workspace.cursor

    def row_text(self) -> str:
        if not 0 <= self.selected < self.count:
            return ""
        fact = self.lines[self.selected].fact
        return " ".join(part for part in (fact.label, fact.text, fact.mark) if part)

    def target(self) -> int | None:
        fact = self.lines[self.selected].fact if 0 <= self.selected < self.count else None
        return fact.seq or None if fact else None

    def _wrapped(self, fact: Fact, width: int) -> list[WhyLine]:
        room = width - LABEL - (cell_len(fact.mark) + 1 if fact.mark else 0)
        first, *rest = wrap(fact.text, room, width - LABEL - 2)
        return [WhyLine(fact, first, first=True), *(WhyLine(fact, "  " + text, first=False) for text in rest)]

    def draw(self, index: int, width: int) -> Canvas:
        line = self.lines[index]
        canvas = self.canvas(width)
        style = self.palette.tone(line.fact.tone)
        if line.fact.seq > self.workspace.cursor:
            style = self.palette.dim
        if line.first:
            canvas.put(0, line.fact.label, self.palette.primary)
            mark_style = self.palette.good if line.fact.mark == "✓" else self.palette.bad
            canvas.put(width - cell_len(line.fact.mark) - 1, line.fact.mark, mark_style)
        canvas.put(LABEL, line.text, style)
        return canvas


class DetailPane(FactList):
    """Facts about one subject, written again only if the subject, the cursor, the width or the run changed."""

    _subject: object = None
    _latest: tuple[object, Callable[[], tuple[str, Iterable[Fact]]]] | None = None
    _written: tuple[object, ...] = ()

    def show(self, subject: object, make: Callable[[], tuple[str, Iterable[Fact]]]) -> None:
        """Write the title and the facts that `make` gives; begin at the top if the subject is another one."""
        self._latest = subject, make
        if self.workspace.open_run is None or not self.size.width:
            return
        run = self.workspace.open_run
        written = (run, subject, self.workspace.cursor, self.size.width, run.view.last)
        if written == self._written:
            return
        from_top = not self._written or subject != self._subject
        self._subject, self._written = subject, written
        title, facts = make()
        self.set_titles(title)
        self.write(facts, from_top=from_top)

    def on_resize(self) -> None:
        if self._latest is not None:
            self.show(*self._latest)
        super().on_resize()


class Inspector(DetailPane):
    BORDER_TITLE = "Why"
    nothing = "nothing to explain yet"

    def sync(self) -> None:
        if self.workspace.open_run is not None:
            subject = (self.workspace.open_run, self.workspace.cursor)
            self.show(subject, lambda: explained(self.workspace.run.view, self.workspace.cursor))


def explained(view: RunView, seq: int) -> tuple[str, Sequence[Fact]]:
    """The explanation of an event as a title and facts."""
    why = explain(view, seq)
    return why.title, why.lines


# A list that declares its columns: a layout for each width, and the cells of a row by column title.

ListedRow = TypeVar("ListedRow")
#: start and width of a cell in a line
Span = tuple[int, int]
#: two times between which something is drawn
TimeSpan = tuple[float, float]


class ListColumn(msgspec.Struct, frozen=True):
    """A column. `width` 0 takes what the others leave, `right` aligns numbers, `middle` keeps both ends of a text."""

    title: str
    width: int
    right: bool = False
    middle: bool = False


@cache
def columns_of(declared: str) -> tuple[ListColumn, ...]:
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
    #: the columns by the least width that they need, the widest first
    layouts: Mapping[int, str] = {}
    titles_when_empty = True
    #: titles for columns that are too narrow for theirs
    short_titles: Mapping[str, str] = {}
    #: title of the column that has a bar over time, and cells at both ends of its scale that are left to the cursor
    bar_column: str | None = None
    scale_edge = 1
    rows: Sequence[ListedRow] = ()

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
        return columns_of(next(columns for least, columns in self.layouts.items() if self.size.width >= least))

    def cells(self, index: int) -> Mapping[str, StyledCell]:
        """The cells of a row by column title; a missing one stays blank."""
        return {title: StyledCell(text, self.style(index, title, text)) for title, text in self.texts(index).items()}

    def texts(self, index: int) -> Mapping[str, str]:
        """The texts of a row by column title."""
        raise NotImplementedError

    def style(self, index: int, title: str, text: str) -> Style:
        """The style of a text of a row."""
        raise NotImplementedError

    def scale(self) -> tuple[TimeSpan, float]:
        """The time that the bars show, and the time of the cursor."""
        raise NotImplementedError

    def bar(self, index: int, width: int) -> Sequence[BarCell[Any]]:
        """The bar of a row."""
        raise NotImplementedError

    def bar_styles(self) -> Mapping[Any, Style]:
        """The styles of the parts of bars; any other part is drawn in the tone of its cell."""
        raise NotImplementedError

    def draw_title(self, canvas: Canvas, column: ListColumn, x: int, size: int) -> None:
        """Draw a title; above bars their scale, and the cursor on it."""
        if column.title == self.bar_column:
            self._draw_scale(canvas, x, size)
            return
        title = column.title if cell_len(column.title) <= size else self.short_titles.get(column.title, column.title)
        text = cut(title, size)
        canvas.put(x + size - cell_len(text) if column.right else x, text, self.palette.dim)

    def draw_cell(self, canvas: Canvas, index: int, column: ListColumn, cell: StyledCell, span: Span) -> None:
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
            if column.title == self.bar_column:
                self._draw_bar(canvas, index, span)
            elif cell is not None:
                self.draw_cell(canvas, index, column, cell, span)
        return canvas

    def _draw_bar(self, canvas: Canvas, index: int, span: Span) -> None:
        styles, palette = self.bar_styles(), self.palette
        for x, cell in enumerate(self.bar(index, span[1]), span[0]):
            if cell.char != " ":
                style = styles.get(cell.part) or palette.tone(cell.tone) + Style(bold=True)
                canvas.put(x, cell.char, palette.faint if cell.later else style)

    def _draw_scale(self, canvas: Canvas, x: int, size: int) -> None:
        (span, now), edge = self.scale(), self.scale_edge
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
        if self.workspace.open_run is not None:
            self.fill()

    def fill(self) -> None:
        """Set rows and titles for the current cursor."""
        raise NotImplementedError

    def choose(self, thing: str | PlaceKey) -> None:
        """Select the row of a thing, by its id."""

    def follow(self, seq: int) -> None:
        """Select the row that an event belongs to, if there is one."""
        raise NotImplementedError

    def subject(self) -> int | None:
        """The event by which other screens select what belongs to the selected row."""
        return self.target()

    def enter(self) -> bool:
        """Open or close a row of the list itself; false: go to the event instead."""
        return False

    def keep(self) -> None:
        """Draw again with the same selection; at first the selection is the first row with a violation."""
        self.invalidate()
        self.select(self.selected if self.selected >= 0 else next(iter(self.marks()), 0))


class CursorList(ChoosableList[ListedRow]):
    """A list of `LabelCell`s."""

    gap = 1
    titles_when_empty = False
    short_titles = {"admitted": "from", "prepared": "prep", "mirrored": "mirr", "callback": "back"}

    def styled(self, cells: Mapping[str, LabelCell], *, later: bool) -> dict[str, StyledCell]:
        """Cells with the styles of their tones; `later`: the row lies after the cursor."""
        return {
            title: StyledCell(cell.text, self._style(cell, later=later), cell.more) for title, cell in cells.items()
        }

    def _style(self, cell: LabelCell, *, later: bool) -> Style:
        if later or cell.later:
            return self.palette.faint
        style = self.palette.tone(cell.tone)
        return style + Style(bold=True) if cell.tone is Tone.BAD else style


class MarkedList(CursorList[ListedRow]):
    """Draws `ListLine` rows. A mark takes the whole row, a tag the first column."""

    def line(self, index: int) -> ListLine:
        """A row of the list, below `count`."""
        raise NotImplementedError

    def _line(self, index: int) -> ListLine | None:
        return self.line(index) if 0 <= index < self.count else None

    def target(self) -> int | None:
        """The event that gave the selected row its state."""
        line = self._line(self.selected)
        return line.seq if line is not None else None

    def cells(self, index: int) -> dict[str, StyledCell]:
        line = self._line(index)
        return self.styled(line.cells, later=line.later) if line is not None else {}

    def draw(self, index: int, width: int) -> Canvas:
        """Draw a thing with its tag, or a mark across the row."""
        line = self._line(index)
        if line is None or not line.mark:
            canvas = super().draw(index, width)
            if line is not None and line.tag:
                canvas.put(2 - cell_len(line.tag), line.tag, self._tag_style(line))
            return canvas
        canvas = self.canvas(width)
        style = self.palette.faint if line.later else self.palette.tone(line.tone)
        canvas.line(0, width, "╌", style)
        canvas.put(3, f" {cut(line.mark, width - 8)} ", style + Style(italic=True))
        return canvas

    def _tag_style(self, line: ListLine) -> Style:
        """The first of several copies is the intended one."""
        if line.later:
            return self.palette.faint
        return self.palette.bad + Style(underline=True) if line.tag == "1×" else self.palette.fill_bad


class Detail(DetailPane):
    """Explains the selected row of a list."""

    def explain_row(self, rows: ChoosableList[Any]) -> None:
        self.show((self.workspace.open_run, self.subject(rows)), lambda: self.facts(rows))

    def subject(self, rows: ChoosableList[Any]) -> object:
        return rows.target()

    def facts(self, rows: ChoosableList[Any]) -> tuple[str, Iterable[Fact]]:
        """A title, and the facts."""
        return explained(self.workspace.run.view, rows.target() or 0)


class RowRecord(Detail, Generic[ListedRow]):
    """The record of the selected row; without one, what the list shows."""

    #: what the rows are, where only the wire of the gateway is known and they are not
    inside = ""
    #: labels and texts without a row
    introduction: Sequence[tuple[str, str]] = ()

    def subject(self, rows: ChoosableList[Any]) -> object:
        return rows.chosen.id if rows.chosen is not None else None

    def facts(self, rows: ChoosableList[Any]) -> tuple[str, Iterable[Fact]]:
        """The record; else an introduction."""
        if rows.chosen is not None:
            return self.record(rows.chosen)
        if self.inside and self.workspace.run.view.wire_side:
            return self.BORDER_TITLE, shown_instead(self.inside)
        return self.BORDER_TITLE, [Fact(label, text) for label, text in self.introduction]

    def record(self, row: ListedRow) -> tuple[str, Iterable[Fact]]:
        """A title, and the facts of a row."""
        raise NotImplementedError
