"""Bindings: which conversations belong to which sessions, for how long, and where a conversation goes now."""

from __future__ import annotations

from textual.app import ComposeResult

from app.tui.desk import Desk
from app.tui.keys import bindings_of
from app.tui.screens.ask import AskScreen
from app.tui.screens.base import RunScreen
from app.tui.widgets.bindinglist import BindingList, BindingRecord
from app.tui.widgets.inspector import Inspector
from app.tui.widgets.rowlist import RowList
from app.view.resolve import Resolution, answer

#: lines that the list may always take
LEAST_MOST = 8


class BindingsScreen(RunScreen):
    """The list with its life bars, the record of the selected one, and the explanation where there is room."""

    CSS_PATH = "bindings.tcss"
    BINDINGS = bindings_of("bindings")
    name_in_keys = "bindings"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.list = BindingList(desk, id="bindings")
        self.record = BindingRecord(desk, id="record")
        self.inspector = Inspector(desk, id="why")
        self._seen: tuple[object, int, int] | None = None

    def compose_body(self) -> ComposeResult:
        """List, record and the Why pane."""
        yield self.list
        yield self.record
        yield self.inspector

    def sync(self) -> None:
        """Follow the desk. When the cursor moved to an event of a binding, that one is selected."""
        if self.desk.opened is not None:
            self.list.sync()
            self._fit()
            self._follow()
            self.record.show(self.list.chosen)
            self.inspector.sync()
        self.refresh_bars()

    def _fit(self) -> None:
        """As high as its bindings, within bounds."""
        most = max(LEAST_MOST, self.trunkline.size.height // 3)
        height = max(min(self.list.count + 3, most), 5)
        self.list.styles.height = height
        # Where the terminal is wide, the body is a grid.
        self.query_one("#body").styles.grid_rows = f"{height} 1fr"

    def on_resize(self) -> None:
        """The panes may stand in another way now."""
        self.call_after_refresh(self.sync)

    def _follow(self) -> None:
        at = (self.desk.opened, self.desk.cursor, self.desk.subject)
        if at == self._seen:
            return
        self._seen = at
        view = self.desk.run.view
        found = view.bindings.concerned(view.event(self.desk.subject)) if self.desk.subject else None
        if found is not None:
            self.list.choose(found)

    def on_row_list_chosen(self, message: RowList.Chosen) -> None:
        """A click selects; a second one goes in."""
        message.rows.select(message.index)
        if message.rows is self.list:
            self._selected()
        if message.again:
            self.action_enter()

    def _move(self, rows: int) -> None:
        if self.desk.opened is None:
            return
        pane = self.pane
        pane.select(max(0, min(pane.selected + rows, pane.count - 1)))
        if pane is self.list:
            self._selected()

    def _selected(self) -> None:
        """Another binding of the same moment."""
        if self.list.chosen is not None:
            self.desk.pick(self.list.chosen.since)
            self._seen = (self.desk.opened, self.desk.cursor, self.desk.subject)
        self.record.show(self.list.chosen)

    def action_left(self) -> None:
        """To the list."""
        self.list.focus()

    def action_right(self) -> None:
        """To the record."""
        self.record.focus()

    def action_enter(self) -> None:
        """From the list to the record; from a line of a record or an explanation to its event."""
        pane = self.pane
        if pane is self.list:
            self.record.focus()
            self.record.select(max(self.record.selected, 0))
            return
        target = pane.target() if isinstance(pane, BindingRecord | Inspector) else None
        if target is not None:
            self.desk.seek(target)
            self.action_show("timeline")

    def action_why(self) -> None:
        """The Why pane, large; again: as before."""
        self.zoom(self.inspector)
        self.inspector.focus()

    def action_ask(self) -> None:
        """Ask the resolver where a conversation goes."""
        if self.desk.opened is None:
            self.notify("no run is open: s chooses a scenario", timeout=3)
            return
        self.trunkline.push_screen(AskScreen(self.desk), self._answered)

    def _answered(self, found: Resolution | None) -> None:
        if found is None or self.desk.opened is None:
            return
        if found.binding is not None:
            self.list.choose(found.binding.id)
            self.record.show(self.list.chosen)
        self.notify(answer(self.desk.run.view, found), title=found.because, timeout=6, markup=False)
