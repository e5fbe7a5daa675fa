"""Invariants: what was promised, what was broken by now, and what proves it."""

from __future__ import annotations

from textual.app import ComposeResult

from app.tui.desk import Desk
from app.tui.keys import bindings_of
from app.tui.screens.base import RunScreen
from app.tui.widgets.inspector import Inspector
from app.tui.widgets.rowlist import RowList
from app.tui.widgets.verdictlist import VerdictDetail, VerdictList


class InvariantsScreen(RunScreen):
    """The list, the violations of the selected one, and the explanation where there is room."""

    CSS_PATH = "invariants.tcss"
    BINDINGS = bindings_of("invariants")
    name_in_keys = "invariants"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.list = VerdictList(desk, id="invariants")
        self.detail = VerdictDetail(desk, id="verdict")
        self.inspector = Inspector(desk, id="why")
        self._seen: tuple[object, int] | None = None

    def compose_body(self) -> ComposeResult:
        """List, violations and the Why pane."""
        yield self.list
        yield self.detail
        yield self.inspector

    def sync(self) -> None:
        """Follow the desk. When the cursor moved to an event of a violation, that invariant is selected."""
        if self.desk.opened is not None:
            self.list.sync()
            moved = self._follow()
            self.detail.show(self.list.chosen)
            if moved:
                self.detail.point(self.desk.cursor)
            self.inspector.sync()
        self.refresh_bars()

    def on_resize(self) -> None:
        """The panes may stand in another way now."""
        self.call_after_refresh(self.sync)

    def _follow(self) -> bool:
        """Select the invariant that the event under the cursor breaks; true when the cursor has moved."""
        at = (self.desk.opened, self.desk.cursor)
        if at == self._seen:
            return False
        self._seen = at
        found = self.desk.run.verdicts.concerned(self.desk.cursor)
        chosen = self.list.chosen
        # An event may break several: the one that is looked at stays.
        broken = {violation.invariant for violation in self.desk.run.view.marks.of(self.desk.cursor)}
        if found is not None and (chosen is None or chosen.id not in broken):
            self.list.choose(found)
        return True

    def choose(self, name: str) -> None:
        """Select an invariant."""
        self.list.choose(name)
        self.detail.show(self.list.chosen)

    def on_row_list_chosen(self, message: RowList.Chosen) -> None:
        """A click selects; a second one goes in."""
        message.rows.select(message.index)
        if message.rows is self.list:
            self.detail.show(self.list.chosen)
        if message.again:
            self.action_enter()

    def _move(self, rows: int) -> None:
        if self.desk.opened is None:
            return
        pane = self.pane
        pane.select(max(0, min(pane.selected + rows, pane.count - 1)))
        if pane is self.list:
            self.detail.show(self.list.chosen)

    def action_left(self) -> None:
        """To the list."""
        self.list.focus()

    def action_right(self) -> None:
        """To the violations."""
        self.detail.focus()

    def action_enter(self) -> None:
        """From the list to the violations; from a line of a violation to its event."""
        pane = self.pane
        if pane is self.list:
            self.detail.focus()
            chosen = self.list.chosen
            if self.detail.selected < 0 and chosen is not None:
                self.detail.select(0)
                self.detail.point(chosen.latest or chosen.first)
            return
        target = pane.target() if isinstance(pane, VerdictDetail | Inspector) else None
        if target is not None:
            self.desk.seek(target)
            self.action_show("timeline")

    def action_why(self) -> None:
        """The Why pane, large; again: as before."""
        self.zoom(self.inspector)
        self.inspector.focus()
