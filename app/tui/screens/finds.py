"""What every screen of a run can look for: timers, the end, rows by a filter, breakpoints, and why not elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from app.view.text import told
from app.view.when import read_moment, read_speed
from core.errors import UsageError

if TYPE_CHECKING:
    from app.tui.screens.base import RunScreen

_NO_RUN = "no run is open: s chooses a scenario"


class Finds:
    """For screens of a run: the actions of `.`, `F`, `/`, `b` and `w`, and what the palette types."""

    @property
    def _finder(self) -> RunScreen:
        return cast("RunScreen", self)

    def _open(self) -> bool:
        """Whether a run is open; says so when none is."""
        if self._finder.desk.opened is None:
            self._finder.notify(_NO_RUN, timeout=3)
        return self._finder.desk.opened is not None

    def action_next_timer(self) -> None:
        """To the next event that a timer brings."""
        screen = self._finder
        if self._open():
            if not screen.desk.next_timer():
                screen.notify("nothing comes later by a timer", timeout=3)
            screen.moved()

    def action_follow(self) -> None:
        """Follow the end: stand there, and go along when the run grows."""
        screen = self._finder
        if self._open():
            screen.desk.follow()
            screen.moved()

    def action_filter_rows(self) -> None:
        """Filter the rows."""
        if self._open():
            from app.tui.screens.filter import FilterScreen

            self._finder.trunkline.push_screen(FilterScreen(self._finder.desk), self._filtered)

    def _filtered(self, text: str | None) -> None:
        screen = self._finder
        if text is not None:
            screen.desk.finding.look_for(text)
        if screen.desk.finding.filter is not None and not screen.filtered:
            # The rows of the other screens are no events.
            screen.action_show("timeline")
        screen.moved()

    def action_breakpoints(self) -> None:
        """List, set and remove breakpoints."""
        if self._open():
            from app.tui.screens.breaks import BreaksScreen

            self._finder.desk.run.transport.pause()
            self._finder.trunkline.push_screen(BreaksScreen(self._finder.desk), lambda _: self._finder.moved())

    def action_lanes(self) -> None:
        """Choose which lanes are drawn."""
        if self._open():
            from app.tui.screens.lanes import LanesScreen

            self._finder.trunkline.push_screen(LanesScreen(self._finder.desk), lambda _: self._finder.moved())

    def action_marks(self) -> None:
        """Mark this moment, or go to one that was marked."""
        if self._open():
            from app.tui.screens.marks import MarksScreen

            self._finder.desk.run.transport.pause()
            self._finder.trunkline.push_screen(MarksScreen(self._finder.desk), self._went)

    def action_why_not(self) -> None:
        """Why it did not go elsewhere."""
        if self._open():
            from app.tui.screens.whynot import WhyNotScreen

            self._finder.trunkline.push_screen(WhyNotScreen(self._finder.desk), self._went)

    def _went(self, seq: int | None) -> None:
        screen = self._finder
        if seq is not None:
            screen.desk.seek(seq)
        screen.moved()

    # ------------------------------------------------------------ typed in the palette

    def go_to(self, text: str) -> None:
        """Seek a moment, or set the speed, as it was typed."""
        screen = self._finder
        if not self._open():
            return
        speed = read_speed(text)
        try:
            if speed is not None:
                screen.desk.run.transport.set_speed(speed)
            else:
                screen.desk.seek(read_moment(screen.desk.run.view, text))
        except UsageError as error:
            screen.notify(told(error), severity="warning", markup=False, timeout=5)
        screen.moved()
