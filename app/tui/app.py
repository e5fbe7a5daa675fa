"""The app: one workspace, the screens over it, the clock that plays, and the themes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic

from textual.actions import ActionParseResult
from textual.binding import Binding
from textual.command import CommandPalette
from textual.dom import DOMNode
from textual.theme import BUILTIN_THEMES
from textual.timer import Timer

from trunkline.app.runs.live_run import LiveRun
from trunkline.app.runs.model import Run, RunSource, ScenarioEntry
from trunkline.app.tui.command_palette import KeyTableCommands
from trunkline.app.tui.platform.gc_idle import IdleCollector
from trunkline.app.tui.platform.key_queue import KeyQueue
from trunkline.app.tui.platform.terminal_lifecycle import TerminalLifecycle
from trunkline.app.tui.screens.bindings.screen import BindingsScreen
from trunkline.app.tui.screens.dialog_base import Dialog
from trunkline.app.tui.screens.dialogs.fault_palette import FaultPalette
from trunkline.app.tui.screens.dialogs.help import HelpDialog
from trunkline.app.tui.screens.diff.screen import DiffScreen
from trunkline.app.tui.screens.hands.screen import HandsScreen
from trunkline.app.tui.screens.invariants.screen import InvariantsScreen
from trunkline.app.tui.screens.messages.screen import MessagesScreen
from trunkline.app.tui.screens.overview.screen import OverviewScreen
from trunkline.app.tui.screens.picker.screen import PickerScreen
from trunkline.app.tui.screens.queue.screen import QueueScreen
from trunkline.app.tui.screens.run_screen import RunScreen
from trunkline.app.tui.screens.sessions.screen import SessionsScreen
from trunkline.app.tui.screens.timeline.screen import TimelineScreen
from trunkline.app.tui.state.notifications import NotificationLog
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.theme import CYCLE, OWN_THEMES, Palette, palette_of
from trunkline.app.view.faults.palette import FaultOption
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.text.cells import error_text
from trunkline.core.errors import UsageError

#: the screens of a run
RUN_SCREENS: dict[str, Callable[[Workspace], RunScreen]] = {
    "timeline": TimelineScreen,
    "sessions": SessionsScreen,
    "bindings": BindingsScreen,
    "messages": MessagesScreen,
    "queue": QueueScreen,
    "hands": HandsScreen,
    "overview": OverviewScreen,
    "invariants": InvariantsScreen,
    "diff": DiffScreen,
}
FRAMES = 30
#: a stalled terminal must not make time leap
LONGEST_FRAME = 0.25


class TrunklineApp(KeyQueue, NotificationLog, TerminalLifecycle):
    """Travels over a computed run. `clocked=False` starts no timer; tests move time themselves."""

    CSS_PATH = "app.tcss"
    TITLE = "Trunkline"
    COMMANDS = {KeyTableCommands}
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny-wide"), (60, "-narrow"), (100, "-middle"), (176, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-tiny-high"), (16, "-short"), (32, "-tall")]
    #: overlays have no row of their own for it
    BINDINGS = [Binding("ctrl+z", "suspend_process", "suspend", show=False)]

    def __init__(
        self,
        workspace: Workspace,
        *,
        ascii_only: bool = False,
        theme: str | None = None,
        play: bool = False,
        clocked: bool = True,
        first: str = "timeline",
    ) -> None:
        super().__init__()
        for own in OWN_THEMES:
            self.register_theme(own)
        self.workspace = workspace
        self.ascii_only = ascii_only
        self._palette: Palette | None = None
        self._play = play
        self._clocked = clocked
        self._timer: Timer | None = None
        self._last_tick = 0.0
        self._ticks = False
        self._quiet = IdleCollector(self)
        #: those that were shown
        self._run_screens: dict[str, RunScreen] = {}
        #: the screen that opens, and where `-` leads from there
        self._current = first
        self._previous = "sessions" if first == "timeline" else "timeline"
        if theme is not None:
            self.theme = theme

    # ------------------------------------------------------------ screens

    async def on_mount(self) -> None:
        """Open the first screen, and the picker above it when no run is given."""
        self._quiet.begin()
        self.set_class(self.ascii_only, "-ascii")
        self.theme_changed_signal.subscribe(self, lambda _theme: self._repaint())
        await self.push_screen(self._made(self._current))
        if self.workspace.open_run is None:
            self.choose()
        elif self.workspace.live is not None:
            self.clock(running=True)
        elif self._play:
            self.workspace.run.playback.play()
            self.clock(running=True)

    def on_unmount(self) -> None:
        """Leave the interpreter as it was."""
        self._quiet.end()

    def has(self, screen: str) -> bool:
        """Whether there is such a screen of the run."""
        return screen in RUN_SCREENS

    def _made(self, name: str) -> RunScreen:
        """A screen of the run, made when it is first shown: nine at once would delay the first picture."""
        if name not in self._run_screens:
            screen = self._run_screens[name] = RUN_SCREENS[name](self.workspace)
            screen.set_class(self.ascii_only, "-ascii")
            self.install_screen(screen, name)  # pyright: ignore[reportUnknownMemberType]
        return self._run_screens[name]

    def show(self, screen: str) -> None:
        """Go to one of the screens of the run; the cursor goes along."""
        if screen != self._current:
            self._previous, self._current = self._current, screen
            # Not awaited: this is asked for by the screen that goes, which would wait for itself.
            self.switch_screen(self._made(screen))  # pyright: ignore[reportUnknownMemberType]

    def choose_thing(self, thing: str | PlaceKey) -> None:
        """Select a thing on the screen that is shown now, if it lists such things."""
        if isinstance(self.screen, RunScreen):
            self.screen.choose(thing)

    def show_previous(self) -> None:
        """Go to the screen that was shown before."""
        self.show(self._previous)

    def choose(self) -> None:
        """Open the scenario picker."""
        self.push_screen(PickerScreen(self.workspace), self._chosen)

    def _chosen(self, opened: bool | None) -> None:
        if opened:
            self.workspace.run.playback.play()
            self.clock(running=True)
        self.sync()

    def place(self, options: tuple[FaultOption, ...], placed: Callable[[str | None], None]) -> None:
        """Open the fault palette."""
        self.push_screen(FaultPalette(self.workspace, options), placed)

    def open_entry(self, entry: ScenarioEntry) -> None:
        """Run a scenario with its defect and play it."""
        try:
            self.workspace.open(entry, seed=self.workspace.seed_for(entry), bugs=entry.bugs)
        except UsageError as error:
            self.notify(error_text(error), severity="warning", markup=False)
            return
        self._chosen(True)

    def help(self, screen: str) -> None:
        """Open the help of a screen; what is chosen there is done here."""
        self.push_screen(HelpDialog(screen), self._do)

    async def _do(self, action: str | None) -> None:
        if action:
            await self.run_action(f"screen.{action}")

    def show_notifications(self) -> None:
        """Open the list of what was told."""
        from trunkline.app.tui.screens.dialogs.notifications import NotificationsDialog

        self.push_screen(NotificationsDialog(self.notes))

    def action_command_palette(self) -> None:
        """Everything that can be done here, by its words; and moments and speeds as they are typed."""
        if not CommandPalette.is_open(self):  # pyright: ignore[reportArgumentType]
            hint = "a command, a scenario, t 1.27, #14, x8"
            self.push_screen(CommandPalette(placeholder=hint, id="--command-palette"))

    def sync(self) -> None:
        """Show what the workspace holds now."""
        self._quiet.used()
        if isinstance(self.screen, RunScreen):
            self.screen.sync()

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Do it; whoever did a thing once needs no hint for it any more."""
        self._quiet.used()
        if isinstance(action, str):
            self.workspace.view_options.use(action, getattr(self.screen, "name_in_keys", ""))
        return await super().run_action(action, default_namespace, namespaces)

    # ------------------------------------------------------------ time

    def clock(self, *, running: bool) -> None:
        """Start or stop the timer that plays. There is none while the run is paused."""
        if not self._clocked:
            return
        if self._timer is None:
            if not running:
                return
            self._timer = self.set_interval(1 / FRAMES, self._tick, pause=True)
        if running is self._ticks:
            return
        self._ticks = running
        self._last_tick = monotonic()
        if running:
            self._timer.resume()
        else:
            self._timer.pause()

    def _tick(self) -> None:
        now = monotonic()
        passed, self._last_tick = min(now - self._last_tick, LONGEST_FRAME), now
        if self.workspace.tick(passed):
            self.sync()
        if not self.workspace.ticking:
            self.clock(running=False)
            self.sync()

    # ------------------------------------------------------------ looks

    @property
    def palette(self) -> Palette:
        """The styles of the theme that is on."""
        if self._palette is None:
            self._palette = palette_of(self.theme_variables, ansi=self.current_theme.ansi)
        return self._palette

    def next_theme(self) -> None:
        """Go to the next theme."""
        index = CYCLE.index(self.theme) if self.theme in CYCLE else -1
        self.theme = CYCLE[(index + 1) % len(CYCLE)]
        self.notify(f"theme {self.theme}", timeout=2, markup=False)

    def _repaint(self) -> None:
        self._palette = None
        for screen in (*self._run_screens.values(), *self.screen_stack):
            if isinstance(screen, RunScreen | Dialog):
                screen.repaint()


