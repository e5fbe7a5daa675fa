"""What the acts of the screens of a run build on: a screen with a desk, which shows it and can say something."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from trunkline.app.tui.screens.list_keys import Moves
from trunkline.app.tui.state.workspace import Desk

if TYPE_CHECKING:
    from trunkline.app.tui.app import TrunklineApp


class Acting(Moves, Screen[None]):
    """A screen over the open run, as far as its acts are concerned."""

    desk: Desk
    #: its rows are those that the filter keeps
    filtered = False

    @property
    def trunkline(self) -> TrunklineApp:
        """The app, with its type."""
        return cast("TrunklineApp", self.app)  # pyright: ignore[reportUnknownMemberType]

    @abstractmethod
    def moved(self) -> None:
        """The desk changed: show it."""
