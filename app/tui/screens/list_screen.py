"""The base of screens with a list, and the detail of its selected row."""

from pathlib import Path
from typing import Any, Generic, TypeVar

from textual.app import ComposeResult

from trunkline.app.tui.screens.run_screen import RunScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cursor_list import ChoosableList, Detail, Inspector
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.index.places import PlaceKey

Rows = TypeVar("Rows", bound=ChoosableList[Any])
Record = TypeVar("Record", bound=RowList)


class ListScreen(RunScreen, Generic[Rows, Record]):
    """A list, and the detail of its selected row. Without an inspector the detail is what explains."""

    #: absolute: Textual resolves a relative path beside the module of the subclass
    CSS_PATH = Path(__file__).with_name("lists.tcss")

    def __init__(
        self,
        workspace: Workspace,
        rows: Rows,
        detail: Record,
        inspector: Inspector | None = None,
        *,
        of_wire: Rows | None = None,
    ) -> None:
        """`of_wire`: the list instead of `rows` for a gateway of which only the wire is known."""
        super().__init__(workspace)
        self._rows = rows
        self._of_wire = of_wire
        self.detail = detail
        self._inspector = inspector
        self.explains = inspector or detail
        self._seen: tuple[object, ...] | None = None

    @property
    def list(self) -> Rows:
        """The list of the open run."""
        run = self.workspace.open_run
        return self._of_wire if self._of_wire is not None and run is not None and run.view.wire_side else self._rows

    def compose_body(self) -> ComposeResult:
        yield from filter(None, (self._rows, self._of_wire, self.detail, self._inspector))

    def sync(self) -> None:
        """Show the current state. When the cursor moved to an event of a row, that one is selected."""
        self.show_list()
        if self.workspace.open_run is not None:
            self.list.sync()
            self.fit()
            if self.moved_on():
                self.follow()
            self.show_detail()
            if self._inspector is not None:
                self._inspector.sync()
        self.refresh_bars()

    def moment(self) -> tuple[object, ...]:
        """The list follows the cursor when this has changed."""
        return self.workspace.open_run, self.workspace.cursor, self.workspace.subject

    def moved_on(self) -> bool:
        """Whether the moment is another one than at the last call."""
        seen, self._seen = self._seen, self.moment()
        return self._seen != seen

    def follow(self) -> None:
        """Select the row that the event under the cursor belongs to."""
        if self.workspace.subject and self.list.count:
            self.list.follow(self.workspace.subject)

    def fit(self) -> None:
        """Size the list by its rows."""

    def show_detail(self) -> None:
        """Show the detail of the selected row."""
        if isinstance(self.detail, Detail):
            self.detail.explain_row(self.list)

    def panes(self) -> "list[RowList]":
        """The panes that are shown."""
        hidden = {self._rows, self._of_wire} - {self.list}
        return [pane for pane in super().panes() if pane not in hidden]

    def show_list(self) -> None:
        """Show the list of the open run, and hide the other one."""
        if self._of_wire is None:
            return
        moved = self.focused is not None and self.focused in {self._rows, self._of_wire} - {self.list}
        for shown in (self._rows, self._of_wire):
            shown.display = shown is self.list
        if moved:
            self.list.focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self.sync)

    def choose(self, thing: str | PlaceKey) -> None:
        self.list.choose(thing)
        self.show_detail()

    def select_row(self, pane: RowList, index: int) -> None:
        pane.select(index)
        if pane is self.list:
            self.picked()

    def picked(self) -> None:
        """Keep the cursor: the list would change with each row. Other screens select the same thing."""
        self.workspace.pick(self.list.subject())
        self._seen = self.moment()
        self.show_detail()

    def go(self, seq: int | None) -> None:
        """Show an event on the timeline."""
        if seq:
            self.workspace.seek(seq)
            self.host.action_show("timeline")

    def action_enter(self) -> None:
        """Enter the selected row of the list; from a line of another pane go to its event."""
        if self.workspace.open_run is None:
            return
        if self.pane is self.list:
            self.enter_row()
        else:
            self.go(self.pane.target())

    def enter_row(self) -> None:
        """Open or close the row, or go to its event."""
        if self.list.enter():
            self.show_detail()
        else:
            self.go(self.list.target())

    def enter_detail(self) -> None:
        self.detail.focus()
        self.detail.select(max(self.detail.selected, 0))

    def fit_list(self, most: int) -> int:
        """Size the list by its rows, within bounds. Returns its lines."""
        height = max(min(self.list.count + 3, most), 5)
        self.list.styles.height = height
        return height

    def action_left(self) -> None:
        self.list.focus()

    def action_right(self) -> None:
        self.detail.focus()


class InspectedListScreen(ListScreen[Rows, Record]):
    """A list, the record of its selected row, and the explanation of the event under the cursor."""

    CSS_PATH = "screen.tcss"

    def __init__(self, workspace: Workspace, rows: Rows, detail: Record) -> None:
        super().__init__(workspace, rows, detail, Inspector(workspace, id="why"))

    def enter_row(self) -> None:
        self.enter_detail()
