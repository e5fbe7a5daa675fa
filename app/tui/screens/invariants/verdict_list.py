"""The list of invariants: one line each, with what it says at the cursor, and the violations of the selected one."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from rich.style import Style

from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.columns import ListColumn, spread
from trunkline.app.tui.widgets.fact_list import FactList
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.invariants.results import SIGNS, InvariantStatus, VerdictRow
from trunkline.app.view.text.cells import clean, cut

_SIGN, _ID, _STATUS, _NUMBER = (
    ListColumn("", 1),
    ListColumn("id", 3),
    ListColumn("status", 14),
    ListColumn("✗", 4, True),
)
_NARROW = (_SIGN, _ID, ListColumn("invariant", 0), _STATUS, _NUMBER, ListColumn("first", 6, True))
_ROOMY = (
    _SIGN,
    _ID,
    ListColumn("invariant", 38),
    _STATUS,
    _NUMBER,
    ListColumn("first", 6, True),
    ListColumn("promise", 0),
)
#: from this width on the promise has a column
ROOMY = 108


class VerdictList(RowList):
    """Every invariant as it is at the cursor."""

    heading = 1

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.workspace = workspace
        self.border_title = "Invariants"
        self.rows: list[VerdictRow] = []

    @property
    def count(self) -> int:
        """Invariants, also those that had nothing to judge."""
        return len(self.rows)

    def marks(self) -> Iterable[int]:
        """Those that are broken by now."""
        return (at for at, row in enumerate(self.rows) if row.judged is InvariantStatus.VIOLATED)

    def empty_text(self) -> str:
        """No run, or a trace that nobody judged."""
        return "no invariant was asked about this run"

    def sync(self) -> None:
        """Follow the workspace; the selection stays."""
        if self.workspace.open_run is None:
            return
        self.rows = self.workspace.run.verdicts.rows(self.workspace.cursor)
        span = self.workspace.run.view.so_far or " of the whole run"
        self.set_titles(self._title(), f"status at the cursor, ok times{span}")
        self.invalidate()
        self.select(self.selected if self.selected >= 0 else self._worst())

    def _title(self) -> str:
        idle = sum(row.judged is InvariantStatus.IDLE for row in self.rows)
        broken = sum(row.judged is InvariantStatus.VIOLATED for row in self.rows)
        return f"Invariants {self.count}  {broken} violated  {idle} not exercised"

    def _worst(self) -> int:
        """The first one that is broken; the first of all while none is."""
        return next((at for at, row in enumerate(self.rows) if row.judged is InvariantStatus.VIOLATED), 0)

    def choose(self, name: str) -> None:
        """Select the line of an invariant."""
        index = next((at for at, row in enumerate(self.rows) if row.id == name), None)
        if index is not None:
            self.select(index)

    @property
    def chosen(self) -> VerdictRow | None:
        """The selected invariant."""
        return self.rows[self.selected] if 0 <= self.selected < self.count else None

    # ------------------------------------------------------------ drawing

    @property
    def _columns(self) -> tuple[ListColumn, ...]:
        return _ROOMY if self.size.width >= ROOMY else _NARROW

    def draw_heading(self, line: int, width: int) -> Canvas:
        """Titles of the columns."""
        canvas = self.canvas(width)
        for col, (x, size) in zip(self._columns, spread(self._columns, width - 3), strict=True):
            canvas.put(x + size - cell_len(col.title) if col.right else x, col.title, self.palette.dim)
        return canvas

    def draw(self, index: int, width: int) -> Canvas:
        """One invariant."""
        row = self.rows[index]
        canvas = self.canvas(width)
        texts = self._texts(row)
        for col, (x, size) in zip(self._columns, spread(self._columns, width - 2), strict=True):
            text = cut(texts[col.title], size)
            style = self._style(row, strong=col in (_SIGN, _STATUS, _NUMBER))
            canvas.put(x + size - cell_len(text) if col.right else x, text, style)
        return canvas

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

    def _style(self, row: VerdictRow, *, strong: bool) -> Style:
        if row.judged is InvariantStatus.IDLE:
            return self.palette.dim
        return self.palette.tone(SIGNS[row.judged][1]) if strong else self.palette.base


class VerdictDetail(FactList):
    """The promise of the selected invariant, and its violations with what proves them."""

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self.border_title = "Invariant"
        self._chosen: VerdictRow | None = None
        self._shown: tuple[object, ...] = ()

    def empty_text(self) -> str:
        """Nothing is selected."""
        return "nothing is selected"

    def show(self, row: VerdictRow | None) -> None:
        """Tell of one invariant as it is at the cursor."""
        if self.workspace.open_run is None or not self.size.width:
            return
        shown = (self.workspace.open_run, row, self.workspace.cursor, self.size.width, self.workspace.run.view.last)
        if shown == self._shown:
            return
        anew = row is None or self._chosen is None or row.id != self._chosen.id
        self._chosen, self._shown = row, shown
        self.set_titles(f"{row.id} {row.title}" if row else "Invariant", "Enter: its event on the timeline")
        self.write(self.workspace.run.verdicts.facts(row.id, self.workspace.cursor) if row else (), anew=anew)

    def point(self, seq: int) -> None:
        """Select the violation that was seen at an event, if it is one of these."""
        index = next((at for at, line in enumerate(self.lines) if line.first and line.fact.seq == seq), None)
        if index is not None:
            self.select(index)

    def on_resize(self) -> None:
        """Wrap again."""
        self.show(self._chosen)
        super().on_resize()
