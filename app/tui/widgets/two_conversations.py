"""Two conversations side by side, as people saw them, which shows a message that went to both."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from trunkline.app.text.cells import cut, middle_cut, quoted
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.sessions.two_conversations import ColumnMessage, beside, pair_of

#: cells of a tag in front of a message
_TAG = 3


class TwoConversations(RowList):
    """The conversation of the cursor, and that of the other copy or the one before."""

    heading = 1

    BORDER_TITLE = "Side by side"
    BORDER_SUBTITLE = "as people saw them"

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self.places: tuple[PlaceKey, ...] = ()
        self.rows: Sequence[ColumnMessage] = ()
        #: conversations -> rows, for the current length of the run
        self._made: dict[tuple[PlaceKey, ...], Sequence[ColumnMessage]] = {}
        self._made_of: tuple[object, int] | None = None
        self._wrong: tuple[Sequence[ColumnMessage], tuple[int, ...]] = (self.rows, ())

    @property
    def count(self) -> int:
        return len(self.rows)

    def empty_text(self) -> str:
        return "no visible message in this run"

    def sync(self) -> None:
        if self.workspace.open_run is None:
            return
        view = self.workspace.run.view
        self.places = pair_of(view, self.workspace.cursor)
        if self._made_of != (view, view.last):
            self._made_of = (view, view.last)
            self._made.clear()
        if self.places not in self._made:
            self._made[self.places] = beside(view, self.places)
        if self.rows is not self._made[self.places]:
            self.rows = self._made[self.places]
            self.invalidate()
        self.select(bisect_right(self.rows, self.workspace.cursor, key=lambda row: row.seen.seq) - 1)

    def cache_key(self, index: int) -> object:
        """A message looks different while it lies in the future."""
        return index, self.rows[index].seen.seq > self.workspace.cursor

    def target(self) -> int | None:
        return self.rows[self.selected].seen.seq if 0 <= self.selected < self.count else None

    def marks(self) -> Iterable[int]:
        if self._wrong[0] is not self.rows:
            self._wrong = self.rows, tuple(at for at, row in enumerate(self.rows) if row.wrong)
        return self._wrong[1]

    # ------------------------------------------------------------ drawing

    def draw_heading(self, line: int, width: int) -> Canvas:
        canvas = self.canvas(width)
        half = (width - 1) // 2
        view = self.workspace.run.view if self.workspace.open_run else None
        for side, place in enumerate(self.places if view else ()):
            name = view.places.label(view.places.at(place).address) if view else ""
            canvas.put(side * (half + 1), middle_cut(name, half - 2), self.palette.primary)
        if len(self.places) > 1:
            canvas.put(half - 1, "│", self.palette.rail)
        return canvas

    def draw(self, index: int, width: int) -> Canvas:
        row = self.rows[index]
        canvas = self.canvas(width)
        half = width // 2
        if len(self.places) > 1:
            canvas.put(half - 1, "│", self.palette.rail)
        x = row.side * (half + 1)
        palette = self.palette
        style = palette.fill_bad if row.wrong else palette.bad if row.tag else palette.base
        if row.tag:
            canvas.put(x, row.tag, palette.bad)
        elif row.wrong:
            canvas.put(x, "!!", palette.fill_warn)
        who = cut(row.seen.who or "bot", 8)
        at = canvas.put(x + _TAG, who, palette.dim) + 1
        room = half - 2 - _TAG - cell_len(who) - 1
        canvas.put(at, cut(quoted(row.seen.text), room), style)
        if row.seen.seq > self.workspace.cursor:
            canvas.restyle(palette.faint)
        return canvas
