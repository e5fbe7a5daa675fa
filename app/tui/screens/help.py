"""Help: every key of a screen. Type to filter, Enter does it."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Input

from app.tui.keys import GROUPS, Key, keys_of
from app.tui.screens.base import TooSmall
from app.tui.screens.overlay import Overlay
from app.tui.widgets.canvas import Canvas
from app.tui.widgets.rowlist import RowList
from app.view.text import cut


class KeyList(RowList):
    """Keys with what they do, by group."""

    can_focus = False

    def __init__(self, screen: str, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        order = list(GROUPS)
        self.all = sorted(keys_of(screen), key=lambda key: order.index(key.group))
        self.shown: list[Key] = list(self.all)
        self.selected = 0

    @property
    def count(self) -> int:
        """Keys that pass the filter."""
        return len(self.shown)

    def empty_text(self) -> str:
        """Nothing passes the filter."""
        return f"none of {len(self.all)} keys: Esc closes"

    def filter(self, words: str) -> None:
        """Show keys whose name, help or key has every word."""
        wanted = words.lower().split()
        self.shown = [
            key for key in self.all if all(word in f"{key.help} {key.group} {key.footer}".lower() for word in wanted)
        ]
        exact = [key for key in self.all if words.strip() in (*key.keys, *key.shown.split())]
        self.shown = exact + [key for key in self.shown if key not in exact]
        self.forget()
        self.select(0)

    def draw(self, index: int, width: int) -> Canvas:
        """One key: group, keys, help."""
        key = self.shown[index]
        canvas = self.canvas(width)
        first = index == 0 or self.shown[index - 1].group != key.group
        canvas.put(0, GROUPS[key.group] if first else "", self.palette.primary)
        canvas.put(6, cut(key.shown, 14), self.palette.accent + Style(bold=True))
        canvas.put(22, cut(key.help, width - 23), self.palette.base)
        return canvas


class HelpScreen(Overlay[str]):
    """Ends with the action that was chosen, if any."""

    CSS_PATH = "help.tcss"
    AUTO_FOCUS = "#words"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "down", "next key", show=False, priority=True),
        Binding("up,ctrl+p", "up", "previous key", show=False, priority=True),
        Binding("pagedown", "page_down", "a page down", show=False, priority=True),
        Binding("pageup", "page_up", "a page up", show=False, priority=True),
        Binding("escape,f1", "back", "close", show=False, priority=True),
        Binding("ctrl+c", "quit", "quit", show=False, priority=True),
    ]

    def __init__(self, screen: str) -> None:
        super().__init__()
        self._screen_name = screen
        self.list = KeyList(screen, id="keys")
        self.words = Input(placeholder="what do you want to do?", id="words", compact=True)
        self.words.cursor_blink = False

    def compose(self) -> ComposeResult:
        """A line to type in above the keys."""
        with Container(id="help") as box:
            box.border_title = f"Keys of the {self._screen_name} screen"
            box.border_subtitle = "type to filter, Enter does it, Esc closes"
            yield self.words
            yield self.list
        yield TooSmall(id="too-small", markup=False)

    def on_mount(self) -> None:
        """Plain borders where only ASCII may be drawn."""
        self.set_class(self.trunkline.ascii_only, "-ascii")

    def on_input_changed(self, message: Input.Changed) -> None:
        """Filter while typing."""
        self.list.filter(message.value)

    def on_input_submitted(self) -> None:
        """Close, and do what is selected."""
        chosen = self.list.shown[self.list.selected] if self.list.shown else None
        self.dismiss(chosen.action if chosen else None)

    def on_row_list_chosen(self, message: RowList.Chosen) -> None:
        """A click selects; a second one does it."""
        self.list.select(message.index)
        if message.again:
            self.on_input_submitted()

    def action_back(self) -> None:
        """Close."""
        self.dismiss(None)

    async def action_quit(self) -> None:
        """Leave the app."""
        self.trunkline.exit(0)
