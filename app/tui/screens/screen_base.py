"""The bases of screens and dialogs: their keys, and the message of a terminal that is too small."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Generic, TypeVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.dom import DOMNode
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from trunkline.app.tui.host import HostApp, host_of
from trunkline.app.tui.keys import bindings_of
from trunkline.app.tui.widgets.dialog_list import DialogList
from trunkline.app.tui.widgets.row_list import LineWidget, RowList


class AppActions:
    """Mixin for screens. `class QueueScreen(..., screen="queue")` binds the keys that the table has for it."""

    #: name of the screen in the key table
    name_in_keys = ""
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init_subclass__(cls, *, screen: str = "") -> None:
        if screen:
            cls.name_in_keys = screen
            cls.BINDINGS = [*bindings_of(screen)]  # pyright: ignore[reportConstantRedefinition]
        super().__init_subclass__()

    @property
    def host(self) -> HostApp:
        return host_of(cast(DOMNode, self))


class ListKeys:
    """Mixin for screens: moves the selection of one list by a row, a page, or all the way."""

    @property
    @abstractmethod
    def pane(self) -> RowList | DialogList:
        """The list."""

    @abstractmethod
    def action_move(self, rows: int) -> None:
        """Move down by `rows`; up if negative."""

    def action_page(self, pages: int) -> None:
        self.action_move(pages * (self.pane.page - 1))

    def action_end(self, direction: int) -> None:
        """To the last row; to the first if `direction` is negative."""
        self.action_move(direction * self.pane.count)


#: least columns and lines
SMALLEST = (60, 16)


class TooSmall(Static):
    """The message of a terminal that is too small."""

    def __init__(self) -> None:
        super().__init__(id="too-small", markup=False)

    def on_resize(self) -> None:
        size = self.app.size  # pyright: ignore[reportUnknownMemberType]
        wide, high = SMALLEST
        self.update(f"needs {wide}x{high}, has {size.width}x{size.height}\n\nq quits")


Result = TypeVar("Result")

#: the keys of dialogs without an input line: a letter is as good as an arrow
CHOOSING: list[BindingType] = [
    Binding("down,j,ctrl+n", "move(1)", "next line", show=False),
    Binding("up,k,ctrl+p", "move(-1)", "previous line", show=False),
    Binding("pagedown,ctrl+d", "page(1)", "a page down", show=False),
    Binding("pageup,ctrl+u", "page(-1)", "a page up", show=False),
    Binding("home,g", "end(-1)", "first line", show=False),
    Binding("end,G", "end(1)", "last line", show=False),
    Binding("ctrl+c", "app.quit", "quit", show=False),
]
#: the keys of dialogs with an input line: letters are typed
TYPING: list[BindingType] = [
    Binding("down,ctrl+n", "move(1)", "next line", show=False, priority=True),
    Binding("up,ctrl+p", "move(-1)", "previous line", show=False, priority=True),
    Binding("pagedown", "page(1)", "a page down", show=False, priority=True),
    Binding("pageup", "page(-1)", "a page up", show=False, priority=True),
    Binding("escape,f1", "back", "close", show=False, priority=True),
    Binding("ctrl+c", "app.quit", "quit", show=False, priority=True),
]


class Dialog(ListKeys, AppActions, ModalScreen[Result], Generic[Result]):
    """A screen above the run, with one main list. By default a box with its title and a hint in the frame."""

    title_text = ""
    hint = ""

    def compose(self) -> ComposeResult:
        with Container(classes="box") as box:
            box.border_title = self.title_text
            box.border_subtitle = self.hint
            yield from self.content()
        yield TooSmall()

    def content(self) -> Iterable[Widget]:
        """The widgets in the box."""
        return ()

    def on_mount(self) -> None:
        self.set_class(self.host.ascii_only, "-ascii")

    @property
    def pane(self) -> RowList | DialogList:
        return cast("RowList | DialogList", self.query("RowList, DialogList").first())

    def changed(self) -> None:
        """Called after another row was selected."""

    def repaint(self) -> None:
        for widget in self.query(LineWidget):
            if isinstance(widget, RowList):
                widget.invalidate()
            widget.refresh()

    def action_move(self, rows: int) -> None:
        self.pane.select(max(self.pane.selected + rows, 0))
        self.changed()

    def action_back(self) -> None:
        self.dismiss(None)
