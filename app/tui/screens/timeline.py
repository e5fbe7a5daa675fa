"""Timeline: who said what to whom, and why."""

from __future__ import annotations

from textual.app import ComposeResult

from app.tui.desk import Desk
from app.tui.keys import bindings_of
from app.tui.screens.base import RunScreen
from app.tui.widgets.inspector import Inspector
from app.tui.widgets.rowlist import RowList
from app.tui.widgets.swimlane import Swimlane


class TimelineScreen(RunScreen):
    """Swim lanes above (or left), the explanation of the event under the cursor below (or right)."""

    CSS_PATH = "timeline.tcss"
    BINDINGS = bindings_of("timeline")
    name_in_keys = "timeline"
    filtered = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.lane = Swimlane(desk, id="lane")
        self.inspector = Inspector(desk, id="why")

    def compose_body(self) -> ComposeResult:
        """Lanes and the Why pane."""
        yield self.lane
        yield self.inspector

    def sync(self) -> None:
        """Both panes follow the desk."""
        self.lane.sync()
        self.inspector.sync()
        self.refresh_bars()

    def on_row_list_chosen(self, message: RowList.Chosen) -> None:
        """A click on a row moves the cursor; a click on a fact selects it, a second one goes to its event."""
        if message.rows is self.lane:
            self.desk.seek(self.desk.timeline.seqs[message.index])
            self.moved()
        elif message.again:
            self.action_enter()
        else:
            self.inspector.select(message.index)

    def _move(self, rows: int) -> None:
        if self.desk.opened is None:
            return
        if self.pane is self.inspector:
            self.inspector.select(max(self.inspector.selected + rows, 0))
        else:
            self.desk.step_rows(rows)
            self.moved()

    def action_left(self) -> None:
        """Lanes further to the left."""
        self.lane.scroll_lanes(-1)

    def action_right(self) -> None:
        """Lanes further to the right."""
        self.lane.scroll_lanes(1)

    def action_enter(self) -> None:
        """From a row to its explanation; from a fact to the event it names."""
        if self.pane is self.lane:
            self.inspector.focus()
            self.inspector.select(max(self.inspector.selected, 0))
            return
        target = self.inspector.target()
        if target is not None:
            self.desk.seek(target)
            self.lane.focus()
            self.moved()

    def action_why(self) -> None:
        """The Why pane, large; again: as before."""
        self.zoom(self.inspector)
        self.inspector.focus()

    def action_chain(self) -> None:
        """Light the causal chain of the event, or everything again."""
        if self.desk.opened:
            self.desk.toggle_chain()
            self.moved()

    def action_fold(self) -> None:
        """Show or hide the events inside the gateway."""
        self.desk.show_internal = not self.desk.show_internal
        self.moved()