def check_theme(theme: str) -> None:
    """Raises `UsageError` when there is no such theme."""
    if theme not in (*CYCLE, *BUILTIN_THEMES):
        raise UsageError(f"there is no theme {theme!r}; there are {', '.join(CYCLE)}")


def launch(
    source: RunSource,
    *,
    entry: ScenarioEntry | None = None,
    run: Run | None = None,
    seed: int = 0,
    bugs: tuple[str, ...] = (),
    ascii: bool = False,  # noqa: A002
    theme: str | None = None,
    at_violation: bool = False,
    first: str = "timeline",
    speed: float = 1.0,
) -> int:
    """Open the app on a run, or on the picker, and return the exit code. Prints nothing on standard output.

    An `entry` without a `run` is computed first. Raises `UsageError` when it cannot be, or when there is no such
    theme. The run plays from its start, or stands at its first violation with `at_violation`; `first` is the screen
    that opens, `speed` how fast the run plays at first.
    """
    if theme is not None:
        check_theme(theme)
    workspace = Workspace(source, entry=entry, run=run, seed=seed, bugs=bugs, at_violation=at_violation)
    if run is None and entry is not None:
        workspace.open(entry, seed=seed, bugs=bugs, at_violation=at_violation)
    if workspace.open_run is not None:
        workspace.run.playback.set_speed(speed)
    app = TrunklineApp(workspace, ascii_only=ascii, theme=theme, play=not at_violation, first=first)
    app.owns_process = True
    app.run()
    return app.return_value or app.return_code or 0


def launch_live(source: RunSource, live: LiveRun, *, ascii: bool = False, theme: str | None = None) -> int:  # noqa: A002
    """Open the app on a run that goes on, and follow it. The exit code is 1 when it was seen to be violated."""
    if theme is not None:
        check_theme(theme)
    workspace = Workspace(source, live=live)
    app = TrunklineApp(workspace, ascii_only=ascii, theme=theme)
    app.owns_process = True
    app.run()
    broken = workspace.live is not None and bool(workspace.run.view.marks.stops)
    return app.return_value or app.return_code or int(broken)
