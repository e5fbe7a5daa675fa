"""The rows of a comparison: mark, event in A, event in B, time, how much later, and what happened."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from rich.style import Style

from trunkline.app.text.cells import clean, cut, seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.column_list import ColumnList, StyledCell, columns
from trunkline.app.tui.widgets.fact_list import FactList
from trunkline.app.view.diff.compare import Diff, DiffMark, DiffRow
from trunkline.app.view.diff.text import delta, facts_of, header, row_text, row_tone, run_name

_NARROW = columns("1 | A >7 | B >7 | t >10 | what happened *")
_ROOMY = columns("1 | A >7 | B >7 | t >10 | later >8 | what happened *")
#: from this width on there is a column for how much later it is
ROOMY = 96

#: shown while there is only one run
_EMPTY = (
    ("what", "run A beside run B: events in both, in one only, and different verdicts"),
    ("p", "pins the open run as A (nothing pinned: A is the run before the last rerun or fault)"),
    ("r R d", "run it again as B: with the same seed, with the next one, with the defect or without it"),
    ("i", "places a fault at the cursor: the branch is B, the cursor stays at its time"),
    ("files", "trunkline diff A.jsonl B.jsonl compares two recorded traces"),
)


class DiffList(ColumnList[DiffRow]):
    """Every row of the comparison; after the cursor it is faint, except its mark."""

    BORDER_TITLE = "Diff"
    heading = 2
    layouts = ((ROOMY, _ROOMY), (0, _NARROW))

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self.diff: Diff | None = None

    def empty_text(self) -> str:
        opened, branch = self.workspace.open_run, self.workspace.branch
        if self.workspace.repeated:
            return "trunkline diff A.jsonl B.jsonl compares two recorded runs"
        if opened is not None and branch.pinned is opened:
            if self.workspace.entry is None:
                return "this recorded run is pinned as A: s chooses a scenario, and its run is B"
            return "this run is pinned as A: run it again, or place a fault, and that is B"
        return "one run is open, and it takes two to compare"

    def show(self, diff: Diff | None) -> None:
        self.diff = diff
        self.rows = diff.rows if diff else ()
        if diff is None:
            self.set_titles("Diff", "")
            self.select(-1)
        else:
            room = max(self.size.width - 8, 20)
            self.set_titles(cut(f"A {run_name(diff.a)}", room), cut(f"B {run_name(diff.b)}", room))
        self.invalidate()

    def on_resize(self) -> None:
        self.show(self.diff)
        super().on_resize()

    def marks(self) -> Iterable[int]:
        return self.diff.different if self.diff else ()

    # ------------------------------------------------------------ drawing

    def draw_heading(self, line: int, width: int) -> Canvas:
        canvas = self.canvas(width)
        if self.diff is None:
            return canvas
        if line == 0:
            head = header(self.diff)
            wide = cell_len(head.outcome) < width - 1
            bad = head.bad_a or head.bad_b
            style = (self.palette.bad if bad else self.palette.base) + Style(bold=True)
            canvas.put(0, cut(head.outcome if wide else head.short, width - 1), style)
            return canvas
        return super().draw_heading(line, width)

    def cache_key(self, index: int) -> object:
        """A row looks different in the future."""
        return index, self._is_later(index)

    def _is_later(self, index: int) -> bool:
        return self.diff is not None and self.diff.seq_at(index) > self.workspace.cursor

    def cells(self, index: int) -> dict[str, StyledCell]:
        """A row: its mark, its event in both runs, and what happened."""
        diff = self.diff
        if diff is None:
            return {}
        row = diff.rows[index]
        _, event = diff.event(row)
        style = self.palette.faint if self._is_later(index) else self.palette.tone(row_tone(row.mark))
        texts = {
            "A": _seq(row.a),
            "B": _seq(row.b),
            "t": seconds(event.at),
            "later": delta(diff, row),
            "what happened": row_text(diff, row),
        }
        mark = StyledCell(row.mark.value, self._mark_style(row.mark))
        return {"": mark} | {title: StyledCell(clean(text), style) for title, text in texts.items()}

    def _mark_style(self, mark: DiffMark) -> Style:
        palette = self.palette
        return {
            DiffMark.SAME: palette.dim,
            DiffMark.MOVED: palette.primary,
            DiffMark.ONLY_A: palette.fill_warn,
            DiffMark.ONLY_B: palette.fill_warn,
            DiffMark.VERDICT: palette.fill_bad,
        }[mark]


def _seq(seq: int) -> str:
    return f"#{seq}" if seq else "·"


class DiffRecord(FactList):
    """The selected row in full: both sides and their differences; without two runs, how to get them."""

    BORDER_TITLE = "Row"

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self._diff: Diff | None = None
        self._row: DiffRow | None = None

    def show(self, diff: Diff | None, row: DiffRow | None) -> None:
        """Show one row, or how to compare two runs."""
        self._diff, self._row = diff, row
        if not self.size.width:
            return
        if diff is None:
            self.set_titles("Two runs")
            facts = [Fact(label, text) for label, text in _EMPTY]
        elif row is None:
            self.set_titles("Row")
            facts = [Fact("", "no row is selected: j and n select one", tone=Tone.DIM)]
        else:
            self.set_titles(f"Row {row.mark.value}")
            facts = list(facts_of(diff, row))
        self.write(facts, from_top=True)

    def on_resize(self) -> None:
        self.show(self._diff, self._row)
        super().on_resize()
