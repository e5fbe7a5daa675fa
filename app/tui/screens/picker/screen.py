"""The scenario picker: choose a story, read what it is about, run it with or without its defect."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Input

from trunkline.app.runs.model import ScenarioEntry
from trunkline.app.text.cells import error_text
from trunkline.app.tui.screens.app_actions import AppActions
from trunkline.app.tui.screens.dialog_base import Dialog
from trunkline.app.tui.screens.picker.scenario_list import ScenarioList, ScenarioStory
from trunkline.app.tui.state.batch_runs import BatchRun, RunFinished
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.bars import Banner, KeyBar
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.tui.widgets.too_small import TooSmall
from trunkline.app.view.picker.scenario_results import ScenarioResult
from trunkline.core.errors import UsageError


class PickerScreen(AppActions, Dialog[bool], screen="picker"):
    """A list of scenarios beside the story of the selected one. Returns whether a run was opened."""

    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "#scenarios"

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        self.list = ScenarioList(workspace, id="scenarios")
        self.story = ScenarioStory(workspace, id="story")
        self.search = Input(placeholder="name, title, tag, or what its defect breaks: D2", id="search", compact=True)
        self.search.cursor_blink = False
        #: scenarios whose defect was switched off here
        self._without: set[str] = set()
        self.all = BatchRun(self, workspace)
        self._headed = self.list.heading

    def compose(self) -> ComposeResult:
        yield Banner()
        with Container(id="body"):
            with Container(id="choice"):
                yield self.search
                yield self.list
            yield self.story
        yield KeyBar(self.workspace, "picker")
        yield TooSmall()

    def on_mount(self) -> None:
        self.search.display = False
        if self.workspace.entry is not None:
            self.list.choose(self.workspace.entry.id)
            if self.workspace.entry.bugs and not self.workspace.bugs:
                self._without.add(self.workspace.entry.id)
        self.changed()

    def changed(self) -> None:
        entry = self.list.chosen
        self.story.show(entry, bugs=self._bugs(entry), seed=self.workspace.seed_for(entry) if entry else 0)

    def _bugs(self, entry: ScenarioEntry | None) -> tuple[str, ...]:
        return entry.bugs if entry and entry.id not in self._without else ()

    def on_row_list_clicked(self, message: RowList.Clicked) -> None:
        if message.rows is not self.list:
            return
        self.list.select(message.index)
        self.changed()
        if message.again:
            self.action_enter()

    def on_input_changed(self, message: Input.Changed) -> None:
        self.list.filter(message.value)
        self.changed()

    def on_input_submitted(self) -> None:
        self.list.focus()
        if self.list.count == 1:
            self.action_enter()

    def action_filter(self) -> None:
        self.search.display = True
        self.search.focus()

    def action_next_pane(self) -> None:
        self.focus_next()

    def action_previous_pane(self) -> None:
        self.focus_previous()

    def action_run_all(self) -> None:
        """Run every listed scenario without showing it, for its result; again: stop."""
        if not self.all.stop():
            self.all.start(self.list.shown)
        self.show_results()

    def on_run_finished(self, message: RunFinished) -> None:
        self.all.take(message)
        self.show_results()

    def on_unmount(self) -> None:
        self.all.stop()

    def show_results(self) -> None:
        self.list.running = self.all.progress
        self.list.head()
        self.list.invalidate()
        if self.list.heading != self._headed:
            # The titles take a line from the rows. Otherwise keep the scroll position.
            self._headed = self.list.heading
            self.list.reveal()
        self.story.invalidate()

    def move(self, rows: int) -> None:
        if self.focused is self.story:
            self.story.select(max(self.story.selected + rows, 0))
        else:
            super().move(rows)

    def action_bug(self) -> None:
        entry = self.list.chosen
        if entry is None or not entry.bugs:
            self.notify("this scenario declares no defect", timeout=3)
            return
        self._without ^= {entry.id}
        self.changed()

    def action_enter(self) -> None:
        """Run the selected scenario. Stays open and shows the reason if it cannot be run."""
        entry = self.list.chosen
        if entry is None:
            return
        self.all.stop()
        try:
            self.workspace.open(entry, seed=self.workspace.seed_for(entry), bugs=self._bugs(entry))
        except UsageError as error:
            self.workspace.results.note(
                entry,
                ScenarioResult(seed=self.workspace.seed_for(entry), failed=error_text(error)),
                defect=bool(entry.bugs),
            )
            self.show_results()
            self.story.fail(error_text(error))
            return
        self.dismiss(True)

    def action_back(self) -> None:
        """Stop the batch, else clear the filter, else close the picker if a run is open."""
        if self.all.stop():
            self.show_results()
        elif self.search.display and (self.search.has_focus or self.search.value):
            self.search.value = ""
            self.search.display = False
            self.list.focus()
        elif self.workspace.open_run is not None:
            self.dismiss(False)
        else:
            self.notify("choose a scenario, or press q to quit", timeout=3)
