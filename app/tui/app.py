"""The app: one workspace, the screens that show it, the clock that plays, and the themes."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from time import monotonic
from typing import Any, cast

from textual.actions import ActionParseResult
from textual.binding import Binding
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.dom import DOMNode
from textual.filter import LineFilter
from textual.markup import escape
from textual.theme import BUILTIN_THEMES
from textual.timer import Timer

from trunkline.app.gc_policy import IdleCollector
from trunkline.app.runs.live_run import LiveRun
from trunkline.app.runs.model import Run, RunSource, ScenarioEntry
from trunkline.app.text.cells import clean
from trunkline.app.tui.host import HostApp
from trunkline.app.tui.keys import SCREENS, keys_of, show
from trunkline.app.tui.platform.terminal_lifecycle import HarmlessLines, KeyQueue, TerminalLifecycle
from trunkline.app.tui.screens.dialogs.search_dialogs import HelpDialog
from trunkline.app.tui.screens.picker.screen import PickerScreen
from trunkline.app.tui.screens.run_screen import RunScreen
from trunkline.app.tui.screens.screen_base import Dialog
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.theme import CYCLE, OWN_THEMES
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.timeline.filters import read_speed
from trunkline.core.errors import UsageError

# The command palette: everything that keys do on the screen below, and every scenario.

#: moments and speeds in the syntax of `trunkline.app.view.timeline.filters`
_TYPED = re.compile(r"(?:(?:t|speed|[x×#])\s*)?\d*\.?\d+\.?\s*s?", re.IGNORECASE)
#: score above every other match
FIRST = 1e6
_HOW = "t 1.27 is a time in seconds, #14 an event, x8 a speed"
#: the group of keys that are no commands
_MOVES = "move"


class KeyTableCommands(Provider):
    """Commands made from the key table. The palette reads its texts as markup, and titles are from strangers."""

    def _commands(self) -> Iterator[tuple[str, str, Callable[[], Any]]]:
        screen = self.screen
        app = cast("TrunklineApp", screen.app)
        name = getattr(screen, "name_in_keys", "")
        for key in keys_of(name):
            if key.group != _MOVES and key.id != "palette":
                yield key.help, show(key.keys[0]), partial(screen.run_action, key.action)
        for entry in app.workspace.source.scenarios() if name else ():
            yield clean(f"scenario {entry.title}"), clean(entry.id), partial(app.open_entry, entry)

    async def discover(self) -> Hits:
        if hasattr(self.screen, "go_to"):
            yield DiscoveryHit(
                "t 1.27  #14  x8: type a moment to go to, or a speed", partial(self.screen.notify, _HOW), help=_HOW
            )
        for title, extra, run in self._commands():
            yield DiscoveryHit(escape(title), run, text=title, help=escape(extra))

    async def search(self, query: str) -> Hits:
        """The commands that match the query; a moment (``t 1.27``, ``#14``) or a speed (``x8``) comes first."""
        go = getattr(self.screen, "go_to", None)
        if go is not None and _TYPED.fullmatch(query.strip()):
            what = "play at this speed" if read_speed(query) is not None else "go to this moment"
            yield Hit(FIRST, escape(f"{what}: {query.strip()}"), partial(go, query), help=_HOW)
        matcher = self.matcher(query)
        for title, extra, run in self._commands():
            score = matcher.match(f"{title} {extra}")
            if score > 0:
                # What is highlighted is read as markup too.
                shown = Content(title) if "[" in title else matcher.highlight(title)
                yield Hit(score, shown, run, text=title, help=escape(extra))


#: frames per second while the run plays
FRAMES = 30
#: most seconds that one frame lasts: a stalled terminal must not make time jump
LONGEST_FRAME = 0.25


class TrunklineApp(KeyQueue, TerminalLifecycle, HostApp):
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
        self.previous = "sessions" if first == "timeline" else "timeline"
        if theme is not None:
            self.theme = theme

    async def on_mount(self) -> None:
        self._idle_collector.start()
        self.set_class(self.ascii_only, "-ascii")
        self.theme_changed_signal.subscribe(self, lambda _theme: self._repaint())
        await self.push_screen(self._run_screen(self._current))
        if self.workspace.open_run is None:
            self.action_open_picker()
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

    def action_show(self, screen: str, thing: str | PlaceKey = "") -> None:
        if screen != self._current:
            self.previous, self._current = self._current, screen
            # Not awaited: the caller is the screen that is replaced, which would wait for itself.
            self.switch_screen(self._run_screen(screen))  # pyright: ignore[reportUnknownMemberType]
        if thing:
            self.call_after_refresh(self._select_on_screen, thing)

    def _select_on_screen(self, thing: str | PlaceKey) -> None:
        if isinstance(self.screen, RunScreen):
            self.screen.choose(thing)

    def action_show_previous(self) -> None:
        self.action_show(self.previous)

    async def action_quit(self) -> None:
        self.exit(0)

    def action_open_picker(self) -> None:
        self.push_screen(PickerScreen(self.workspace), self._picked)

    def _picked(self, opened: bool | None) -> None:
        if opened:
            self.workspace.run.playback.play()
            self.clock(running=True)
        self.sync()

    def open_entry(self, entry: ScenarioEntry) -> None:
        with self.warn_on_error():
            self.workspace.open(entry, seed=self.workspace.seed_for(entry), bugs=entry.bugs)
            self._picked(True)

    def action_help(self) -> None:
        self.push_screen(HelpDialog(getattr(self.screen, "name_in_keys", "")), self._act)

    async def _act(self, action: str | None) -> None:
        if action:
            await self.run_key(action)

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
        action: "str | ActionParseResult",
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action, and stop showing its hint."""
        self._idle_collector.activity()
        if isinstance(action, str):
            self.workspace.view_options.use(action, getattr(self.screen, "name_in_keys", ""))
        return await super().run_action(action, default_namespace, namespaces)

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

    def get_line_filters(self) -> Sequence[LineFilter]:
        return (*super().get_line_filters(), self._harmless_lines)

    def action_next_theme(self) -> None:
        index = CYCLE.index(self.theme) if self.theme in CYCLE else -1
        self.theme = CYCLE[(index + 1) % len(CYCLE)]
        self.notify(f"theme {self.theme}", timeout=2)

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
    first: str = "timeline",
    speed: float = 1.0,
) -> int:
    """Open the app on a run, or on the picker, and return the exit code. Prints nothing on standard output.

    An `entry` without a `run` is computed first. Raises `UsageError` if it cannot be computed or if there is no such
    theme. The run plays from its start; `first` is the screen that opens, `speed` the initial speed.
    """
    if theme is not None:
        check_theme(theme)
    workspace = Workspace(source, entry=entry, run=run, seed=seed, bugs=bugs)
    if run is None and entry is not None:
        workspace.open(entry, seed=seed, bugs=bugs)
    if workspace.open_run is not None:
        workspace.run.playback.set_speed(speed)
    app = TrunklineApp(workspace, ascii_only=ascii, theme=theme, play=True, first=first)
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
