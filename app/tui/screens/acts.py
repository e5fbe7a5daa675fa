"""What every screen of a run can do to the run itself: place faults, take them back, pin it, keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from app.tui.branch import offered, save, undo
from app.tui.export import working_folder
from app.view.text import told
from core.errors import UsageError

if TYPE_CHECKING:
    from app.tui.screens.base import RunScreen


class BranchActs:
    """For screens of a run: the actions of `i`, `u`, `W` and `p`."""

    @property
    def _screen(self) -> RunScreen:
        return cast("RunScreen", self)

    def action_fault(self) -> None:
        """Choose what goes wrong at the cursor."""
        screen = self._screen
        try:
            choice = offered(screen.desk)
        except UsageError as error:
            self._warn(error)
            return
        screen.desk.run.transport.pause()
        screen.moved()
        screen.trunkline.place(choice, self._placed)

    def _placed(self, word: str | None) -> None:
        if word:
            diff = self._screen.desk.branch.diff(self._screen.desk.opened)
            then = "9 compares it with A, u takes it back, W keeps it"
            if diff is not None and diff.same:
                then = "nothing came of it, this is the same run as A. u takes it back"
            self._screen.notify(f"branch B: {word}. {then}", timeout=6, markup=False)
        self._screen.moved()

    def action_undo_fault(self) -> None:
        """Take the last fault back."""
        screen = self._screen
        try:
            fault = undo(screen.desk)
        except UsageError as error:
            self._warn(error)
            return
        left = len(screen.desk.branch.faults)
        rest = f"{left} left" if left else "none is left"
        screen.notify(f"taken back: {fault.word}; {rest}", timeout=4, markup=False)
        screen.moved()

    def action_save_scenario(self) -> None:
        """Write the run as a scenario file into the current folder."""
        screen = self._screen
        try:
            path, said = save(screen.desk, working_folder())
        except UsageError as error:
            self._warn(error)
            return
        screen.notify(f"trunkline run {path.name}\n{said}", title="written", timeout=8, markup=False)

    def action_pin(self) -> None:
        """Pin the open run as A, or let it go."""
        screen = self._screen
        if screen.desk.opened is None:
            return
        pinned = screen.desk.branch.pin(screen.desk.opened)
        then = "rerun it or place a fault" if screen.desk.entry else "choose a scenario with s"
        text = f"this run is A now: {then}, then 9 compares" if pinned else "run A is let go"
        screen.notify(text, timeout=4, markup=False)
        screen.moved()

    def _warn(self, error: UsageError) -> None:
        options: dict[str, Any] = {"severity": "warning", "markup": False}
        self._screen.notify(told(error), **options)
