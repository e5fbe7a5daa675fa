"""The lists of messages, of the queue and of hands: they select the row of the event under the cursor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.style import Style

from trunkline.app.text.fact import Fact, Tone
from trunkline.app.tui.widgets.column_list import ChoosableList, ListedRow, StyledCell
from trunkline.app.tui.widgets.fact_list import DetailPane
from trunkline.app.view.explain.explanation import explain
from trunkline.app.view.labels.messages import LabelCell


class CursorList(ChoosableList[ListedRow]):
    """A list that selects the row that the event under the cursor belongs to."""

    gap = 1
    titles_when_empty = False
    short_titles = {"admitted": "from", "prepared": "prep", "mirrored": "mirr", "callback": "back"}

    def follow(self, seq: int) -> None:
        """Select the row that an event belongs to, if there is one."""
        raise NotImplementedError

    def enter(self) -> bool:
        """Open or close a row of the list itself; false: go to the event instead."""
        return False

    def keep(self) -> None:
        """Draw again with the same selection; at first the selection is the first row with a violation."""
        self.invalidate()
        self.select(self.selected if self.selected >= 0 else next(iter(self.marks()), 0))

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


class Detail(DetailPane):
    """Explains the selected row of a `CursorList`."""

    def explain_row(self, rows: CursorList[ListedRow]) -> None:
        self.show((self.workspace.open_run, self.subject(rows)), lambda: self.facts(rows))

    def subject(self, rows: CursorList[ListedRow]) -> object:
        """The subject of the facts."""
        return rows.target()

    def facts(self, rows: CursorList[ListedRow]) -> tuple[str, Sequence[Fact]]:
        """A title, and the facts."""
        why = explain(self.workspace.run.view, rows.target() or 0)
        return why.title, why.lines
