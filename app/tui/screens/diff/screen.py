"""Diff: the open run (B) beside the pinned or the previous run (A)."""

from __future__ import annotations

from textual.app import ComposeResult

from trunkline.app.tui.screens.diff.diff_list import DiffList, DiffRecord
from trunkline.app.tui.screens.run_screen import RunScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.diff.compare import Diff


class DiffScreen(RunScreen, screen="diff"):
    """The rows of both runs, and the selected one in full. The cursor is the open run's."""

    CSS_PATH = "screen.tcss"

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.list = DiffList(workspace, id="rows")
        self.record = DiffRecord(workspace, id="record")
        self._seen: tuple[object, int] | None = None
        #: the pair of runs that was shown here
        self._met: Diff | None = None

    def compose_body(self) -> ComposeResult:
        yield self.list
        yield self.record

    def sync(self) -> None:
        """Show the current state. When the cursor moved to another event, its row is selected."""
        diff = self.workspace.branch.diff(self.workspace.open_run)
        self.set_class(diff is None, "-one")
        self.list.show(diff)
        if diff is not None:
            if diff is not self._met and not self.workspace.ticking:
                self._met = diff
                self._meet(diff)
            at = (diff, self.workspace.cursor)
            if at != self._seen:
                self._seen = at
                self.list.select(diff.row_of(self.workspace.cursor))
        self.record.show(diff, self.list.chosen)
        self.refresh_bars()

    def _meet(self, diff: Diff) -> None:
        """Start a new comparison at the first difference; afterwards the cursor is shared."""
        if diff.first is not None:
            self.workspace.seek(diff.seq_at(diff.first))
            self._seen = (diff, self.workspace.cursor)
            self.list.select(diff.first)

    def go(self, index: int) -> None:
        """Select a row; move the cursor if the open run has its event."""
        diff = self.list.diff
        if diff is None or not diff.rows:
            return
        index = max(0, min(index, len(diff.rows) - 1))
        self.workspace.seek(diff.seq_at(index))
        # An event that only A has does not move the cursor; its row stays selected.
        self._seen = (diff, self.workspace.cursor)
        self.list.select(index)
        self.moved()

    def on_row_list_clicked(self, message: RowList.Clicked) -> None:
        if message.rows is self.list:
            self.go(message.index)
        else:
            self.record.select(message.index)
        if message.again:
            self.action_enter()

    def move(self, rows: int) -> None:
        if self.pane is self.record:
            self.record.select(max(self.record.selected + rows, 0))
        else:
            self.go(self.list.selected + rows)

    def action_next_difference(self) -> None:
        self._jump(1)

    def action_previous_difference(self) -> None:
        self._jump(-1)

    def _jump(self, step: int) -> None:
        diff = self.list.diff
        if diff is None:
            self.notify("there is nothing to compare yet: p pins the open run as A", timeout=3)
            return
        stop = diff.next_stop(self.list.selected, step)
        if stop is None:
            self.notify("both runs are the same", timeout=3)
        else:
            self.go(stop)

    def action_left(self) -> None:
        self.list.focus()

    def action_right(self) -> None:
        self.record.focus()

    def action_enter(self) -> None:
        """From a row to its record; from the record to the event on the timeline."""
        if self.pane is self.list:
            self.record.focus()
            return
        row = self.list.chosen
        if row is None:
            return
        if not row.b:
            self.notify("this happened in A only: it is no event of the open run", timeout=3)
            return
        self.workspace.seek(self.record.target() or row.b)
        self.action_show("timeline")

    def action_why(self) -> None:
        self.zoom(self.record)
        self.record.focus()
