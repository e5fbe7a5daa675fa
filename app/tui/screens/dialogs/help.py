"""Help: every key of a screen. Type to filter, Enter does it."""

from __future__ import annotations

from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Input

from trunkline.app.tui.keys import GROUPS, RUN, Key, keys_of
from trunkline.app.tui.screens.dialog_base import TYPING, Dialog
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.tui.widgets.too_small import TooSmall
from trunkline.app.view.labels.legend import LEGEND, LegendEntry
from trunkline.app.view.text.cells import cut, wrap

#: the group of what is no key
_SIGN = "signs"
_TITLES = {**GROUPS, _SIGN: "Signs"}
#: arrows as words: their plain signs are keys too
_ARROWS = str.maketrans({"↓": "Down", "↑": "Up", "←": "Left", "→": "Right"})
#: cells of the keys, or of the sign
_KEYS = 14


class KeyList(RowList):
    """Keys with what they do, by group; on the screens of a run the signs that are drawn there too."""

    can_focus = False

    def __init__(self, screen: str, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        order = list(GROUPS)
        self.all = sorted(keys_of(screen), key=lambda key: order.index(key.group))
        if screen in RUN:
            self.all += [_as_key(sign) for sign in LEGEND]
        self.shown: list[Key] = list(self.all)
        #: what is drawn: the key, its words in this line, and whether it is its first
        self._lines: list[tuple[int, str, bool]] = []
        self.selected = 0

    @property
    def count(self) -> int:
        """Lines of the keys that pass the filter; long words take more than one."""
        return len(self._lines)

    @property
    def chosen(self) -> Key | None:
        """The key of the selected line."""
        return self.shown[self._lines[self.selected][0]] if 0 <= self.selected < self.count else None

    def invalidate(self) -> None:
        """Wrap anew."""
        room = max(self.size.width - _KEYS - 10, 20)
        self._lines = [
            (index, text, not line)
            for index, key in enumerate(self.shown)
            for line, text in enumerate(wrap(key.help, room))
        ]
        super().invalidate()

    def on_resize(self) -> None:
        """Wrap anew."""
        self.invalidate()
        super().on_resize()

    def empty_text(self) -> str:
        """Nothing passes the filter."""
        return f"none of {len(self.all)} keys and signs: Esc closes"

    def filter(self, words: str) -> None:
        """Show keys whose name, help or key has every word."""
        wanted = words.lower().split()
        self.shown = [
            key for key in self.all if all(word in f"{key.help} {key.group} {key.footer}".lower() for word in wanted)
        ]
        exact = [key for key in self.all if words.strip() in (*key.keys, *key.shown.split(), *key.footer.split())]
        self.shown = exact + [key for key in self.shown if key not in exact]
        self.invalidate()
        self.select(0)

    def draw(self, index: int, width: int) -> Canvas:
        """One key: group, keys, help."""
        number, text, first = self._lines[index]
        key = self.shown[number]
        canvas = self.canvas(width)
        if first:
            begins = number == 0 or self.shown[number - 1].group != key.group
            canvas.put(0, _TITLES[key.group] if begins else "", self.palette.primary)
            shown = key.shown.translate(_ARROWS) if self.ascii_only else key.shown
            canvas.put(6, cut(shown, _KEYS), self.palette.accent + Style(bold=True))
        canvas.put(8 + _KEYS, cut(text, width - _KEYS - 9), self.palette.base)
        return canvas


def _as_key(sign: LegendEntry) -> Key:
    """A sign as a line of the list: nothing is done with it."""
    return Key(id=sign.text, keys=(sign.text,), action="", group=_SIGN, help=sign.meaning, screens=())


class HelpDialog(Dialog[str]):
    """Ends with the action that was chosen, if any."""

    CSS_PATH = "help.tcss"
    AUTO_FOCUS = "#words"
    BINDINGS = TYPING

    def __init__(self, screen: str) -> None:
        super().__init__()
        self._screen_name = screen
        self.list = KeyList(screen, id="keys")
        self.words = Input(placeholder="what do you want to do?", id="words", compact=True)
        self.words.cursor_blink = False

    def compose(self) -> ComposeResult:
        """A line to type in above the keys."""
        with Container(id="help") as box:
            signs = ", and its signs" if self._screen_name in RUN else ""
            box.border_title = f"Keys of the {self._screen_name} screen{signs}"
            box.border_subtitle = "type to filter, Enter does it, Esc closes"
            yield self.words
            yield self.list
        yield TooSmall()

    def on_input_changed(self, message: Input.Changed) -> None:
        """Filter while typing."""
        self.list.filter(message.value)

    def on_input_submitted(self) -> None:
        """Close, and do what is selected."""
        chosen = self.list.chosen
        if chosen is not None and not chosen.action:
            self.notify("a sign to read, no key to press", timeout=3)
            return
        self.dismiss(chosen.action if chosen else None)

    def on_row_list_clicked(self, message: RowList.Clicked) -> None:
        """A click selects; a second one does it."""
        self.list.select(message.index)
        if message.again:
            self.on_input_submitted()
