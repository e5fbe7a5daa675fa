"""The moves that every list of rows knows: one row, a page, all the way."""

from __future__ import annotations

from abc import abstractmethod

from trunkline.app.tui.widgets.row_list import RowList


class ListKeys:
    """For screens: the actions of the arrow keys and their like, in terms of one step of so many rows."""

    @property
    @abstractmethod
    def pane(self) -> RowList:
        """The list that is moved in."""

    @abstractmethod
    def _move(self, rows: int) -> None:
        """So many rows down; up when negative."""

    def action_down(self) -> None:
        """The next row."""
        self._move(1)

    def action_up(self) -> None:
        """The previous row."""
        self._move(-1)

    def action_page_down(self) -> None:
        """A page down."""
        self._move(self.pane.page - 1)

    def action_page_up(self) -> None:
        """A page up."""
        self._move(1 - self.pane.page)

    def action_first(self) -> None:
        """The first row."""
        self._move(-self.pane.count)

    def action_last(self) -> None:
        """The last row."""
        self._move(self.pane.count)
