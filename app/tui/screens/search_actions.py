"""Actions that find something: timers, the end, rows by a filter, breakpoints, lanes, marks, and alternatives."""

from __future__ import annotations

from trunkline.app.text.cells import error_text
from trunkline.app.tui.screens.dialogs.alternatives import AlternativesDialog
from trunkline.app.tui.screens.dialogs.bookmarks import BookmarksDialog
from trunkline.app.tui.screens.dialogs.breakpoints import BreakpointsDialog
from trunkline.app.tui.screens.dialogs.filter import FilterDialog
from trunkline.app.tui.screens.dialogs.lanes import LanesDialog
from trunkline.app.tui.screens.screen_base import ActionScreen
from trunkline.app.view.timeline.seek_syntax import read_moment, read_speed
from trunkline.core.errors import UsageError


class SearchActions(ActionScreen):
    """The actions of `.`, `F`, `/`, `b`, `L`, `'` and `w`, and moments typed in the command palette."""

    def action_next_timer(self) -> None:
        if self.run_is_open():
            if not self.workspace.next_timer():
                self.notify("no later event is triggered by a timer", timeout=3)
            self.moved()

    def action_follow(self) -> None:
        if self.run_is_open():
            self.workspace.follow()
            self.moved()

    def action_filter_rows(self) -> None:
        if self.run_is_open():
            self.host.push_screen(FilterDialog(self.workspace), self._filtered)

    def _filtered(self, text: str | None) -> None:
        if text is not None:
            self.workspace.search.set_filter(text)
        if self.workspace.search.filter is not None and not self.filtered:
            # The filter has no effect on this screen.
            self.host.show("timeline")
        self.moved()

    def action_breakpoints(self) -> None:
        if self.run_is_open():
            self.workspace.run.playback.pause()
            self.host.push_screen(BreakpointsDialog(self.workspace), lambda _: self.moved())

    def action_lanes(self) -> None:
        if self.run_is_open():
            self.host.push_screen(LanesDialog(self.workspace), lambda _: self.moved())

    def action_marks(self) -> None:
        if self.run_is_open():
            self.workspace.run.playback.pause()
            self.host.push_screen(BookmarksDialog(self.workspace), self._seek_chosen)

    def action_why_not(self) -> None:
        unknown = self.workspace.inside_unknown()
        if unknown:
            self.notify(f"why it went nowhere else is {unknown}", timeout=3, markup=False)
        elif self.run_is_open():
            self.host.push_screen(AlternativesDialog(self.workspace), self._seek_chosen)

    def _seek_chosen(self, seq: int | None) -> None:
        if seq is not None:
            self.workspace.seek(seq)
        self.moved()

    def go_to(self, text: str) -> None:
        """Seek a moment or set the speed, as typed in the command palette."""
        if not self.run_is_open():
            return
        speed = read_speed(text)
        try:
            if speed is not None:
                self.workspace.run.playback.set_speed(speed)
            else:
                self.workspace.seek(read_moment(self.workspace.run.view, text))
        except UsageError as error:
            self.notify(error_text(error), severity="warning", markup=False, timeout=5)
        self.moved()
