"""What widgets and screens need of the app. Declared apart from `TrunklineApp`, so that imports go one way."""

from __future__ import annotations

from collections import deque
from typing import cast

from textual.app import App
from textual.dom import DOMNode

from trunkline.app.runs.model import ScenarioEntry
from trunkline.app.tui.state.notifications import Note
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.theme import Palette
from trunkline.app.view.index.places import PlaceKey


class HostApp(App[int]):
    """The interface of the app for its widgets and screens."""

    workspace: Workspace
    #: the notifications, newest first
    notes: deque[Note]
    #: whether only plain ASCII may be drawn
    ascii_only: bool

    @property
    def palette(self) -> Palette:
        """The styles of the current theme."""
        raise NotImplementedError

    def show(self, screen: str) -> None:
        """Show a screen of the run; the cursor stays."""
        raise NotImplementedError

    @property
    def previous(self) -> str:
        """The screen that was shown before."""
        raise NotImplementedError

    def show_previous(self) -> None:
        """Show the screen that was shown before."""
        raise NotImplementedError

    def select_on_screen(self, thing: str | PlaceKey) -> None:
        """Select a thing on the screen that is shown, if it lists such things."""
        raise NotImplementedError

    def open_picker(self) -> None:
        """Open the scenario picker."""
        raise NotImplementedError

    def open_entry(self, entry: ScenarioEntry) -> None:
        """Run a scenario with its defect and play it."""
        raise NotImplementedError

    def open_help(self, screen: str) -> None:
        """Open the help of a screen, and run the action that is chosen there."""
        raise NotImplementedError

    def clock(self, *, running: bool) -> None:
        """Start or stop the timer that plays."""
        raise NotImplementedError

    def next_theme(self) -> None:
        """Switch to the next theme."""
        raise NotImplementedError


def host_of(node: DOMNode) -> HostApp:
    """The app of a widget or screen, with its type."""
    return cast(HostApp, node.app)  # pyright: ignore[reportUnknownMemberType]
