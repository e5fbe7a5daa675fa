"""The app: one workspace, the screens that show it, the clock that plays, and the themes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from time import monotonic
from typing import cast

from textual.actions import ActionParseResult
from textual.binding import Binding
from textual.command import CommandPalette
from textual.dom import DOMNode
from textual.filter import LineFilter
from textual.theme import BUILTIN_THEMES
from textual.timer import Timer

from trunkline.app.gc_policy import IdleCollector
from trunkline.app.runs.live_run import LiveRun
from trunkline.app.runs.model import Run, RunSource, ScenarioEntry
from trunkline.app.text.cells import error_text
from trunkline.app.tui.command_palette import KeyTableCommands
from trunkline.app.tui.host import HostApp
from trunkline.app.tui.platform.harmless_lines import HarmlessLines
from trunkline.app.tui.platform.key_queue import KeyQueue
from trunkline.app.tui.platform.terminal_lifecycle import TerminalLifecycle
from trunkline.app.tui.screen_registry import SCREENS
from trunkline.app.tui.screens.dialog_base import Dialog
from trunkline.app.tui.screens.dialogs.help import HelpDialog
from trunkline.app.tui.screens.picker.screen import PickerScreen
from trunkline.app.tui.screens.run_screen import RunScreen
from trunkline.app.tui.state.notifications import NotificationLog
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.theme import CYCLE, OWN_THEMES, Palette, palette_of
from trunkline.app.view.index.places import PlaceKey
from trunkline.core.errors import UsageError

#: frames per second while the run plays
FRAMES = 30
#: most seconds that one frame lasts: a stalled terminal must not make time jump
LONGEST_FRAME = 0.25


class TrunklineApp(KeyQueue, NotificationLog, TerminalLifecycle, HostApp):
    """Moves over a computed run. `clocked=False` starts no timer; tests move time themselves."""

    CSS_PATH = "app.tcss"
    TITLE = "Trunkline"
    COMMANDS = {KeyTableCommands}
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny-wide"), (60, "-narrow"), (100, "-middle"), (176, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-tiny-high"), (16, "-short"), (32, "-tall")]
    #: dialogs do not bind it
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
        self._harmless_lines = HarmlessLines()
        self._play = play
        self._clocked = clocked
        self._timer: Timer | None = None
        self._last_tick = 0.0
        self._clock_runs = False
        self._idle_collector = IdleCollector(self.set_timer)
        #: the screens that were shown already, by name
        self._run_screens: dict[str, RunScreen] = {}
        #: the current screen, and where `-` leads from there
        self._current = first
        self._previous = "sessions" if first == "timeline" else "timeline"
        if theme is not None:
            self.theme = theme

    # ------------------------------------------------------------ screens

    async def on_mount(self) -> None:
        self._idle_collector.start()
        self.set_class(self.ascii_only, "-ascii")
        self.theme_changed_signal.subscribe(self, lambda _theme: self._repaint())
        await self.push_screen(self._run_screen(self._current))
        if self.workspace.open_run is None:
            self.open_picker()
        elif self.workspace.live is not None:
            self.clock(running=True)
        elif self._play:
            self.workspace.run.playback.play()
            self.clock(running=True)

    def on_unmount(self) -> None:
        self._idle_collector.stop()

    def _run_screen(self, name: str) -> RunScreen:
        """A screen of the run, made when it is first shown: all of them at once would delay the first picture."""
        if name not in self._run_screens:
            screen = self._run_screens[name] = run_screen_class(name)(self.workspace)
            screen.set_class(self.ascii_only, "-ascii")
            self.install_screen(screen, name)  # pyright: ignore[reportUnknownMemberType]
        return self._run_screens[name]

    def show(self, screen: str) -> None:
        if screen != self._current:
            self._previous, self._current = self._current, screen
            # Not awaited: the caller is the screen that is replaced, which would wait for itself.
            self.switch_screen(self._run_screen(screen))  # pyright: ignore[reportUnknownMemberType]

    def select_on_screen(self, thing: str | PlaceKey) -> None:
        if isinstance(self.screen, RunScreen):
            self.screen.choose(thing)

    @property
    def previous(self) -> str:
        return self._previous

    def show_previous(self) -> None:
        self.show(self._previous)

    def open_picker(self) -> None:
        self.push_screen(PickerScreen(self.workspace), self._picked)

    def _picked(self, opened: bool | None) -> None:
        if opened:
            self.workspace.run.playback.play()
            self.clock(running=True)
        self.sync()

    def open_entry(self, entry: ScenarioEntry) -> None:
        try:
            self.workspace.open(entry, seed=self.workspace.seed_for(entry), bugs=entry.bugs)
        except UsageError as error:
            self.notify(error_text(error), severity="warning", markup=False)
            return
        self._picked(True)

    def open_help(self, screen: str) -> None:
        self.push_screen(HelpDialog(screen), self._run_screen_action)

    async def _run_screen_action(self, action: str | None) -> None:
        if action:
            await self.run_action(f"screen.{action}")

    def action_command_palette(self) -> None:
        if not CommandPalette.is_open(self):  # pyright: ignore[reportArgumentType]
            hint = "a command, a scenario, t 1.27, #14, x8"
            self.push_screen(CommandPalette(placeholder=hint, id="--command-palette"))

    def sync(self) -> None:
        self._idle_collector.activity()
        if isinstance(self.screen, RunScreen):
            self.screen.sync()

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action, and stop showing its hint."""
        self._idle_collector.activity()
        if isinstance(action, str):
            self.workspace.view_options.use(action, getattr(self.screen, "name_in_keys", ""))
        return await super().run_action(action, default_namespace, namespaces)

    # ------------------------------------------------------------ time

    def clock(self, *, running: bool) -> None:
        if not self._clocked:
            return
        if self._timer is None:
            if not running:
                return
            self._timer = self.set_interval(1 / FRAMES, self._tick, pause=True)
        if running is self._clock_runs:
            return
        self._clock_runs = running
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

    def get_line_filters(self) -> Sequence[LineFilter]:
        return (*super().get_line_filters(), self._harmless_lines)

    @property
    def palette(self) -> Palette:
        if self._palette is None:
            self._palette = palette_of(self.theme_variables, ansi=self.current_theme.ansi)
        return self._palette

    def next_theme(self) -> None:
        index = CYCLE.index(self.theme) if self.theme in CYCLE else -1
        self.theme = CYCLE[(index + 1) % len(CYCLE)]
        self.notify(f"theme {self.theme}", timeout=2, markup=False)

    def _repaint(self) -> None:
        self._palette = None
        for screen in (*self._run_screens.values(), *self.screen_stack):
            if isinstance(screen, RunScreen | Dialog):
                screen.repaint()


def run_screen_class(name: str) -> type[RunScreen]:
    """The class of a screen of the registry, imported when it is first needed."""
    spec = next(spec for spec in SCREENS if spec.name == name)
    module = import_module(f"trunkline.app.tui.screens.{spec.name}.screen")
    return cast("type[RunScreen]", getattr(module, f"{spec.title}Screen"))


def check_theme(theme: str) -> None:
    """Raises `UsageError` if there is no such theme."""
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

    An `entry` without a `run` is computed first. Raises `UsageError` if it cannot be computed or if there is no such
    theme. The run plays from its start, or stops at its first violation with `at_violation`; `first` is the screen
    that opens, `speed` the initial speed.
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
    """Open the app on a growing run and follow it. Returns exit code 1 if an invariant was violated."""
    if theme is not None:
        check_theme(theme)
    workspace = Workspace(source, live=live)
    app = TrunklineApp(workspace, ascii_only=ascii, theme=theme)
    app.owns_process = True
    app.run()
    broken = workspace.live is not None and bool(workspace.run.view.marks.stops)
    return app.return_value or app.return_code or int(broken)
