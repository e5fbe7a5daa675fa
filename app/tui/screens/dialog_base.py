"""What the overlays share: themes, keys of lists, and the message of a terminal that is too small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from trunkline.app.tui.screens.list_keys import ListKeys
from trunkline.app.tui.widgets.row_list import LineWidget, RowList

if TYPE_CHECKING:
    from trunkline.app.tui.app import TrunklineApp

Result = TypeVar("Result")

#: the keys of those with a line to type in: letters are typed
TYPING: list[BindingType] = [
    Binding("down,ctrl+n", "down", "next line", show=False, priority=True),
    Binding("up,ctrl+p", "up", "previous line", show=False, priority=True),
    Binding("pagedown", "page_down", "a page down", show=False, priority=True),
    Binding("pageup", "page_up", "a page up", show=False, priority=True),
    Binding("escape,f1", "back", "close", show=False, priority=True),
    Binding("ctrl+c", "quit", "quit", show=False, priority=True),
]


class Dialog(ListKeys, ModalScreen[Result], Generic[Result]):
    """A screen above the run, with one main list."""

    @property
    def trunkline(self) -> TrunklineApp:
        """The app, with its type."""
        return cast("TrunklineApp", self.app)

    def on_mount(self) -> None:
        """Plain borders where only ASCII may be drawn."""
        self.set_class(self.trunkline.ascii_only, "-ascii")

    @property
    def rows(self) -> RowList:
        """The main list."""
        return self.query(RowList).first()

    def changed(self) -> None:
        """Another row was selected."""

    def repaint(self) -> None:
        """The theme changed: draw everything anew."""
        for drawn in self.query(LineWidget):
            if isinstance(drawn, RowList):
                drawn.invalidate()
            drawn.refresh()

    @property
    def pane(self) -> RowList:
        """The rows to choose from."""
        return self.rows

    def _move(self, rows: int) -> None:
        self.rows.select(max(self.rows.selected + rows, 0))
        self.changed()

    def action_back(self) -> None:
        """Close."""
        self.dismiss(None)

    async def action_quit(self) -> None:
        """Leave the app."""
        self.trunkline.exit(0)
