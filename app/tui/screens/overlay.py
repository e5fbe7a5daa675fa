"""What the overlays share: themes, keys of lists, and the message of a terminal that is too small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast

from textual.screen import ModalScreen

from app.tui.widgets.rowlist import Drawn, RowList

if TYPE_CHECKING:
    from app.tui.app import TrunklineApp

Result = TypeVar("Result")


class Overlay(ModalScreen[Result], Generic[Result]):
    """A screen above the run, with one main list."""

    @property
    def trunkline(self) -> TrunklineApp:
        """The app, with its type."""
        return cast("TrunklineApp", self.app)

    @property
    def rows(self) -> RowList:
        """The main list."""
        return self.query(RowList).first()

    def changed(self) -> None:
        """Another row was selected."""

    def repaint(self) -> None:
        """The theme changed: draw everything anew."""
        for drawn in self.query(Drawn):
            if isinstance(drawn, RowList):
                drawn.forget()
            drawn.refresh()

    def _move(self, rows: int) -> None:
        self.rows.select(max(self.rows.selected + rows, 0))
        self.changed()

    def action_down(self) -> None:
        """The next row."""
        self._move(1)

    def action_up(self) -> None:
        """The previous row."""
        self._move(-1)

    def action_page_down(self) -> None:
        """A page down."""
        self._move(self.rows.page - 1)

    def action_page_up(self) -> None:
        """A page up."""
        self._move(1 - self.rows.page)

    def action_first(self) -> None:
        """The first row."""
        self._move(-self.rows.count)

    def action_last(self) -> None:
        """The last row."""
        self._move(self.rows.count)
