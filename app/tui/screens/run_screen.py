"""The base of the screens of a run: the bars, and the actions that move the one cursor."""

from collections.abc import Callable, Mapping
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen

from trunkline.app.runs.model import ScenarioEntry
from trunkline.app.text.cells import error_text
from trunkline.app.tui.host import HostApp
from trunkline.app.tui.platform import file_export as export
from trunkline.app.tui.screens.dialogs import search_dialogs
from trunkline.app.tui.screens.dialogs.fault_palette import FaultPalette
from trunkline.app.tui.screens.screen_base import AppActions, ListKeys, TooSmall
from trunkline.app.tui.state.branching import offered, save, shrink, undo
from trunkline.app.tui.state.open_run import OpenRun
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.bars import FeedStatus, KeyBar, StatusBar, TabBar
from trunkline.app.tui.widgets.cards import CardTarget
from trunkline.app.tui.widgets.row_list import LineWidget, RowList
from trunkline.app.view.explain.explanation import Choice, copy_choices
from trunkline.app.view.hands.facts import why_unseen
from trunkline.app.view.hands.runs import DelegationHistory
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.timeline.filters import read_moment, read_speed
from trunkline.core.errors import UsageError
from trunkline.core.events.trace import encode_trace

#: screens that list messages; from any other one leads back to Messages
_LISTS = ("messages", "queue", "sessions", "timeline")
#: of these, those that show an event by the cursor alone
_BY_CURSOR = ("sessions", "timeline")


