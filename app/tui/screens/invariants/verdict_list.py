"""The list of invariants with their status at the cursor, and the violations of the selected one."""

from __future__ import annotations

from collections.abc import Iterable

from rich.style import Style

from trunkline.app.text.cells import clean
from trunkline.app.text.fact import Fact
from trunkline.app.tui.widgets.column_list import ChoosableList, StyledCell, columns
from trunkline.app.tui.widgets.fact_list import DetailPane
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.invariants.results import SIGNS, InvariantStatus, VerdictRow

_NARROW = columns("1 | id 3 | invariant * | status 14 | ✗ >4 | first >6")
_ROOMY = columns("1 | id 3 | invariant 38 | status 14 | ✗ >4 | first >6 | promise *")
#: columns in the colour of the status
_COLOURED = frozenset({"", "status", "✗"})
#: from this width on the promise has a column
ROOMY = 108


class VerdictList(ChoosableList[VerdictRow]):
    """Every invariant as it is at the cursor."""

    BORDER_TITLE = "Invariants"
    layouts = ((ROOMY, _ROOMY), (0, _NARROW))

    def marks(self) -> Iterable[int]:
        return (at for at, row in enumerate(self.rows) if row.judged is InvariantStatus.VIOLATED)

    def empty_text(self) -> str:
        return "this run was not judged"

    def sync(self) -> None:
        if self.workspace.open_run is None:
            return
        self.rows = self.workspace.run.verdicts.rows(self.workspace.cursor)
        span = self.workspace.run.view.so_far or " of the whole run"
        unknown = self.workspace.inside_unknown()
        span = f"the others: {unknown}" if unknown else f"status at the cursor, ok times{span}"
        self.set_titles(self._title(), span)
        self.invalidate()
        self.select(self.selected if self.selected >= 0 else self._worst())

    def _title(self) -> str:
        idle = sum(row.judged is InvariantStatus.IDLE for row in self.rows)
        broken = sum(row.judged is InvariantStatus.VIOLATED for row in self.rows)
        return f"Invariants {self.count}  {broken} violated  {idle} not exercised"

    def _worst(self) -> int:
        """The first one that is broken; the first of all while none is."""
        return next((at for at, row in enumerate(self.rows) if row.judged is InvariantStatus.VIOLATED), 0)

    def choose(self, thing: str | PlaceKey) -> None:
        self.select_where(lambda row: row.id == thing)

    def cells(self, index: int) -> dict[str, StyledCell]:
        row = self.rows[index]
        return {
            title: StyledCell(text, self._style(row, coloured=title in _COLOURED))
            for title, text in self._texts(row).items()
        }

    def _texts(self, row: VerdictRow) -> dict[str, str]:
        return {
            "": SIGNS[row.judged][0],
            "id": row.id,
            "invariant": row.title,
            "status": row.words,
            "✗": str(row.broken) if row.broken else "·",
            "first": f"#{row.first}" if row.first else "·",
            "promise": clean(row.sentence),
        }

    def _style(self, row: VerdictRow, *, coloured: bool) -> Style:
        if row.judged is InvariantStatus.IDLE:
            return self.palette.dim
        return self.palette.tone(SIGNS[row.judged][1]) if coloured else self.palette.base


class VerdictDetail(DetailPane):
    """The sentence of the selected invariant, and its violations with their evidence."""

    BORDER_TITLE = "Invariant"
    BORDER_SUBTITLE = "Enter: its event on the timeline"

    def empty_text(self) -> str:
        return "nothing is selected"

    def show_row(self, row: VerdictRow | None) -> None:
        self.show(row.id if row else None, lambda: self._facts(row))

    def _facts(self, row: VerdictRow | None) -> tuple[str, Iterable[Fact]]:
        if row is None:
            return "Invariant", ()
        return f"{row.id} {row.title}", self.workspace.run.verdicts.facts(row.id, self.workspace.cursor)

    def point(self, seq: int) -> None:
        """Select the violation that was seen at an event, if it is one of these."""
        index = next((at for at, line in enumerate(self.lines) if line.first and line.fact.seq == seq), None)
        if index is not None:
            self.select(index)
