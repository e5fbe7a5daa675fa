"""The app as widgets and screens know it. Declared apart from `TrunklineApp`, for imports in one direction."""

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

import msgspec
from textual.app import App
from textual.dom import DOMNode
from textual.notifications import SeverityLevel

from trunkline.app.text.cells import clean, error_text
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.theme import Palette, palette_of
from trunkline.app.view.index.places import PlaceKey
from trunkline.core.errors import UsageError

#: most seconds that a toast stays; a longer time for a title, a warning or an error
STAY, STAY_LONG = 3.0, 5.0
#: length of the list
KEPT = 200


class Note(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    severity: SeverityLevel


class HostApp(App[int]):
    """The part of the app that its widgets and screens need: palette, notifications, and what `TrunklineApp` does."""

    workspace: Workspace
    #: whether only plain ASCII may be drawn
    ascii_only: bool

    #: the screen that was shown before
    previous: str

    _palette: Palette | None = None

    def __init__(self) -> None:
        super().__init__()
        #: past notifications, newest first
        self.notes: deque[Note] = deque(maxlen=KEPT)

    @property
    def palette(self) -> Palette:
        if self._palette is None:
            self._palette = palette_of(self.theme_variables, ansi=self.current_theme.ansi)
        return self._palette

    def action_show(self, screen: str, thing: str | PlaceKey = "") -> None:
        """Show a screen of the run, with a thing selected if it lists such things; the cursor stays."""
        raise NotImplementedError

    def clock(self, *, running: bool) -> None:
        """Start or stop the timer that plays."""
        raise NotImplementedError

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a toast of one line, and list it. Texts are never markup: they contain chat messages."""
        text = "  ".join(message.split("\n"))
        note = Note(text=clean(f"{title}: {text}" if title else text), severity=severity)
        if not self.notes or self.notes[0] != note:
            self.notes.appendleft(note)
        most = STAY_LONG if title or severity != "information" else STAY
        super().notify(note.text, severity=severity, timeout=min(timeout or most, most), markup=False)

    @contextmanager
    def warn_on_error(self) -> Generator[None]:
        """Notify of a `UsageError` that the block raises: it goes no further."""
        try:
            yield
        except UsageError as error:
            self.notify(error_text(error), severity="warning")

    async def run_key(self, action: str) -> None:
        """Run an action of the key table."""
        await self.run_action(action if action.startswith("app.") else f"screen.{action}")


def host_of(node: DOMNode) -> HostApp:
    """The app of a widget or screen, with its type."""
    return cast(HostApp, node.app)  # pyright: ignore[reportUnknownMemberType]
