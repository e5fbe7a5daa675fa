"""The one-line bars: status, tabs and keys. They never wrap; the least important piece is left out first."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.strip import Strip

from trunkline.app.text.cells import WALL_CLOCK, cut, middle_cut, seconds
from trunkline.app.tui.footer_keys import footer_keys
from trunkline.app.tui.keys import KEYS, Key, show
from trunkline.app.tui.screen_registry import SCREENS
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.row_list import LineWidget
from trunkline.app.view.timeline.status_line import PlaybackMode, StatusLine

#: the tab that counts the violations up to the cursor
BADGED = "invariants"
#: from this width on the titles are in full
FULL_NAMES = 100

#: from this width on the verdict is in words
ROOMY = 96
#: rank, text, style, and what a click on it does
Piece = tuple[int, str, Style, str]


class ClickableBar(LineWidget):
    """A line whose pieces run actions of the screen when they are clicked."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        #: first cell, cell after the last, and action; a blank action does nothing
        self._places: list[tuple[int, int, str]] = []

    async def on_click(self, event: events.Click) -> None:
        for start, end, action in self._places:
            if action and start <= event.x < end:
                await self.run_action(f"screen.{action}")


class StatusBar(ClickableBar):
    """Scenario, seed, mode, time, event, verdict, defects."""

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        canvas = self.canvas(width, self.palette.bar)
        self._places = []
        status = self.workspace.status()
        if status is None:
            canvas.put(1, "no run is open", self.palette.bar)
            return self.finish(canvas)
        x = 1
        for text, style, action in _fitting(self._pieces(status, roomy=width >= ROOMY), width - 2):
            end = canvas.put(x, text, style)
            self._places.append((x, end, action))
            x = end + 2
        return self.finish(canvas)

    def _pieces(self, status: StatusLine, *, roomy: bool) -> list[Piece]:
        """All pieces from left to right. The lower its rank, the longer a piece stays as the terminal gets narrow."""
        palette = self.palette
        bar, bold = palette.bar, palette.bar + Style(bold=True)
        mode = palette.bar_key if status.mode is not PlaybackMode.PLAYING else bold
        speed = f" ×{status.speed:g}" if status.speed != 1 else ""
        behind = f" −{status.behind}" if status.mode is PlaybackMode.REWOUND or (status.live and status.behind) else ""
        chip = f" {status.chip.text if roomy else status.chip.short or status.chip.text} "
        return [
            (1, middle_cut(status.scenario, 24), bold, "scenarios"),
            (4, status.gateway if status.seed is None else f"seed {status.seed}", bar, ""),
            (3, f"run {status.letter}" if status.letter else "", bold, "show('diff')"),
            (2, f"{status.mode}{behind}{speed}", mode, "play"),
            (5, f"t={seconds(status.at)}{'' if status.at >= WALL_CLOCK else 's'}", bar, ""),
            (6, f"{status.seq}/{status.last}", bar, ""),
            (0, chip, palette.chip(status.chip.tone), "next_violation"),
            (7, status.chip.hint, bar, "next_violation"),
            (8, f"defect {', '.join(status.bugs)}" if status.bugs else "", palette.bar_key + Style(bold=False), "bug"),
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
    """The name of the product, above the picker."""

    def render_line(self, y: int) -> Strip:
        canvas = self.canvas(self.size.width, self.palette.bar)
        x = canvas.put(1, "Trunkline", self.palette.bar + Style(bold=True))
        canvas.put(x + 2, "a chat-agent gateway you can see through", self.palette.bar)
        return self.finish(canvas)


class TabBar(ClickableBar):
    """The screens and their keys."""

    def __init__(self, workspace: Workspace, current: str) -> None:
        super().__init__(workspace)
        self.current = current

    def render_line(self, y: int) -> Strip:
        canvas = self.canvas(self.size.width)
        self._places = []
        x = 1
        names, gap = self._names(self.size.width - 2)
        for screen, name in names:
            current = screen == self.current
            end = canvas.put(x, f" {name} ", self.palette.tab if current else self.palette.dim)
            badge = name.partition("✗")[2]
            if badge and not current:
                canvas.put(end - cell_len(badge) - 2, f"✗{badge}", self.palette.bad + Style(bold=True))
            self._places.append((x, end, f"show({screen!r})"))
            x = end + gap
        hint = self._title()
        room = self.size.width - x - 2
        if hint and room > 10:
            text = cut(hint, room)
            canvas.put(self.size.width - cell_len(text) - 1, text, self.palette.dim)
        return self.finish(canvas)

    def _names(self, width: int) -> tuple[list[tuple[str, str]], int]:
        """Screen and label of each tab, with the longest titles that fit, and the cells between two tabs."""
        full = [(spec.name, f"{spec.key} {spec.title}{self._badge(spec.name)}") for spec in SCREENS]
        short = [(spec.name, f"{spec.key} {spec.short}{self._badge(spec.name)}") for spec in SCREENS]
        least = [(screen, name if screen == self.current else name.partition(" ")[0]) for screen, name in short]
        for names in (full, short) if self.size.width >= FULL_NAMES else (short,):
            used = sum(cell_len(name) + 2 for _, name in names)
            if used <= width:
                return names, 1 if used + len(names) - 1 <= width else 0
        return least, 0

    def _badge(self, screen: str) -> str:
        opened = self.workspace.open_run if screen == BADGED else None
        broken = opened.verdicts.broken(self.workspace.cursor) if opened else 0
        return f" ✗{broken}" if broken else ""

    def _title(self) -> str:
        opened = self.workspace.open_run
        return opened.view.header.title if opened else ""


class KeyBar(ClickableBar):
    """The most useful keys of a screen, as many as fit in one line."""

    def __init__(self, workspace: Workspace, screen: str) -> None:
        super().__init__(workspace)
        self.screen_name = screen

    def render_line(self, y: int) -> Strip:
        palette = self.palette
        width = self.size.width
        canvas = self.canvas(width, palette.bar)
        self._places = []
        x = 1
        for key in self._chosen(width - 2):
            start = x
            x = canvas.put(x, self._key(key), palette.bar_key)
            x = canvas.put(x, " " + self._word(key), palette.bar)
            self._places.append((start, x, key.action))
            x += 2
        return self.finish(canvas)

    def _chosen(self, width: int) -> list[Key]:
        """The most important keys that fit, in the order of the table."""
        chosen: list[Key] = []
        used = 0
        for key in footer_keys(self.workspace, self.screen_name):
            size = cell_len(self._key(key)) + 1 + cell_len(self._word(key)) + 2
            if used + size <= width + 2:
                chosen.append(key)
                used += size
        return sorted(chosen, key=KEYS.index)

    def _key(self, key: Key) -> str:
        return show(key.keys[0])

    def _word(self, key: Key) -> str:
        if key.id == "next_violation" and self.workspace.search.filter and getattr(self.screen, "filtered", False):
            return "Next row"
        return "Pause" if key.id == "play" and self.workspace.ticking else key.footer
