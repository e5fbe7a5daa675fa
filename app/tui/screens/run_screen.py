"""What the screens of a run share: the bars, and everything that moves the one cursor."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Static

from trunkline.app.tui.screens.branch_actions import BranchActions
from trunkline.app.tui.screens.copy_export_actions import CopyExportActions
from trunkline.app.tui.screens.search_actions import SearchActions
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.bars import KeyBar, StatusBar, TabBar
from trunkline.app.tui.widgets.feed_status import FeedStatus
from trunkline.app.tui.widgets.row_list import LineWidget, RowList
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.text.cells import error_text
from trunkline.core.errors import UsageError

SMALLEST = (60, 16)


class TooSmall(Static):
    """Shown instead of everything else in a terminal that is too small."""

    def on_resize(self) -> None:
        """Say what is needed and what is there."""
        size = self.app.size  # pyright: ignore[reportUnknownMemberType]
        wide, high = SMALLEST
        self.update(f"needs {wide}x{high}, has {size.width}x{size.height}\n\nq quits")


class RunScreen(CopyExportActions, BranchActions, SearchActions):
    """A screen over the open run."""

    name_in_keys = ""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        #: what was told last, for as long as it can be read
        self._said: tuple[str, int] | None = None

    def compose(self) -> ComposeResult:
        """Bars around the body of the screen."""
        yield StatusBar(self.workspace)
        yield TabBar(self.workspace, self.name_in_keys)
        yield FeedStatus(self.workspace)
        with Container(id="body"):
            yield from self.compose_body()
        yield KeyBar(self.workspace, self.name_in_keys)
        yield TooSmall(id="too-small", markup=False)

    def compose_body(self) -> ComposeResult:
        """The panes of the screen."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Start with the main pane."""
        panes = self.panes()
        if panes:
            panes[0].focus()
        self.sync()

    def on_screen_resume(self) -> None:
        """The cursor may have moved on another screen."""
        self.sync()

    def sync(self) -> None:
        """Show what the workspace holds now."""
        raise NotImplementedError

    def refresh_bars(self) -> None:
        """Draw the bars anew, and say what could not be made for the panes."""
        for text in self.workspace.open_run.lazy.take_problems() if self.workspace.open_run is not None else ():
            self.notify(text, severity="warning", timeout=8, markup=False)
        for bar in self.query(LineWidget):
            if isinstance(bar, FeedStatus):
                bar.sync()
            elif not isinstance(bar, RowList):
                bar.refresh()

    def repaint(self) -> None:
        """The theme changed: draw everything anew."""
        self.refresh_bars()
        for pane in self.panes():
            pane.invalidate()

    def panes(self) -> list[RowList]:
        """The panes, the main one first."""
        return list(self.query(RowList))

    @property
    def pane(self) -> RowList:
        """The pane with the focus; the main one when nothing has it."""
        return self.focused if isinstance(self.focused, RowList) else self.panes()[0]

    def choose(self, thing: str | PlaceKey) -> None:
        """Select a thing that a card of another screen led to."""

    def tell(self, text: str) -> None:
        """Say why a key did nothing; once, however long the key is held."""
        said = (text, self.workspace.cursor)
        if said != self._said:
            self._said = said
            self.notify(text, timeout=3, markup=False)
            self.set_timer(3, self._forget_said)

    def _forget_said(self) -> None:
        self._said = None

    def moved(self) -> None:
        """The workspace changed: show it, and stop the clock when nothing plays any more."""
        if self.workspace.open_run is not None:
            self.trunkline.clock(running=self.workspace.ticking)
        self.sync()

    # ------------------------------------------------------------ time

    def action_play(self) -> None:
        """Play or pause."""
        if self.workspace.open_run is None:
            return
        playback = self.workspace.run.playback
        if self.workspace.live is not None and self.workspace.live.going_on:
            self.workspace.live.hold(self.workspace.run)
        elif playback.playing:
            playback.pause()
        else:
            playback.play()
        self.moved()

    def action_step(self) -> None:
        """One event forward."""
        self._step(1)

    def action_step_back(self) -> None:
        """One event back."""
        self._step(-1)

    def _step(self, events: int) -> None:
        if self.workspace.open_run:
            before = self.workspace.cursor
            self.workspace.step(events)
            if self.workspace.cursor == before:
                self._notify_at_end()
            self.moved()

    def _notify_at_end(self) -> None:
        """Why a step leads nowhere."""
        if self.workspace.cursor:
            self.tell("this is the last event: 0 goes back to the start")
        else:
            self.tell("this is before the first event: ] steps, Space plays")

    def action_delivery(self) -> None:
        """The next message on the wire."""
        self._find(lambda: self.workspace.step_delivery(1), "no later message")

    def action_delivery_back(self) -> None:
        """The previous message on the wire."""
        self._find(lambda: self.workspace.step_delivery(-1), "no earlier message")

    def action_rewind(self) -> None:
        """Back to the start."""
        if self.workspace.open_run and not self.workspace.cursor:
            self._notify_at_end()
        self._seek(0)

    def action_run_to_end(self) -> None:
        """To the last event."""
        if self.workspace.open_run:
            if self.workspace.cursor == self.workspace.run.view.last:
                self._notify_at_end()
            self._seek(self.workspace.run.view.last)

    def _seek(self, seq: int) -> None:
        if self.workspace.open_run:
            self.workspace.seek(seq)
            self.moved()

    def action_faster(self) -> None:
        """Twice as fast."""
        self._speed(1)

    def action_slower(self) -> None:
        """Half as fast."""
        self._speed(-1)

    def _speed(self, steps: int) -> None:
        if self.workspace.open_run:
            playback = self.workspace.run.playback
            before = playback.speed
            playback.faster(steps)
            if playback.speed == before:
                self.tell(f"×{before:g} is the {'fastest' if steps > 0 else 'slowest'} there is")
            self.moved()

    # ------------------------------------------------------------ find

    def action_next_violation(self) -> None:
        """The next violation, round and round; while rows are filtered, the next of these."""
        if self._matching(1):
            return
        self._find(lambda: self.workspace.next_violation(1), "no invariant is broken in this run")

    def action_previous_violation(self) -> None:
        """The previous violation, round and round; while rows are filtered, the previous of these."""
        if self._matching(-1):
            return
        self._find(lambda: self.workspace.next_violation(-1), "no invariant is broken in this run")

    def _matching(self, direction: int) -> bool:
        """Go to a row that the filter keeps, where there is a filter."""
        if self.workspace.open_run is None or not self.filtered or self.workspace.search.filter is None:
            return False
        self._find(lambda: self.workspace.next_match(direction), "no row passes the filter: esc clears it")
        return True

    def action_first_violation(self) -> None:
        """The first violation."""
        self._find(self.workspace.first_violation, "no invariant is broken in this run")

    def action_twin(self) -> None:
        """The other copy of a duplicate."""
        self._find(self.workspace.twin, "this event has no copy: n finds a violation")

    def _find(self, go: Callable[[], bool], otherwise: str) -> None:
        if self.workspace.open_run is None:
            return
        if not go():
            self.tell(otherwise)
        self.moved()

    # ------------------------------------------------------------ panes

    def action_next_pane(self) -> None:
        """Focus the next pane."""
        self.focus_next(RowList)

    def action_previous_pane(self) -> None:
        """Focus the previous pane."""
        self.focus_previous(RowList)

    def action_zoom(self) -> None:
        """Give the whole body to the pane with the focus, or share it again."""
        self.zoom(self.pane)

    def zoom(self, pane: RowList) -> None:
        """Give the whole body to one pane, or share it again when that pane has it."""
        zoomed = not pane.has_class("-zoomed")
        self._unzoom()
        if zoomed:
            pane.add_class("-zoomed")
            self.query_one("#body").add_class("-zoom")
        self.call_after_refresh(self.moved)

    def _unzoom(self) -> bool:
        body = self.query_one("#body")
        was = body.has_class("-zoom")
        body.remove_class("-zoom")
        for pane in self.panes():
            pane.remove_class("-zoomed")
        return was

    def action_back(self) -> None:
        """Leave the innermost thing: zoom, chain, filter, side pane."""
        if self._unzoom():
            self.call_after_refresh(self.moved)
        elif self.workspace.chain_of is not None:
            self.workspace.chain_of = None
        elif self.filtered and self.workspace.search.filter is not None:
            self.workspace.search.filter = None
        elif self.pane is self.panes()[0]:
            self.tell("nothing to leave here: q quits")
        else:
            self.panes()[0].focus()
        self.moved()

    # ------------------------------------------------------------ app

    def action_show(self, screen: str) -> None:
        """Go to a screen by its name."""
        self.trunkline.show(screen)

    def action_previous_screen(self) -> None:
        """The screen before this one."""
        self.trunkline.show_previous()

    def action_scenarios(self) -> None:
        """Choose a scenario."""
        self.trunkline.choose()

    def action_bug(self) -> None:
        """Run with the defect of the scenario, or without it."""
        self._again(lambda: self.workspace.rerun(bugs=self.workspace.other_bugs()))

    def action_rerun(self) -> None:
        """Run again with the same seed."""
        self._again(self.workspace.rerun)

    def action_reseed(self) -> None:
        """Run again with the next seed."""
        self._again(lambda: self.workspace.rerun(seed=self.workspace.seed + 1))

    def _again(self, run: Callable[[], None]) -> None:
        """Compute the run anew and stand at its first violation, or at its end."""
        try:
            run()
        except UsageError as error:
            self.notify(error_text(error), severity="warning", markup=False)
            return
        self.workspace.arrive()
        self.moved()

    def action_theme(self) -> None:
        """The next theme."""
        self.trunkline.next_theme()

    def action_help(self) -> None:
        """Every key of this screen."""
        self.trunkline.help(self.name_in_keys)

    def action_notes(self) -> None:
        """What was told above the footer."""
        self.trunkline.show_notifications()

    def action_palette(self) -> None:
        """The command palette."""
        self.trunkline.action_command_palette()

    def action_suspend_process(self) -> None:
        """Back to the shell for a while."""
        self.trunkline.action_suspend_process()

    async def action_quit(self) -> None:
        """Leave the app."""
        self.trunkline.exit(0)
