"""The base of the screens of a run: the bars, and the actions that move the one cursor."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Container

from trunkline.app.text.cells import error_text
from trunkline.app.tui.screens.branch_actions import BranchActions
from trunkline.app.tui.screens.copy_export_actions import CopyExportActions
from trunkline.app.tui.screens.dialogs.notifications import NotificationsDialog
from trunkline.app.tui.screens.hand_actions import HandActions
from trunkline.app.tui.screens.search_actions import SearchActions
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.bars import KeyBar, StatusBar, TabBar
from trunkline.app.tui.widgets.cards import CardTarget
from trunkline.app.tui.widgets.feed_status import FeedStatus
from trunkline.app.tui.widgets.row_list import LineWidget, RowList
from trunkline.app.tui.widgets.too_small import TooSmall
from trunkline.app.view.index.places import PlaceKey
from trunkline.core.errors import UsageError


class RunScreen(CopyExportActions, BranchActions, SearchActions, HandActions):
    """A screen over the open run."""

    #: the pane that `e` zooms
    explains: RowList

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        #: text and cursor of the last `notify_once`, while its toast is shown
        self._notified: tuple[str, int] | None = None

    def compose(self) -> ComposeResult:
        yield StatusBar(self.workspace)
        yield TabBar(self.workspace, self.name_in_keys)
        yield FeedStatus(self.workspace)
        with Container(id="body"):
            yield from self.compose_body()
        yield KeyBar(self.workspace, self.name_in_keys)
        yield TooSmall()

    def compose_body(self) -> ComposeResult:
        """The panes of the screen."""
        raise NotImplementedError

    def on_mount(self) -> None:
        panes = self.panes()
        if panes:
            panes[0].focus()
        self.sync()

    def on_screen_resume(self) -> None:
        self.sync()

    def sync(self) -> None:
        """Show the current state of the workspace."""
        raise NotImplementedError

    def refresh_bars(self) -> None:
        """Draw the bars again, and notify of views that could not be made."""
        for text in self.workspace.open_run.lazy.take_problems() if self.workspace.open_run is not None else ():
            self.notify(text, severity="warning", timeout=8, markup=False)
        for bar in self.query(LineWidget):
            if isinstance(bar, FeedStatus):
                bar.sync()
            elif not isinstance(bar, RowList):
                bar.refresh()

    def repaint(self) -> None:
        """Draw everything again after a change of the theme."""
        self.refresh_bars()
        for pane in self.panes():
            pane.invalidate()

    def panes(self) -> list[RowList]:
        """The panes, the main one first."""
        return list(self.query(RowList))

    @property
    def pane(self) -> RowList:
        return self.focused if isinstance(self.focused, RowList) else self.panes()[0]

    def list_size(self) -> tuple[int, int]:
        return self.pane.count, self.pane.page

    def choose(self, thing: str | PlaceKey) -> None:
        """Select the thing that a card of another screen led to."""

    def go_to_card_target(self, target: CardTarget) -> None:
        """Show the screen that a card leads to, with its cursor and selection."""
        if target.seq:
            self.workspace.seek(target.seq)
        self.host.show(target.screen)
        if target.thing:
            self.host.call_after_refresh(self.host.select_on_screen, target.thing)

    def notify_once(self, text: str) -> None:
        """Say why a key did nothing; once, however long the key is held."""
        notified = (text, self.workspace.cursor)
        if notified != self._notified:
            self._notified = notified
            self.notify(text, timeout=3, markup=False)
            self.set_timer(3, self._clear_notified)

    def _clear_notified(self) -> None:
        self._notified = None

    def moved(self) -> None:
        """Show a change of the workspace, and stop the clock when nothing plays any more."""
        if self.workspace.open_run is not None:
            self.host.clock(running=self.workspace.ticking)
        self.sync()

    # ------------------------------------------------------------ time

    def action_play(self) -> None:
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
        self._step(1)

    def action_step_back(self) -> None:
        self._step(-1)

    def _step(self, events: int) -> None:
        if self.workspace.open_run:
            before = self.workspace.cursor
            self.workspace.step(events)
            if self.workspace.cursor == before:
                self._notify_at_end()
            self.moved()

    def _notify_at_end(self) -> None:
        """Say why the cursor cannot move further."""
        if self.workspace.cursor:
            self.notify_once("this is the last event: 0 goes back to the start")
        else:
            self.notify_once("this is before the first event: ] steps, Space plays")

    def action_delivery(self) -> None:
        self._move_to(lambda: self.workspace.step_delivery(1), "no later message")

    def action_delivery_back(self) -> None:
        self._move_to(lambda: self.workspace.step_delivery(-1), "no earlier message")

    def action_rewind(self) -> None:
        if self.workspace.open_run and not self.workspace.cursor:
            self._notify_at_end()
        self._seek(0)

    def action_run_to_end(self) -> None:
        if self.workspace.open_run:
            if self.workspace.cursor == self.workspace.run.view.last:
                self._notify_at_end()
            self._seek(self.workspace.run.view.last)

    def _seek(self, seq: int) -> None:
        if self.workspace.open_run:
            self.workspace.seek(seq)
            self.moved()

    def action_faster(self) -> None:
        self._speed(1)

    def action_slower(self) -> None:
        self._speed(-1)

    def _speed(self, steps: int) -> None:
        if self.workspace.open_run:
            playback = self.workspace.run.playback
            before = playback.speed
            playback.faster(steps)
            if playback.speed == before:
                self.notify_once(f"×{before:g} is the {'fastest' if steps > 0 else 'slowest'} there is")
            self.moved()

    # ------------------------------------------------------------ find

    def action_next_violation(self) -> None:
        """The next violation, wrapping around; while rows are filtered, the next of these."""
        if self._next_match(1):
            return
        self._move_to(lambda: self.workspace.next_violation(1), "no invariant is broken in this run")

    def action_previous_violation(self) -> None:
        if self._next_match(-1):
            return
        self._move_to(lambda: self.workspace.next_violation(-1), "no invariant is broken in this run")

    def _next_match(self, direction: int) -> bool:
        """Go to the next row that the filter keeps, if there is a filter."""
        if self.workspace.open_run is None or not self.filtered or self.workspace.search.filter is None:
            return False
        self._move_to(lambda: self.workspace.next_match(direction), "no row passes the filter: esc clears it")
        return True

    def action_first_violation(self) -> None:
        self._move_to(self.workspace.first_violation, "no invariant is broken in this run")

    def action_twin(self) -> None:
        self._move_to(self.workspace.twin, "this event has no copy: n finds a violation")

    def _move_to(self, go: Callable[[], bool], failure: str) -> None:
        if self.workspace.open_run is None:
            return
        if not go():
            self.notify_once(failure)
        self.moved()

    # ------------------------------------------------------------ panes

    def action_next_pane(self) -> None:
        self.focus_next(RowList)

    def action_previous_pane(self) -> None:
        self.focus_previous(RowList)

    def action_zoom(self) -> None:
        self.zoom(self.pane)

    def zoom(self, pane: RowList) -> None:
        """Give the whole body to one pane, or share it again when that pane has it."""
        zoomed = not pane.has_class("-zoomed")
        self._unzoom()
        if zoomed:
            pane.add_class("-zoomed")
            self.query_one("#body").add_class("-zoom")
            for column in self.query(".column"):
                # Only the columns that contain the zoomed pane are shown.
                column.set_class(column in pane.ancestors, "-zoomed")
        self.call_after_refresh(self.moved)

    def action_why(self) -> None:
        self.zoom(self.explains)
        self.explains.focus()

    def _unzoom(self) -> bool:
        body = self.query_one("#body")
        was = body.has_class("-zoom")
        body.remove_class("-zoom")
        for pane in (*self.panes(), *self.query(".column")):
            pane.remove_class("-zoomed")
        return was

    def action_back(self) -> None:
        """Leave the innermost state: zoom, chain, filter, side pane."""
        if self._unzoom():
            self.call_after_refresh(self.moved)
        elif self.workspace.chain_of is not None:
            self.workspace.chain_of = None
        elif self.filtered and self.workspace.search.filter is not None:
            self.workspace.search.filter = None
        elif self.pane is self.panes()[0]:
            self.notify_once("nothing to leave here: q quits")
        else:
            self.panes()[0].focus()
        self.moved()

    # ------------------------------------------------------------ app

    def action_show(self, screen: str) -> None:
        self.host.show(screen)

    def action_previous_screen(self) -> None:
        self.host.show_previous()

    def action_scenarios(self) -> None:
        self.host.open_picker()

    def action_bug(self) -> None:
        self._rerun(lambda: self.workspace.rerun(bugs=self.workspace.other_bugs()))

    def action_rerun(self) -> None:
        self._rerun(self.workspace.rerun)

    def action_reseed(self) -> None:
        self._rerun(lambda: self.workspace.rerun(seed=self.workspace.seed + 1))

    def _rerun(self, run: Callable[[], None]) -> None:
        """Compute the run again and stop at its first violation, or at its end."""
        try:
            run()
        except UsageError as error:
            self.notify(error_text(error), severity="warning", markup=False)
            return
        self.workspace.arrive()
        self.moved()

    def action_notes(self) -> None:
        self.host.push_screen(NotificationsDialog(self.host.notes))
