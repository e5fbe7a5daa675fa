"""What the acts of the screens of a run build on: a screen with a workspace, which shows it and can say something."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from trunkline.app.tui.screens.list_keys import ListKeys
from trunkline.app.tui.state.workspace import Workspace

if TYPE_CHECKING:
    from trunkline.app.tui.app import TrunklineApp


class ActionScreen(ListKeys, Screen[None]):
    """A screen over the open run, as far as its acts are concerned."""

    workspace: Workspace
    #: its rows are those that the filter keeps
    filtered = False

    @property
    def trunkline(self) -> TrunklineApp:
        """The app, with its type."""
        return cast("TrunklineApp", self.app)  # pyright: ignore[reportUnknownMemberType]

    @abstractmethod
    def moved(self) -> None:
        """The workspace changed: show it."""
