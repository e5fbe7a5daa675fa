"""The base of dialogs: a modal screen with one main list."""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from trunkline.app.tui.host import HostApp, host_of
from trunkline.app.tui.screens.list_keys import ListKeys
from trunkline.app.tui.widgets.dialog_list import DialogList
from trunkline.app.tui.widgets.row_list import LineWidget, RowList

Result = TypeVar("Result")

#: the keys of dialogs with an input line: letters are typed
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
    def host(self) -> HostApp:
        return host_of(self)

    def on_mount(self) -> None:
        self.set_class(self.host.ascii_only, "-ascii")

    @property
    def rows(self) -> RowList | DialogList:
        return cast("RowList | DialogList", self.query("RowList, DialogList").first())

    def changed(self) -> None:
        """Called after another row was selected."""

    def repaint(self) -> None:
        """Draw everything again after a change of the theme."""
        for widget in self.query(LineWidget):
            if isinstance(widget, RowList):
                widget.invalidate()
            widget.refresh()

    def list_size(self) -> tuple[int, int]:
        return self.rows.count, self.rows.page

    def move(self, rows: int) -> None:
        self.rows.select(max(self.rows.selected + rows, 0))
        self.changed()

    def action_back(self) -> None:
        self.dismiss(None)

    async def action_quit(self) -> None:
        self.host.exit(0)
