"""The base of screens with a list that follows the cursor, and the detail of its selected row."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generic, TypeVar

from textual.app import ComposeResult

from trunkline.app.tui.screens.run_screen import RunScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cursor_list import CursorList, Detail
from trunkline.app.tui.widgets.row_list import RowList

Rows = TypeVar("Rows", bound=RowList)
Told = TypeVar("Told", bound=RowList)


class ListAndDetail(RunScreen, Generic[Rows, Told]):
    """A list, the detail of its selected row, and the pane that explains."""

    def __init__(self, workspace: Workspace, rows: Rows, detail: Told, explains: RowList) -> None:
        super().__init__(workspace)
        self.list = rows
        self.detail = detail
        self._explains = explains

    def picked(self, pane: RowList) -> None:
        """Another row of a pane was selected."""
        raise NotImplementedError

    def select_row(self, pane: RowList, index: int) -> None:
        pane.select(index)
        self.picked(pane)

    def on_row_list_clicked(self, message: RowList.Clicked) -> None:
        self.select_row(message.rows, message.index)
        if message.again:
            self.action_enter()

    def move(self, rows: int) -> None:
        if self.workspace.open_run is not None:
            pane = self.pane
            self.select_row(pane, max(0, min(pane.selected + rows, pane.count - 1)))

    def action_enter(self) -> None:
        """Enter the selected row."""
        raise NotImplementedError

    def go(self, seq: int | None) -> None:
        if seq:
            self.workspace.seek(seq)
            self.action_show("timeline")

    def action_left(self) -> None:
        self.list.focus()

    def action_right(self) -> None:
        self.detail.focus()

    def action_why(self) -> None:
        self.zoom(self._explains)
        self._explains.focus()


class ListScreen(ListAndDetail[CursorList[Any], Detail]):
    """A list above the explanation of its selected row."""

    #: absolute: Textual resolves a relative path beside the module of the subclass
    CSS_PATH = Path(__file__).with_name("lists.tcss")

    def __init__(self, workspace: Workspace, rows: CursorList[Any], detail: Detail) -> None:
        super().__init__(workspace, rows, detail, detail)
        self._seen: tuple[object, int, int] | None = None

    def compose_body(self) -> ComposeResult:
        yield self.list
        yield self.detail

    def sync(self) -> None:
        """Show the current state. When the cursor moved to an event of a row, that one is selected."""
        if self.workspace.open_run is not None:
            self.list.sync()
            at = (self.workspace.open_run, self.workspace.cursor, self.workspace.subject)
            if at != self._seen:
                self._seen = at
                if self.workspace.subject and self.list.count:
                    self.list.follow(self.workspace.subject)
            self.detail.explain_row(self.list)
        self.refresh_bars()

    def on_resize(self) -> None:
        self.call_after_refresh(self.sync)

    def picked(self, pane: RowList) -> None:
        """Keep the cursor: the queue would change with each row. Other screens select the same thing."""
        if pane is self.list:
            self.workspace.pick(self.list.target())
            self._seen = (self.workspace.open_run, self.workspace.cursor, self.workspace.subject)
        self.detail.explain_row(self.list)

    def action_enter(self) -> None:
        """Open or close a row of the list; else go to the event of the line."""
        if self.workspace.open_run is None:
            return
        if self.pane is self.list:
            self.enter_row()
        else:
            self.go(self.detail.target())

    def enter_row(self) -> None:
        """Go into the selected row."""
        if self.list.enter():
            self.detail.explain_row(self.list)
        else:
            self.go(self.list.target())
