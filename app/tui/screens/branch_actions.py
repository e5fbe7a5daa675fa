"""What every screen of a run can do to the run itself: place faults, take them back, pin it, keep it."""

from __future__ import annotations

from typing import Any

from trunkline.app.tui.platform.file_export import working_folder
from trunkline.app.tui.screens.screen_base import Acting
from trunkline.app.tui.state.branching import offered, save, undo
from trunkline.app.view.text.cells import error_text
from trunkline.core.errors import UsageError


class BranchActs(Acting):
    """For screens of a run: the actions of `i`, `u`, `W` and `p`."""

    def action_fault(self) -> None:
        """Choose what goes wrong at the cursor."""
        try:
            choice = offered(self.desk)
        except UsageError as error:
            self._warn(error)
            return
        self.desk.run.transport.pause()
        self.moved()
        self.trunkline.place(choice, self._placed)

    def _placed(self, word: str | None) -> None:
        if word:
            diff = self.desk.branch.diff(self.desk.opened)
            then = "9 compares it with A, u takes it back, W keeps it"
            if diff is not None and diff.same:
                then = "nothing came of it, this is the same run as A. u takes it back"
            self.notify(f"branch B: {word}. {then}", timeout=6, markup=False)
        self.moved()

    def action_undo_fault(self) -> None:
        """Take the last fault back."""
        try:
            fault = undo(self.desk)
        except UsageError as error:
            self._warn(error)
            return
        left = len(self.desk.branch.faults)
        rest = f"{left} left" if left else "none is left"
        self.notify(f"taken back: {fault.word}; {rest}", timeout=4, markup=False)
        self.moved()

    def action_save_scenario(self) -> None:
        """Write the run as a scenario file into the current folder."""
        try:
            path, said = save(self.desk, working_folder())
        except UsageError as error:
            self._warn(error)
            return
        self.notify(f"trunkline run {path.name}\n{said}", title="written", timeout=8, markup=False)

    def action_pin(self) -> None:
        """Pin the open run as A, or let it go."""
        if self.desk.opened is None:
            return
        pinned = self.desk.branch.pin(self.desk.opened)
        then = "rerun it or place a fault" if self.desk.entry else "choose a scenario with s"
        text = f"this run is A now: {then}, then 9 compares" if pinned else "run A is let go"
        self.notify(text, timeout=4, markup=False)
        self.moved()

    def _warn(self, error: UsageError) -> None:
        options: dict[str, Any] = {"severity": "warning", "markup": False}
        self.notify(error_text(error), **options)
