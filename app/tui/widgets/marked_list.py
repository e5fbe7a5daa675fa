"""A list of things as they were at the cursor, with marks between them, and the tags of copies."""

from __future__ import annotations

from rich.cells import cell_len
from rich.style import Style

from trunkline.app.text.cells import cut
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.column_list import ListedRow, StyledCell
from trunkline.app.tui.widgets.cursor_list import CursorList
from trunkline.app.view.labels.lines import ListLine


class MarkedList(CursorList[ListedRow]):
    """Draws `ListLine` rows. A mark takes the whole row, a tag the first column."""

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        #: rows with something wrong at the cursor
        self.wrong: tuple[int, ...] = ()

    def line(self, index: int) -> ListLine:
        """A row of the list, below `count`."""
        raise NotImplementedError

    def _line(self, index: int) -> ListLine | None:
        return self.line(index) if 0 <= index < self.count else None

    def target(self) -> int | None:
        """The event that gave the selected row its state."""
        line = self._line(self.selected)
        return line.seq if line is not None else None

    def marks(self) -> tuple[int, ...]:
        return self.wrong

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
