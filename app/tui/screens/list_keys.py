"""The actions of the arrow keys and their like."""

from __future__ import annotations

from abc import abstractmethod


class ListKeys:
    """Mixin for screens: moves the selection of one list by a row, a page, or all the way."""

    @abstractmethod
    def move(self, rows: int) -> None:
        """Move down by `rows`; up if negative."""

    @abstractmethod
    def list_size(self) -> tuple[int, int]:
        """Rows of the list, and how many of them are in view."""

    def action_down(self) -> None:
        self.move(1)

    def action_up(self) -> None:
        self.move(-1)

    def action_page_down(self) -> None:
        self.move(self.list_size()[1] - 1)

    def action_page_up(self) -> None:
        self.move(1 - self.list_size()[1])

    def action_first(self) -> None:
        self.move(-self.list_size()[0])

    def action_last(self) -> None:
        self.move(self.list_size()[0])