class RunScreen(ListKeys, AppActions, Screen[None]):
    """A screen over the open run: its bars, its panes, and every key of a run."""

    #: whether the filter applies to the rows of this screen
    filtered = False
    #: the pane that `e` zooms
    explains: RowList

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        #: text and cursor of the last `notify_once`, while its toast is shown
        self._notified: tuple[str, int] | None = None

    def run_is_open(self) -> bool:
        """Whether a run is open; notifies if none is."""
        if self.workspace.open_run is None:
            self.notify("no run is open: s chooses a scenario")
        return self.workspace.open_run is not None

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
            self.notify(text, severity="warning")
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

    def select_row(self, pane: RowList, index: int) -> None:
        """Select a row of a pane, for a key or a click."""
        pane.select(index)

    def on_row_list_clicked(self, message: RowList.Clicked) -> None:
        self.select_row(message.rows, message.index)
        if message.again:
            self.action_enter()

    def action_move(self, rows: int) -> None:
        if self.workspace.open_run is not None:
            pane = self.pane
            self.select_row(pane, max(0, min(pane.selected + rows, pane.count - 1)))

    def action_enter(self) -> None:
        raise NotImplementedError

    def choose(self, thing: str | PlaceKey) -> None:
        """Select the thing that a card of another screen led to."""

    def go_to_card_target(self, target: CardTarget) -> None:
        """Show the screen that a card leads to, with its cursor and selection."""
        if target.seq:
            self.workspace.seek(target.seq)
        self.host.action_show(target.screen, target.thing)

    def notify_once(self, text: str) -> None:
        """Say why a key did nothing; once, however long the key is held."""
        notified = (text, self.workspace.cursor)
        if notified != self._notified:
            self._notified = notified
            self.notify(text)
            self.set_timer(3, self._clear_notified)

    def _clear_notified(self) -> None:
        self._notified = None

    def moved(self) -> None:
        """Show a change of the workspace, and stop the clock when nothing plays any more."""
        if self.workspace.open_run is not None:
            self.host.clock(running=self.workspace.ticking)
        self.sync()

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

    def action_step(self, events: int) -> None:
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

    def action_delivery(self, direction: int) -> None:
        none = f"no {'later' if direction > 0 else 'earlier'} message"
        self._move_to(lambda: self.workspace.step_delivery(direction), none)

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

    def action_speed(self, steps: int) -> None:
        if self.workspace.open_run:
            playback = self.workspace.run.playback
            before = playback.speed
            playback.faster(steps)
            if playback.speed == before:
                self.notify_once(f"×{before:g} is the {'fastest' if steps > 0 else 'slowest'} there is")
            self.moved()

    def action_violation(self, direction: int) -> None:
        """The next violation, wrapping around; while rows are filtered, the next of these."""
        if self.filtered and self.workspace.search.filter is not None:
            self._move_to(lambda: self.workspace.next_match(direction), "no row passes the filter: esc clears it")
        else:
            self._move_to(lambda: self.workspace.next_violation(direction), "no invariant is broken in this run")

    def action_first_violation(self) -> None:
        self._move_to(self.workspace.first_violation, "no invariant is broken in this run")

    def action_culprit(self) -> None:
        failure = "no culprit is known: it takes a run with a defect that breaks something"
        self._move_to(self.workspace.next_on_trail, failure)

    def action_twin(self) -> None:
        self._move_to(self.workspace.twin, "this event has no copy: n finds a violation")

    def _move_to(self, go: Callable[[], bool], failure: str) -> None:
        if self.workspace.open_run is None:
            return
        if not go():
            self.notify_once(failure)
        self.moved()

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

    def action_bug(self) -> None:
        self._rerun(lambda: self.workspace.rerun(bugs=self.workspace.other_bugs()))

    def action_rerun(self) -> None:
        self._rerun(self.workspace.rerun)

    def action_reseed(self) -> None:
        self._rerun(lambda: self.workspace.rerun(seed=self.workspace.seed + 1))

    def _rerun(self, run: Callable[[], None]) -> None:
        """Compute the run again and stop at its first violation, or at its end."""
        with self.host.warn_on_error():
            run()
            self.workspace.arrive()
            self.moved()

    def action_notes(self) -> None:
        self.host.push_screen(search_dialogs.NotificationsDialog(self.workspace))

    # `y` copies a text; `x` writes files into the current folder.

    def action_yank(self) -> None:
        if self.run_is_open():
            found = copy_choices(self.workspace.run.view, self.workspace.cursor, self.pane.row_text())
            self.host.push_screen(search_dialogs.MenuDialog("Copy", found), lambda chosen: _copy(self.host, chosen))

    def action_export(self) -> None:
        if not self.run_is_open():
            return
        # Taken before the menu opens, which would be in the picture.
        app, run = self.host, self.workspace.run.view.run
        stem, folder = export.stem_of(run, self.workspace.cursor), export.current_folder()
        contents = {".svg": export.picture(app).encode(), ".txt": export.visible_text(app).encode(), ".jsonl": b""}
        texts = {".svg": "a picture of this screen", ".txt": "this screen as text", ".jsonl": "the trace of the run"}
        letters = {".svg": "s", ".txt": "t", ".jsonl": "j"}
        choices = [Choice(key=letters[end], title=f"{end[1:]} file", text=text) for end, text in texts.items()]
        choices.append(Choice(key="a", title="all of them", text=f"into {folder}"))

        def write(chosen: Choice | None) -> None:
            wanted = {} if chosen is None else {e: c for e, c in contents.items() if chosen.key in (letters[e], "a")}
            if ".jsonl" in wanted:
                wanted[".jsonl"] = encode_trace(run.trace)
            _write(app, folder, stem, wanted)

        app.push_screen(search_dialogs.MenuDialog("Write into the current folder", choices), write)

    # Actions that find something: timers, the end, rows by a filter, breakpoints, lanes, marks, and alternatives.

    def action_next_timer(self) -> None:
        if self.run_is_open():
            if not self.workspace.next_timer():
                self.notify("no later event is triggered by a timer")
            self.moved()

    def action_follow(self) -> None:
        if self.run_is_open():
            self.workspace.follow()
            self.moved()

    def action_filter_rows(self) -> None:
        if self.run_is_open():
            self.host.push_screen(search_dialogs.FilterDialog(self.workspace), self._filtered)

    def _filtered(self, text: str | None) -> None:
        if text is not None:
            self.workspace.search.set_filter(text)
        if self.workspace.search.filter is not None and not self.filtered:
            # The filter has no effect on this screen.
            self.host.action_show("timeline")
        self.moved()

    def action_breakpoints(self) -> None:
        if self.run_is_open():
            self.workspace.run.playback.pause()
            self.host.push_screen(search_dialogs.BreakpointsDialog(self.workspace), lambda _: self.moved())

    def action_lanes(self) -> None:
        if self.run_is_open():
            self.host.push_screen(search_dialogs.LanesDialog(self.workspace), lambda _: self.moved())

    def action_marks(self) -> None:
        if self.run_is_open():
            self.workspace.run.playback.pause()
            self.host.push_screen(search_dialogs.BookmarksDialog(self.workspace), self._seek_chosen)

    def action_why_not(self) -> None:
        unknown = self.workspace.inside_unknown()
        if unknown:
            self.notify(f"why it went nowhere else is {unknown}")
        elif self.run_is_open():
            self.host.push_screen(search_dialogs.AlternativesDialog(self.workspace), self._seek_chosen)

    def _seek_chosen(self, seq: int | None) -> None:
        if seq is not None:
            self.workspace.seek(seq)
        self.moved()

    def go_to(self, text: str) -> None:
        """Seek a moment or set the speed, as typed in the command palette."""
        if not self.run_is_open():
            return
        with self.host.warn_on_error():
            if (speed := read_speed(text)) is not None:
                self.workspace.run.playback.set_speed(speed)
            else:
                self.workspace.seek(read_moment(self.workspace.run.view, text))
        self.moved()

    # Between a message and the delegation that it belongs to.

    def action_hand(self) -> None:
        """Show the delegation of the selected row, or of the event under the cursor."""
        if not self.run_is_open():
            return
        workspace = self.workspace
        seq = self.pane.target() or workspace.subject
        found = workspace.run.hands.led_to(workspace.run.view.event(seq)) if seq else None
        if found is None:
            unknown = self.workspace.inside_unknown()
            none = "no delegation belongs to this: 7 lists all of them"
            self.notify_once(f"delegated work is {unknown}" if unknown else none)
            return
        workspace.pick(seq)
        self.host.action_show("hands", found)

    def show_message(self, delegation: str) -> None:
        """Show the last message of a delegation where messages were looked at before, or say why there is none."""
        workspace = self.workspace
        run = workspace.run.hands.history(delegation)
        if run is None:
            return
        seq = self._message_of(run)
        if not seq:
            row = workspace.run.hands.row(run, workspace.cursor)
            why = why_unseen(workspace.run.view, workspace.run.hands, row, workspace.cursor)
            self.notify_once(f"it has no message: {why[0]}" if why is not None else "it has no message")
            return
        screen = self.host.previous if self.host.previous in _LISTS else "messages"
        if screen in _BY_CURSOR:
            workspace.seek(seq)
        else:
            workspace.pick(seq)
        self.host.action_show(screen)

    def _message_of(self, run: DelegationHistory) -> int:
        """The message of a delegation that people saw last up to the cursor, else its last in the queue; 0 for none."""
        cursor = self.workspace.cursor
        seen = [message.seq for message in run.said if message.seq <= cursor]
        histories = (self.workspace.run.histories.of(intent) for intent in run.intents)
        queued = [history.seq for history in histories if history is not None and history.seq <= cursor]
        return max(seen or queued, default=0)

    # Faults on the open run, and what is written of it.

    def action_fault(self) -> None:
        with self.host.warn_on_error():
            options = offered(self.workspace)
            self.workspace.run.playback.pause()
            self.moved()
            self.host.push_screen(FaultPalette(self.workspace, options), self._placed)

    def _placed(self, word: str | None) -> None:
        if word:
            diff = self.workspace.branch.diff(self.workspace.open_run)
            then = "9 compares it with A, u takes it back, W keeps it"
            if diff is not None and diff.same:
                then = "nothing came of it, this is the same run as A. u takes it back"
            self.notify(f"branch B: {word}. {then}")
        self.moved()

    def action_undo_fault(self) -> None:
        with self.host.warn_on_error():
            fault = undo(self.workspace)
            self.notify(f"taken back: {fault.word}; {len(self.workspace.branch.faults) or 'none is'} left")
            self.moved()

    def action_save_scenario(self) -> None:
        with self.host.warn_on_error():
            path, result = save(self.workspace, export.current_folder())
            self.notify(f"trunkline run {path.name}\n{result}", title="written")

    def action_shrink(self) -> None:
        """Search in a thread: the screen stays alive, and what was opened meanwhile stays open."""
        self.notify("making the scenario smaller")
        self.run_worker(self._shrink, thread=True, group="shrink", exclusive=True)

    def _shrink(self) -> None:
        opened = self.workspace.open_run
        try:
            entry, result = shrink(self.workspace, export.current_folder())
        except UsageError as error:
            self.host.call_from_thread(self.notify, error_text(error), severity="warning")
            return
        self.host.call_from_thread(self._open_small, entry, result, opened)

    def _open_small(self, entry: ScenarioEntry, result: str, opened: OpenRun | None) -> None:
        workspace = self.workspace
        if workspace.open_run is opened:
            workspace.open(entry, seed=entry.seed or 1, bugs=workspace.bugs, at_violation=True)
            self.moved()
        self.notify(result, title="written")

    def action_pin(self) -> None:
        if self.workspace.open_run is None:
            return
        pinned = self.workspace.branch.pin(self.workspace.open_run)
        then = "rerun it or place a fault" if self.workspace.entry else "choose a scenario with s"
        text = f"this run is A now: {then}, then 9 compares" if pinned else "run A is released"
        self.notify(text)
        self.moved()


def _copy(app: HostApp, chosen: Choice | None) -> None:
    if chosen is None:
        return
    try:
        where = export.copy(app, chosen.text)
    except OSError as error:
        text = f"on the clipboard, if the terminal allows it; it could not be written besides: {export.failure(error)}"
        app.notify(text, title=f"{chosen.title} copied", severity="warning")
        return
    app.notify(where, title=f"{chosen.title} copied")


def _write(app: HostApp, folder: Path, stem: str, wanted: Mapping[str, bytes]) -> None:
    """Write each file; one toast names all that were written, and each failure has a toast of its own."""
    written: list[Path] = []
    for suffix, content in wanted.items():
        try:
            written.append(export.write_new(folder, stem, suffix, content))
        except OSError as error:
            text = export.failure(error, folder / f"{stem}{suffix}")
            app.notify(text, title="not written", severity="error")
    if written:
        app.notify("\n".join(str(path) for path in written), title="written")
