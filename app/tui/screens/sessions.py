"""Sessions: every transcript beside what people really saw."""

from __future__ import annotations

from textual.app import ComposeResult

from app.tui.desk import Desk
from app.tui.keys import bindings_of
from app.tui.screens.base import RunScreen
from app.tui.widgets.alignment import Alignment
from app.tui.widgets.inspector import Inspector
from app.tui.widgets.rowlist import RowList
from app.tui.widgets.sessionlist import SessionList

#: from this height on the list may be longer
HIGH = 32


class SessionsScreen(RunScreen):
    """The list above, the two sides of the selected session below, and the explanation where there is room."""

    CSS_PATH = "sessions.tcss"
    BINDINGS = bindings_of("sessions")
    name_in_keys = "sessions"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.list = SessionList(desk, id="sessions")
        self.sides = Alignment(desk, id="sides")
        self.inspector = Inspector(desk, id="why")
        self._seen: tuple[object, int, int] | None = None

    def compose_body(self) -> ComposeResult:
        """List, sides and the Why pane."""
        yield self.list
        yield self.sides
        yield self.inspector

    def sync(self) -> None:
        """Follow the desk. When the cursor moved to another event, its session is selected."""
        if self.desk.opened is not None:
            self.list.sync()
            most = 8 if self.trunkline.size.height < HIGH else 12
            self.list.styles.height = max(min(self.list.count + 3, most), 5)
            at = (self.desk.opened, self.desk.cursor, self.desk.subject)
            if at != self._seen:
                self._seen = at
                owner = self.desk.run.sessions.owner_of(self.desk.subject)
                if owner is not None:
                    self.list.choose(owner)
                elif self.desk.subject == self.desk.run.view.last:
                    self.list.begin()
            self.sides.sync(self.list.chosen, self.list.blame)
            self.inspector.sync()
        self.refresh_bars()

    def on_row_list_chosen(self, message: RowList.Chosen) -> None:
        """A click selects a session, or moves the cursor; a second one goes in."""
        if message.rows is self.list:
            self.list.select(message.index)
            self._selected()
        elif message.rows is self.sides:
            self.desk.seek(self.sides.pairs[message.index].seq)
            self.moved()
        else:
            self.inspector.select(message.index)
        if message.again:
            self.action_enter()

    def _move(self, rows: int) -> None:
        if self.desk.opened is None:
            return
        pane = self.pane
        target = max(0, min(pane.selected + rows, pane.count - 1))
        if pane is self.sides and pane.count:
            self.desk.seek(self.sides.pairs[target].seq)
            self._seen = (self.desk.opened, self.desk.cursor, self.desk.subject)
            self.moved()
            return
        pane.select(target)
        if pane is self.list:
            self._selected()

    def _selected(self) -> None:
        """Another session of the same moment."""
        self.list.keep()
        if self.list.chosen is not None:
            self.desk.pick(self.list.chosen.since)
            self._seen = (self.desk.opened, self.desk.cursor, self.desk.subject)
        self.sides.sync(self.list.chosen)

    def action_left(self) -> None:
        """To the list."""
        self.list.focus()

    def action_right(self) -> None:
        """To the two sides."""
        self.sides.focus()

    def action_enter(self) -> None:
        """From the list to the sides; from a row of the sides to the timeline; from a fact to its event."""
        if self.pane is self.list:
            self.sides.focus()
            return
        target = self.inspector.target() if self.pane is self.inspector else None
        if self.pane is self.sides and 0 <= self.sides.selected < self.sides.count:
            target = self.sides.pairs[self.sides.selected].delivery
        if target is not None:
            self.desk.seek(target)
            self.action_show("timeline")

    def action_why(self) -> None:
        """The Why pane, large; again: as before."""
        self.zoom(self.inspector)
        self.inspector.focus()
