"""Actions on the run itself: place a fault, undo it, pin the run, write it as a scenario."""

from __future__ import annotations

from trunkline.app.text.cells import error_text
from trunkline.app.tui.platform.file_export import current_folder
from trunkline.app.tui.screens.dialogs.fault_palette import FaultPalette
from trunkline.app.tui.screens.screen_base import ActionScreen
from trunkline.app.tui.state.branching import offered, save, undo
from trunkline.core.errors import UsageError


class BranchActions(ActionScreen):
    """The actions of `i`, `u`, `W` and `p`."""

    def action_fault(self) -> None:
        try:
            options = offered(self.workspace)
        except UsageError as error:
            self._warn(error)
            return
        self.workspace.run.playback.pause()
        self.moved()
        self.host.push_screen(FaultPalette(self.workspace, options), self._placed)

    def _placed(self, word: str | None) -> None:
        if word:
            diff = self.workspace.branch.diff(self.workspace.open_run)
            then = "9 compares it with A, u takes it back, W keeps it"
            if diff is not None and diff.same:
                then = "nothing came of it, this is the same run as A. u takes it back"
            self.notify(f"branch B: {word}. {then}", timeout=6, markup=False)
        self.moved()

    def action_undo_fault(self) -> None:
        try:
            fault = undo(self.workspace)
        except UsageError as error:
            self._warn(error)
            return
        left = len(self.workspace.branch.faults)
        rest = f"{left} left" if left else "none is left"
        self.notify(f"taken back: {fault.word}; {rest}", timeout=4, markup=False)
        self.moved()

    def action_save_scenario(self) -> None:
        try:
            path, result = save(self.workspace, current_folder())
        except UsageError as error:
            self._warn(error)
            return
        self.notify(f"trunkline run {path.name}\n{result}", title="written", timeout=8, markup=False)

    def action_pin(self) -> None:
        if self.workspace.open_run is None:
            return
        pinned = self.workspace.branch.pin(self.workspace.open_run)
        then = "rerun it or place a fault" if self.workspace.entry else "choose a scenario with s"
        text = f"this run is A now: {then}, then 9 compares" if pinned else "run A is released"
        self.notify(text, timeout=4, markup=False)
        self.moved()

    def _warn(self, error: UsageError) -> None:
        self.notify(error_text(error), severity="warning", markup=False)
