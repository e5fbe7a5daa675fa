"""The list of sessions: one line each, with what is wrong in it."""

from __future__ import annotations

from rich.cells import cell_len

from app.tui.desk import Desk
from app.tui.widgets.canvas import Canvas
from app.tui.widgets.rowlist import RowList
from app.tui.widgets.table import Col, spread
from app.view.places import PlaceKey
from app.view.sessions import SessionRow
from app.view.text import cut, middle_cut, seconds

_NUMBERS = (Col("in", 4, True), Col("out", 4, True), Col("2×", 3, True), Col("≠", 3, True), Col("last", 8, True))
_NARROW = (Col("conversation", 0), *_NUMBERS)
_ROOMY = (Col("conversation", 26), Col("session key", 0), *_NUMBERS)
#: from this width on the key has a column
ROOMY = 96


class SessionList(RowList):
    """Every session of the run with its counts at the cursor."""

    heading = 1

    def __init__(self, desk: Desk, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.desk = desk
        self.border_title = "Sessions"
        self.rows: list[SessionRow] = []

    @property
    def count(self) -> int:
        """Sessions, and conversations without one."""
        return len(self.rows)

    def empty_text(self) -> str:
        """No run, or nobody spoke."""
        return "no session: nobody was spoken to in this run"

    def sync(self) -> None:
        """Follow the desk; the selection stays."""
        if self.desk.opened is None:
            return
        self.rows = self.desk.run.sessions.rows(self.desk.cursor)
        self.entitle(f"Sessions {sum(bool(row.key) for row in self.rows)}")
        self.forget()
        self.select(self.selected if self.selected >= 0 else 0)

    def choose(self, owner: str | PlaceKey) -> None:
        """Select the line of a session or conversation."""
        index = next((at for at, row in enumerate(self.rows) if row.owner == owner), None)
        if index is not None:
            self.select(index)

    @property
    def chosen(self) -> SessionRow | None:
        """The selected line."""
        return self.rows[self.selected] if 0 <= self.selected < self.count else None

    def draw_heading(self, line: int, width: int) -> Canvas:
        """Titles of the columns."""
        canvas = self.canvas(width)
        columns = self._columns
        for column, (x, size) in zip(columns, spread(columns, width - 3), strict=True):
            at = x + size - cell_len(column.title) if column.right else x
            canvas.put(at, column.title, self.palette.dim)
        return canvas

    @property
    def _columns(self) -> tuple[Col, ...]:
        return _ROOMY if self.size.width >= ROOMY else _NARROW

    def draw(self, index: int, width: int) -> Canvas:
        """One session."""
        row = self.rows[index]
        canvas = self.canvas(width)
        columns = self._columns
        texts = self._texts(row)[-len(_NUMBERS) :]
        names = [row.place, row.title or "no session"][: len(columns) - len(_NUMBERS)]
        later = row.since > self.desk.cursor
        for column, (x, size), text in zip(columns, spread(columns, width - 2), [*names, *texts], strict=True):
            style = self.palette.faint if later else self.palette.base
            if column.title in ("2×", "≠") and text != "·":
                style = self.palette.bad
            elif text in ("·", "no session"):
                style = self.palette.dim
            shown = middle_cut(text, size) if column.title == "session key" else cut(text, size)
            canvas.put(x + size - cell_len(shown) if column.right else x, shown, style)
        return canvas

    def _texts(self, row: SessionRow) -> list[str]:
        counts = [str(number) if number else "·" for number in (row.heard, row.said, row.copies, row.differences)]
        return [*counts, seconds(row.last) if row.last else "·"]
