"""What the Messages, Queue and Hands screens share: a list that follows the cursor, and what a row has to tell."""

from __future__ import annotations

from textual.app import ComposeResult

from app.tui.desk import Desk
from app.tui.screens.base import RunScreen
from app.tui.widgets.cursorlist import CursorList, Detail
from app.tui.widgets.rowlist import RowList


class ListScreen(RunScreen):
    """A list above the explanation of its selected row."""

    CSS_PATH = "lists.tcss"

    def __init__(self, desk: Desk, rows: CursorList, detail: Detail) -> None:
        super().__init__(desk)
        self.list = rows
        self.detail = detail
        self._seen: tuple[object, int, int] | None = None

    def compose_body(self) -> ComposeResult:
        """List and detail."""
        yield self.list
        yield self.detail

    def sync(self) -> None:
        """Follow the desk. When the cursor moved to an event of a row, that one is selected."""
        if self.desk.opened is not None:
            self.list.sync()
            at = (self.desk.opened, self.desk.cursor, self.desk.subject)
            if at != self._seen:
                self._seen = at
                if self.desk.subject and self.list.count:
                    self.list.follow(self.desk.subject)
            self.detail.tell(self.list)
        self.refresh_bars()

    def on_resize(self) -> None:
        """The columns may be others now."""
        self.call_after_refresh(self.sync)

    def on_row_list_chosen(self, message: RowList.Chosen) -> None:
        """A click selects; a second one goes in."""
        message.rows.select(message.index)
        self._selected(message.rows)
        if message.again:
            self.action_enter()

    def _move(self, rows: int) -> None:
        if self.desk.opened is None:
            return
        pane = self.pane
        pane.select(max(0, min(pane.selected + rows, pane.count - 1)))
        self._selected(pane)

    def _selected(self, pane: RowList) -> None:
        """The moment stays: the queue would be another one at each row. Other screens select the same thing."""
        if pane is self.list:
            self.desk.pick(self.list.target())
            self._seen = (self.desk.opened, self.desk.cursor, self.desk.subject)
        self.detail.tell(self.list)

    def action_left(self) -> None:
        """To the list."""
        self.list.focus()

    def action_right(self) -> None:
        """To what is told of the selected row."""
        self.detail.focus()

    def action_enter(self) -> None:
        """Open or close a row of the list; else go to the event of the line."""
        if self.desk.opened is None:
            return
        if self.pane is self.list:
            self.enter_row()
        else:
            self.go(self.detail.target())

    def enter_row(self) -> None:
        """Go into the selected row."""
        if self.list.enter():
            self.detail.tell(self.list)
        else:
            self.go(self.list.target())

    def go(self, seq: int | None) -> None:
        """To an event on the timeline."""
        if seq:
            self.desk.seek(seq)
            self.action_show("timeline")

    def action_why(self) -> None:
        """What is told, large; again: as before."""
        self.zoom(self.detail)
        self.detail.focus()
