"""The one-line bars: status, tabs and keys. They never wrap; the least important piece is left out first."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.strip import Strip

from trunkline.app.text.cells import WALL_CLOCK, clean, cut, middle_cut, seconds, wrap
from trunkline.app.tui.host import host_of
from trunkline.app.tui.keys import KEYS, SCREENS, SELDOM, Key, footer_of, show
from trunkline.app.tui.state.open_run import OpenRun
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.row_list import LineWidget
from trunkline.app.view.timeline.status_line import PlaybackMode, run_source, verdict_chip

#: keys in the footer, at most
MOST_KEYS = 8
#: shown in every situation
ALWAYS = ("play", "run", "help", "quit")


def footer_keys(workspace: Workspace, screen: str) -> list[Key]:
    """The keys for the current situation, the most important first."""
    found = {key.id: key for key in footer_of(screen)}
    wanted = [*ALWAYS, *_urgent(workspace, screen)] if workspace.open_run is not None else ALWAYS
    idle = set(_idle(workspace, screen))
    first = [found[name] for name in dict.fromkeys(wanted) if name in found and name not in idle]
    rest = [key for name, key in found.items() if key not in first and name not in idle and key.rank < SELDOM]
    return [*first, *rest][:MOST_KEYS]


def _urgent(workspace: Workspace, screen: str) -> Iterator[str]:
    if screen == "bindings":
        yield "ask"
    alone = workspace.branch.other(workspace.open_run) is None
    if screen == "diff" and alone:
        yield "pin"
    if workspace.live is not None and workspace.live.going_on:
        yield "follow"
    if workspace.branch.faults:
        yield from ("undo_fault", "save_scenario", "diff", "fault", "next_violation", "next_difference")
    elif screen != "diff" and not alone:
        yield "diff"
    stops = workspace.run.view.marks.stops
    if stops and stops[0] <= workspace.cursor:
        yield from ("next_violation", "next_difference", "twin", "fault")


def _idle(workspace: Workspace, screen: str) -> Iterator[str]:
    """Keys that would have no effect."""
    if screen == "diff":
        yield "diff"
    delegated = workspace.open_run is not None and workspace.run.view.delegations
    if screen not in ("messages", "queue", "hands") or not delegated:
        yield from ("bars", "hand", "message")
    if workspace.open_run is None:
        return
    if workspace.entry is None:
        yield from ("fault", "bug")
    elif not workspace.bugs and not workspace.entry.bugs:
        yield "bug"
    if not workspace.run.view.marks.stops and workspace.search.filter is None:
        yield "next_violation"
    if not workspace.has_twin:
        yield "twin"


#: the tab that counts the violations up to the cursor
BADGED = "invariants"
#: from this width on the titles are in full
FULL_NAMES = 100

#: from this width on the verdict is in words
ROOMY = 96
#: rank, text, style, and what a click on it does
Piece = tuple[int, str, Style, str]


class ClickableBar(LineWidget):
    """A line whose pieces run actions of the key table when they are clicked."""

    def __init__(self, workspace: Workspace, screen: str = "") -> None:
        super().__init__()
        self.workspace = workspace
        self.screen_name = screen
        #: first cell, cell after the last, and action; a blank action does nothing
        self._places: list[tuple[int, int, str]] = []

    async def on_click(self, event: events.Click) -> None:
        for start, end, action in self._places:
            if action and start <= event.x < end:
                await host_of(self).run_key(action)


class StatusBar(ClickableBar):
    def render_line(self, y: int) -> Strip:
        width = self.size.width
        canvas = self.canvas(width, self.palette.bar)
        self._places = []
        run = self.workspace.open_run
        if run is None:
            canvas.put(1, "no run is open", self.palette.bar)
            return self.finish(canvas)
        x = 1
        for text, style, action in _fitting(self._pieces(run, roomy=width >= ROOMY), width - 2):
            end = canvas.put(x, text, style)
            self._places.append((x, end, action))
            x = end + 2
        return self.finish(canvas)

    def _pieces(self, run: OpenRun, *, roomy: bool) -> list[Piece]:
        """All pieces from left to right. The lower its rank, the longer a piece stays as the terminal gets narrow."""
        palette, view, playback = self.palette, run.view, run.playback
        bar, bold = palette.bar, palette.bar + Style(bold=True)
        seq, mode, at = playback.cursor, playback.mode, view.time(playback.cursor)
        speed = f" ×{playback.speed:g}" if playback.speed != 1 else ""
        left = max(playback.head - seq, 0)
        behind = f" −{left}" if mode is PlaybackMode.REWOUND or (view.growing and left) else ""
        letter, verdict = self.workspace.branch.letter(run), verdict_chip(view, seq)
        chip = verdict.text if roomy else verdict.short or verdict.text
        bugs = f"defect {', '.join(view.header.bugs)}" if view.header.bugs else ""
        return [
            (1, middle_cut(view.header.scenario, 24), bold, "app.open_picker"),
            (4, run_source(view, mode), bar, ""),
            (3, f"run {letter}" if letter else "", bold, "app.show('diff')"),
            (2, f"{mode}{behind}{speed}", bold if mode is PlaybackMode.PLAYING else palette.bar_key, "play"),
            (5, f"t={seconds(at)}{'' if at >= WALL_CLOCK else 's'}", bar, ""),
            (6, f"{seq}/{view.last}", bar, ""),
            (0, f" {chip} ", palette.chip(verdict.tone), "violation(1)"),
            (7, verdict.hint, bar, "violation(1)"),
            (8, bugs, palette.bar_key + Style(bold=False), "bug"),
        ]


def _fitting(pieces: Sequence[Piece], width: int) -> list[tuple[str, Style, str]]:
    """The pieces that fit, the least important left out first."""
    chosen: list[int] = []
    used = 0
    for index in sorted(range(len(pieces)), key=lambda index: pieces[index][0]):
        text = pieces[index][1]
        if text and used + cell_len(text) + 2 <= width + 2:
            chosen.append(index)
            used += cell_len(text) + 2
    return [pieces[index][1:] for index in sorted(chosen)]


class Banner(LineWidget):
    def render_line(self, y: int) -> Strip:
        canvas = self.canvas(self.size.width, self.palette.bar)
        x = canvas.put(1, "Trunkline", self.palette.bar + Style(bold=True))
        canvas.put(x + 2, "a chat-agent gateway you can see through", self.palette.bar)
        return self.finish(canvas)


class TabBar(ClickableBar):
    def render_line(self, y: int) -> Strip:
        canvas = self.canvas(self.size.width)
        self._places = []
        x = 1
        names, gap = self._names(self.size.width - 2)
        for screen, name in names:
            current = screen == self.screen_name
            end = canvas.put(x, f" {name} ", self.palette.tab if current else self.palette.dim)
            badge = name.partition("✗")[2]
            if badge and not current:
                canvas.put(end - cell_len(badge) - 2, f"✗{badge}", self.palette.bad + Style(bold=True))
            self._places.append((x, end, f"app.show({screen!r})"))
            x = end + gap
        hint = self.workspace.open_run.view.header.title if self.workspace.open_run is not None else ""
        room = self.size.width - x - 2
        if hint and room > 10:
            text = cut(hint, room)
            canvas.put(self.size.width - cell_len(text) - 1, text, self.palette.dim)
        return self.finish(canvas)

    def _names(self, width: int) -> tuple[list[tuple[str, str]], int]:
        """Screen and label of each tab, with the longest titles that fit, and the cells between two tabs."""
        full = [(spec.name, f"{spec.key} {spec.title}{self._badge(spec.name)}") for spec in SCREENS]
        short = [(spec.name, f"{spec.key} {spec.short}{self._badge(spec.name)}") for spec in SCREENS]
        least = [(screen, name if screen == self.screen_name else name.partition(" ")[0]) for screen, name in short]
        for names in (full, short) if self.size.width >= FULL_NAMES else (short,):
            used = sum(cell_len(name) + 2 for _, name in names)
            if used <= width:
                return names, 1 if used + len(names) - 1 <= width else 0
        return least, 0

    def _badge(self, screen: str) -> str:
        opened = self.workspace.open_run if screen == BADGED else None
        broken = opened.verdicts.broken(self.workspace.cursor) if opened else 0
        return f" ✗{broken}" if broken else ""


class KeyBar(ClickableBar):
    """The most useful keys of a screen, as many as fit in one line."""

    def render_line(self, y: int) -> Strip:
        palette = self.palette
        width = self.size.width
        canvas = self.canvas(width, palette.bar)
        self._places = []
        x = 1
        for key in self._chosen(width - 2):
            start = x
            x = canvas.put(x, show(key.keys[0]), palette.bar_key)
            x = canvas.put(x, " " + self._word(key), palette.bar)
            self._places.append((start, x, key.action))
            x += 2
        return self.finish(canvas)

    def _chosen(self, width: int) -> list[Key]:
        """The most important keys that fit, in the order of the table."""
        chosen: list[Key] = []
        used = 0
        for key in footer_keys(self.workspace, self.screen_name):
            size = cell_len(show(key.keys[0])) + 1 + cell_len(self._word(key)) + 2
            if used + size <= width + 2:
                chosen.append(key)
                used += size
        return sorted(chosen, key=KEYS.index)

    def _word(self, key: Key) -> str:
        if key.id == "next_violation" and self.workspace.search.filter and getattr(self.screen, "filtered", False):
            return "Next row"
        return "Pause" if key.id == "play" and self.workspace.ticking else key.footer


#: lines at most
MOST = 3


class FeedStatus(LineWidget):
    """Hidden while all is well."""

    _lines: Sequence[str] = ()

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace

    def sync(self) -> None:
        """Show the current state, in as many lines as needed."""
        said = self._said()
        width = max(self.app.size.width - 2, 10)  # pyright: ignore[reportUnknownMemberType]
        lines = wrap(said, width) if said else []
        if len(lines) > MOST:
            lines = [*lines[: MOST - 1], cut(" ".join(lines[MOST - 1 :]), width)]
        if lines != self._lines:
            self._lines = lines
            self.styles.height = max(len(lines), 1)
            self.display = bool(lines)
        self.refresh()

    def _said(self) -> str:
        live = self.workspace.live
        if live is None or self.workspace.open_run is None:
            return ""
        said = clean(live.said())
        if live.going_on:
            return f"… {said}" if said else ""
        return f"✗ {said}: what was read stays" if said else ""

    def on_resize(self) -> None:
        self.call_after_refresh(self.sync)

    def render_line(self, y: int) -> Strip:
        run = self.workspace.open_run
        broken = run is not None and run.playback.mode is not PlaybackMode.WAITING
        canvas = self.canvas(self.size.width)
        style = self.palette.bad if broken else self.palette.warn
        if y < len(self._lines):
            canvas.put(1, self._lines[y], style + Style(bold=broken))
        return self.finish(canvas)
