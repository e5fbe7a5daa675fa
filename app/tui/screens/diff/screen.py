"""Diff: the open run (B) beside the pinned or the previous run (A)."""

from collections.abc import Iterable

from rich.cells import cell_len
from rich.style import Style

from trunkline.app.text.cells import clean, cut, seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.tui.screens.list_screen import ListScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cursor_list import ChoosableList, FactList
from trunkline.app.tui.widgets.row_list import Canvas, RowList
from trunkline.app.view.diff import compare
from trunkline.app.view.index.growing import next_around

# The rows of a comparison: mark, event in A, event in B, time, how much later, and what happened.


#: shown while there is only one run
_EMPTY = (
    ("what", "run A beside run B: events in both, in one only, and different verdicts"),
    ("p", "pins the open run as A (nothing pinned: A is the run before the last rerun or fault)"),
    ("r R d", "run it again as B: with the same seed, with the next one, with the defect or without it"),
    ("i", "places a fault at the cursor: the branch is B, the cursor stays at its time"),
    ("files", "trunkline diff A.jsonl B.jsonl compares two recorded traces"),
)


class DiffList(ChoosableList[compare.DiffRow]):
    """Every row of the comparison; after the cursor it is faint, except its mark."""

    BORDER_TITLE = "Diff"
    heading = 2
    layouts = {
        96: "1 | A >7 | B >7 | t >10 | later >8 | what happened *",
        0: "1 | A >7 | B >7 | t >10 | what happened *",
    }

    diff: compare.Diff | None = None

    def empty_text(self) -> str:
        opened, branch = self.workspace.open_run, self.workspace.branch
        if self.workspace.repeated:
            return "trunkline diff A.jsonl B.jsonl compares two recorded runs"
        if opened is not None and branch.pinned is opened:
            if self.workspace.entry is None:
                return "this recorded run is pinned as A: s chooses a scenario, and its run is B"
            return "this run is pinned as A: run it again, or place a fault, and that is B"
        return "one run is open, and it takes two to compare"

    def show(self, diff: compare.Diff | None) -> None:
        self.diff = diff
        self.rows = diff.rows if diff else ()
        if diff is None:
            self.set_titles("Diff", "")
            self.select(-1)
        else:
            room = max(self.size.width - 8, 20)
            self.set_titles(cut(f"A {compare.run_name(diff.a)}", room), cut(f"B {compare.run_name(diff.b)}", room))
        self.invalidate()

    def on_resize(self) -> None:
        self.show(self.diff)
        super().on_resize()

    def marks(self) -> Iterable[int]:
        return self.diff.different if self.diff else ()

    def draw_heading(self, line: int, width: int) -> Canvas:
        canvas = self.canvas(width)
        if self.diff is None:
            return canvas
        if line == 0:
            wide = cell_len(text := compare.outcome(self.diff, short=False)) < width - 1
            bad = self.diff.a.marks.violations or self.diff.b.marks.violations
            style = (self.palette.bad if bad else self.palette.base) + Style(bold=True)
            canvas.put(0, cut(text if wide else compare.outcome(self.diff, short=True), width - 1), style)
            return canvas
        return super().draw_heading(line, width)

    def cache_key(self, index: int) -> object:
        """A row looks different in the future."""
        return index, self._is_later(index)

    def _is_later(self, index: int) -> bool:
        return self.diff is not None and self.diff.seq_at(index) > self.workspace.cursor

    def texts(self, index: int) -> dict[str, str]:
        if self.diff is None:
            return {}
        row = self.rows[index]
        return {
            "": row.mark.value,
            "A": _seq(row.a),
            "B": _seq(row.b),
            "t": seconds(self.diff.event(row)[1].at),
            "later": compare.delta(self.diff, row),
            "what happened": clean(compare.row_text(self.diff, row)),
        }

    def style(self, index: int, title: str, text: str) -> Style:
        mark = self.rows[index].mark
        if not title:
            return self._mark_style(mark)
        return self.palette.faint if self._is_later(index) else self.palette.tone(compare.row_tone(mark))

    def _mark_style(self, mark: compare.DiffMark) -> Style:
        palette = self.palette
        return {
            compare.DiffMark.SAME: palette.dim,
            compare.DiffMark.MOVED: palette.primary,
            compare.DiffMark.ONLY_A: palette.fill_warn,
            compare.DiffMark.ONLY_B: palette.fill_warn,
            compare.DiffMark.VERDICT: palette.fill_bad,
        }[mark]


def _seq(seq: int) -> str:
    return f"#{seq}" if seq else "·"


class DiffRecord(FactList):
    """The selected row in full: both sides and their differences; without two runs, how to get them."""

    BORDER_TITLE = "Row"

    _diff: compare.Diff | None = None
    _row: compare.DiffRow | None = None

    def show(self, diff: compare.Diff | None, row: compare.DiffRow | None) -> None:
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
            facts = list(compare.facts_of(diff, row))
        self.write(facts, from_top=True)

    def on_resize(self) -> None:
        self.show(self._diff, self._row)
        super().on_resize()


class DiffScreen(ListScreen[DiffList, DiffRecord], screen="diff"):
    """The rows of both runs, and the selected one in full. The cursor is the open run's."""

    CSS_PATH = "screen.tcss"

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, DiffList(workspace, id="rows"), DiffRecord(workspace, id="record"))
        #: the pair of runs that was shown here
        self._met: compare.Diff | None = None

    def moment(self) -> tuple[object, ...]:
        return self.list.diff, self.workspace.cursor

    def sync(self) -> None:
        """Show the current state. When the cursor moved to another event, its row is selected."""
        diff = self.workspace.branch.diff(self.workspace.open_run)
        self.set_class(diff is None, "-one")
        self.list.show(diff)
        if diff is not None:
            if diff is not self._met and not self.workspace.ticking:
                self._met = diff
                self._meet(diff)
            if self.moved_on():
                self.list.select(diff.row_of(self.workspace.cursor))
        self.detail.show(diff, self.list.chosen)
        self.refresh_bars()

    def _meet(self, diff: compare.Diff) -> None:
        """Start a new comparison at the first difference; afterwards the cursor is shared."""
        if diff.first is not None:
            self.workspace.seek(diff.seq_at(diff.first))
            self._seen = self.moment()
            self.list.select(diff.first)

    def go_to_row(self, index: int) -> None:
        """Select a row; move the cursor if the open run has its event."""
        diff = self.list.diff
        if diff is None or not diff.rows:
            return
        index = max(0, min(index, len(diff.rows) - 1))
        self.workspace.seek(diff.seq_at(index))
        # An event that only A has does not move the cursor; its row stays selected.
        self._seen = self.moment()
        self.list.select(index)
        self.moved()

    def select_row(self, pane: RowList, index: int) -> None:
        if pane is self.list:
            self.go_to_row(index)
        else:
            super().select_row(pane, index)

    def action_differ(self, step: int) -> None:
        diff = self.list.diff
        if diff is None:
            self.notify("there is nothing to compare yet: p pins the open run as A")
            return
        stop = next_around(diff.stops, self.list.selected, step)
        if stop is None:
            self.notify("both runs are the same")
        else:
            self.go_to_row(stop)

    def action_enter(self) -> None:
        """From a row to its record; from the record to the event on the timeline."""
        if self.pane is self.list:
            self.detail.focus()
            return
        row = self.list.chosen
        if row is None:
            return
        if not row.b:
            self.notify("this happened in A only: it is no event of the open run")
            return
        self.workspace.seek(self.detail.target() or row.b)
        self.host.action_show("timeline")
