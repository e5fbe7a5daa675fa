"""Help: every key of a screen, and the signs that it draws. Typing filters, Enter runs the action."""

from __future__ import annotations

from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Input

from trunkline.app.tui.keys import GROUPS, RUN, Key, keys_of
from trunkline.app.tui.screens.dialog_base import TYPING, Dialog
from trunkline.app.tui.widgets.dialog_list import DialogList, DialogRow
from trunkline.app.tui.widgets.too_small import TooSmall
from trunkline.app.view.labels.legend import LEGEND, LegendEntry

#: the group of signs, which are no keys
_SIGN = "signs"
_TITLES = {**GROUPS, _SIGN: "Signs"}
#: arrows as words: their ASCII signs are keys too
_ARROWS = str.maketrans({"↓": "Down", "↑": "Up", "←": "Left", "→": "Right"})


class KeyList(DialogList):
    """Keys with their help, by group; on the screens of a run also the signs that are drawn there."""

    starts = (0, 6, 22)
    wraps = True

    def __init__(self, screen: str, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        order = list(GROUPS)
        self.all = sorted(keys_of(screen), key=lambda key: order.index(key.group))
        if screen in RUN:
            self.all += [_as_key(sign) for sign in LEGEND]
        self.nothing = f"none of {len(self.all)} keys and signs: Esc closes"
        self.shown: list[Key] = list(self.all)

    @property
    def chosen(self) -> Key | None:
        return self.shown[self.selected] if 0 <= self.selected < len(self.shown) else None

    def filter(self, words: str) -> None:
        """Show the keys whose help or group has every word; a key that is typed itself comes first."""
        wanted = words.lower().split()
        found = [
            key for key in self.all if all(word in f"{key.help} {key.group} {key.footer}".lower() for word in wanted)
        ]
        exact = [key for key in self.all if words.strip() in (*key.keys, *key.shown.split(), *key.footer.split())]
        self.shown = exact + [key for key in found if key not in exact]
        self.write(self._row(number) for number in range(len(self.shown)))

    def _row(self, number: int) -> DialogRow:
        key, palette = self.shown[number], self.palette
        begins = number == 0 or self.shown[number - 1].group != key.group
        shown = key.shown.translate(_ARROWS) if self.ascii_only else key.shown
        return (
            (_TITLES[key.group] if begins else "", palette.primary),
            (shown, palette.accent + Style(bold=True)),
            (key.help, palette.base),
        )


def _as_key(sign: LegendEntry) -> Key:
    """A sign as a row without an action."""
    return Key(id=sign.text, keys=(sign.text,), action="", group=_SIGN, help=sign.meaning, screens=())


class HelpDialog(Dialog[str]):
    """Returns the action that was chosen, if any."""

    AUTO_FOCUS = "#words"
    BINDINGS = TYPING

    def __init__(self, screen: str) -> None:
        super().__init__()
        self._screen_name = screen
        self.list = KeyList(screen, id="keys")
        self.words = Input(placeholder="what do you want to do?", id="words", compact=True)
        self.words.cursor_blink = False

    def compose(self) -> ComposeResult:
        with Container(id="help", classes="box") as box:
            signs = ", and its signs" if self._screen_name in RUN else ""
            box.border_title = f"Keys of the {self._screen_name} screen{signs}"
            box.border_subtitle = "type to filter, Enter does it, Esc closes"
            yield self.words
            yield self.list
        yield TooSmall()

    def on_mount(self) -> None:
        self.repaint()

    def repaint(self) -> None:
        self.list.filter(self.words.value)

    def on_input_changed(self, message: Input.Changed) -> None:
        self.list.filter(message.value)

    def on_input_submitted(self) -> None:
        """Close, and return the action of the selected key."""
        chosen = self.list.chosen
        if chosen is not None and not chosen.action:
            self.notify("a sign to read, no key to press", timeout=3)
            return
        self.dismiss(chosen.action if chosen else None)

    def on_option_list_option_selected(self) -> None:
        """Take the key that was clicked twice."""
        self.on_input_submitted()
