"""What the lists of messages, of the queue and of hands share: they follow the cursor, and draw cells in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.style import Style

from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.columns import ListColumn, spread
from trunkline.app.tui.widgets.fact_list import FactList
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.explain.explanation import explain
from trunkline.app.view.labels.messages import LabelCell
from trunkline.app.view.text.cells import cut, middle_cut
from trunkline.app.view.text.fact import Fact, Tone

#: columns whose both ends matter
_BOTH_ENDS = frozenset({"session", "id", "routed", "place", "origin", "said"})
GAP = 1
#: titles for columns that are too narrow for them
_SHORT = {"admitted": "from", "prepared": "prep", "mirrored": "mirr", "callback": "back"}


class CursorList(RowList):
    """A list that selects the row that the event under the cursor belongs to."""

    heading = 1

    #: from these widths on, these columns; the widest first
    layouts: tuple[tuple[int, tuple[ListColumn, ...]], ...] = ()

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.workspace = workspace

    def sync(self) -> None:
        """Follow the workspace; the selection stays."""
        raise NotImplementedError

    def follow(self, seq: int) -> None:
        """Select the row that an event belongs to, if there is one."""
        raise NotImplementedError

    def target(self) -> int | None:
        """The event that the selected row leads to."""
        raise NotImplementedError

    def enter(self) -> bool:
        """Open or close something in the list itself; false: go to the event instead."""
        return False

    def keep(self) -> None:
        """Draw anew, with the selection where it was; at first on what is wrong, if anything is."""
        self.invalidate()
        self.select(self.selected if self.selected >= 0 else next(iter(self.marks()), 0))

    # ------------------------------------------------------------ drawing

    @property
    def columns(self) -> tuple[ListColumn, ...]:
        """Those that there is room for."""
        return next(columns for least, columns in self.layouts if self.size.width >= least)

    def places(self, columns: Sequence[ListColumn], width: int) -> list[tuple[int, int]]:
        """Where the columns are; the first cells of a line belong to its tag."""
        return spread(columns, width - 2, GAP)

    def put_titles(self, columns: Sequence[ListColumn], width: int) -> Canvas:
        """The line of titles. `width` is that of a heading, one cell wider than a row."""
        canvas = self.canvas(width)
        for col, (x, size) in zip(columns, self.places(columns, width - 1), strict=True):
            text = cut(col.title if cell_len(col.title) <= size else _SHORT.get(col.title, col.title), size)
            canvas.put(x + size - cell_len(text) if col.right else x, text, self.palette.dim)
        return canvas

    def put_cells(
        self, canvas: Canvas, columns: Sequence[ListColumn], cells: Mapping[str, LabelCell], *, later: bool
    ) -> Canvas:
        """Each cell in the column of its name; the longer text where it fits."""
        for col, (x, size) in zip(columns, self.places(columns, canvas.width), strict=True):
            cell = cells.get(col.title)
            if cell is not None:
                text = cell.more if cell.more and cell_len(cell.more) <= size else cell.text
                text = middle_cut(text, size) if col.title in _BOTH_ENDS else cut(text, size)
                style = self.palette.faint if later or cell.later else self.style_of(cell)
                canvas.put(x + size - cell_len(text) if col.right else x, text, style)
        return canvas

    def style_of(self, cell: LabelCell) -> Style:
        """What is wrong stands out by more than its colour."""
        style = self.palette.tone(cell.tone)
        return style + Style(bold=True) if cell.tone is Tone.BAD else style


class Detail(FactList):
    """Tells of the selected row of a list."""

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self._told: tuple[object, ...] = ()
        self._of: CursorList | None = None

    def tell(self, rows: CursorList) -> None:
        """Show what there is to tell of the selected row, as it is at the cursor."""
        self._of = rows
        if self.workspace.open_run is None or not self.size.width:
            return
        told = (
            self.workspace.open_run,
            self.subject(rows),
            self.workspace.cursor,
            self.size.width,
            self.workspace.run.view.last,
        )
        if told == self._told:
            return
        anew = told[:2] != self._told[:2]
        self._told = told
        title, facts = self.facts(rows)
        self.set_titles(title)
        self.write(facts, anew=anew)

    def subject(self, rows: CursorList) -> object:
        """What the facts are about."""
        return rows.target()

    def facts(self, rows: CursorList) -> tuple[str, Sequence[Fact]]:
        """A title, and what to tell."""
        why = explain(self.workspace.run.view, rows.target() or 0)
        return why.title, why.lines

    def on_resize(self) -> None:
        """Wrap again."""
        if self._of is not None:
            self.tell(self._of)
        super().on_resize()
