"""What every screen of a run can look for: timers, the end, rows by a filter, breakpoints, and why not elsewhere."""

from __future__ import annotations

from trunkline.app.tui.screens.screen_base import ActionScreen
from trunkline.app.view.text.cells import error_text
from trunkline.app.view.timeline.seek_syntax import read_moment, read_speed
from trunkline.core.errors import UsageError

_NO_RUN = "no run is open: s chooses a scenario"


class SearchActions(ActionScreen):
    """For screens of a run: the actions of `.`, `F`, `/`, `b` and `w`, and what the palette types."""

    def _open(self) -> bool:
        """Whether a run is open; says so when none is."""
        if self.workspace.open_run is None:
            self.notify(_NO_RUN, timeout=3)
        return self.workspace.open_run is not None

    def action_next_timer(self) -> None:
        """To the next event that a timer brings."""
        if self._open():
            if not self.workspace.next_timer():
                self.notify("nothing comes later by a timer", timeout=3)
            self.moved()

    def action_follow(self) -> None:
        """Follow the end: stand there, and go along when the run grows."""
        if self._open():
            self.workspace.follow()
            self.moved()

    def action_filter_rows(self) -> None:
        """Filter the rows."""
        if self._open():
            from trunkline.app.tui.screens.dialogs.filter import FilterDialog

            self.trunkline.push_screen(FilterDialog(self.workspace), self._filtered)

    def _filtered(self, text: str | None) -> None:
        if text is not None:
            self.workspace.search.set_filter(text)
        if self.workspace.search.filter is not None and not self.filtered:
            # The rows of the other screens are no events.
            self.trunkline.show("timeline")
        self.moved()

    def action_breakpoints(self) -> None:
        """List, set and remove breakpoints."""
        if self._open():
            from trunkline.app.tui.screens.dialogs.breakpoints import BreakpointsDialog

            self.workspace.run.playback.pause()
            self.trunkline.push_screen(BreakpointsDialog(self.workspace), lambda _: self.moved())

    def action_lanes(self) -> None:
        """Choose which lanes are drawn."""
        if self._open():
            from trunkline.app.tui.screens.dialogs.lanes import LanesDialog

            self.trunkline.push_screen(LanesDialog(self.workspace), lambda _: self.moved())

    def action_marks(self) -> None:
        """Mark this moment, or go to one that was marked."""
        if self._open():
            from trunkline.app.tui.screens.dialogs.bookmarks import BookmarksDialog

            self.workspace.run.playback.pause()
            self.trunkline.push_screen(BookmarksDialog(self.workspace), self._went)

    def action_why_not(self) -> None:
        """Why it did not go elsewhere."""
        if self._open():
            from trunkline.app.tui.screens.dialogs.alternatives import AlternativesDialog

            self.trunkline.push_screen(AlternativesDialog(self.workspace), self._went)

    def _went(self, seq: int | None) -> None:
        if seq is not None:
            self.workspace.seek(seq)
        self.moved()

    # ------------------------------------------------------------ typed in the palette

    def go_to(self, text: str) -> None:
        """Seek a moment, or set the speed, as it was typed."""
        if not self._open():
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
