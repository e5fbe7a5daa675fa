"""The list of sessions: one line each, with what is wrong in it."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len
from rich.style import Style

from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.columns import ListColumn, spread
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.sessions.similar_keys import cut_around, group_similar
from trunkline.app.view.sessions.transcripts import SessionListRow
from trunkline.app.view.sessions.violations import SessionViolations
from trunkline.app.view.text.cells import cut, middle_cut, seconds

_COUNTS = (ListColumn("in", 4, True), ListColumn("out", 4, True), ListColumn("2×", 3, True), ListColumn("≠", 3, True))
_NARROW = (ListColumn("conversation", 19), ListColumn("session key", 0), *_COUNTS, ListColumn("broken", 6))
_ROOMY = (
    ListColumn("conversation", 26),
    ListColumn("session key", 0),
    *_COUNTS,
    ListColumn("last", 8, True),
    ListColumn("broken", 11),
)
#: from this width on there is room for more
ROOMY = 96


class SessionList(RowList):
    """Every session of the run with its counts at the cursor."""

    heading = 1

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.workspace = workspace
        self.border_title = "Sessions"
        self.rows: list[SessionListRow] = []
        #: line -> where its key differs from one beside it that is almost the same
        self._spots: Mapping[int, range] = {}
        self._names: list[str] = []
        self._order: list[int] = []
        #: the session that was chosen
        self._kept: str | PlaceKey | None = None
        self.blame: SessionViolations | None = None
        self._wrong: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """Sessions, and conversations without one."""
        return len(self.rows)

    def empty_text(self) -> str:
        """No run, or nobody spoke."""
        return self.workspace.unmade("sessions") or "no session: nobody was spoken to in this run"

    def sync(self) -> None:
        """Follow the workspace; the selection stays."""
        if self.workspace.open_run is None:
            return
        chosen = self.chosen
        rows = self.workspace.run.sessions.rows(self.workspace.cursor)
        names = [row.name for row in rows]
        if names != self._names:
            self._names = names
            self._order, spots = group_similar(names)
            self._spots = {place: spots[at] for place, at in enumerate(self._order) if at in spots}
        self.rows = [rows[at] for at in self._order]
        self._judge()
        near = f"{len(self._spots)} keys almost the same: what differs is reversed" if self._spots else ""
        self.set_titles(f"Sessions {sum(bool(row.key) for row in self.rows)}", near)
        self.invalidate()
        if chosen is not None and chosen.owner == self._kept:
            self.choose(chosen.owner)
        else:
            self.begin()

    def _judge(self) -> None:
        sessions, view = self.workspace.run.sessions, self.workspace.run.view
        known = (view.last, len(view.violations()))
        if self.blame is None or self.blame.sessions is not sessions or self.blame.known != known:
            self.blame = SessionViolations(sessions)
        blame, cursor = self.blame, self.workspace.cursor
        wrong = (row.copies or row.differences or blame.session(row.owner, cursor) for row in self.rows)
        self._wrong = tuple(at for at, found in enumerate(wrong) if found)

    def marks(self) -> tuple[int, ...]:
        """Sessions in which something is wrong by now."""
        return self._wrong

    def choose(self, owner: str | PlaceKey) -> None:
        """Select the line of a session or conversation."""
        index = next((at for at, row in enumerate(self.rows) if row.owner == owner), None)
        if index is not None:
            self.select(index)
            self.keep()

    def begin(self) -> None:
        """Nobody has chosen one yet, or the run is over: what is wrong is to be looked at first."""
        self._kept = None
        self.select(next(iter(self.marks()), 0))

    def keep(self) -> None:
        """The selected line was chosen, by somebody or by the cursor: it stays selected."""
        self._kept = self.chosen.owner if self.chosen is not None else None

    @property
    def chosen(self) -> SessionListRow | None:
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
    def _columns(self) -> tuple[ListColumn, ...]:
        return _ROOMY if self.size.width >= ROOMY else _NARROW

    def draw(self, index: int, width: int) -> Canvas:
        """One session."""
        row = self.rows[index]
        canvas = self.canvas(width)
        columns = self._columns
        texts = self._texts(row)
        later = row.since > self.workspace.cursor
        for column, (x, size) in zip(columns, spread(columns, width - 2), strict=True):
            text = texts[column.title]
            style = self.palette.faint if later else self.palette.base
            if column.title in ("2×", "≠", "broken") and text not in ("·", ""):
                style = self.palette.bad
            elif text in ("·", "no session"):
                style = self.palette.dim
            if column.title == "session key":
                self._draw_key(canvas, index, text, (x, size), style)
                continue
            # A thread is told by the end of its name, and its account by the beginning.
            shown = (middle_cut if column.title == "conversation" else cut)(text, size)
            canvas.put(x + size - cell_len(shown) if column.right else x, shown, style)
        return canvas

    def _draw_key(self, canvas: Canvas, index: int, key: str, place: tuple[int, int], style: Style) -> None:
        """A key; where it is almost that of the line beside it, what differs is reversed."""
        x, size = place
        shown, there = cut_around(key, self._spots.get(index, range(0)), size)
        marked = style + Style(reverse=True)
        for at, char in enumerate(shown):
            canvas.put(x + at, char, marked if at in there else style)

    def _texts(self, row: SessionListRow) -> dict[str, str]:
        counts = {"in": row.heard, "out": row.said, "2×": row.copies, "≠": row.differences}
        return {
            "conversation": row.place,
            "session key": row.title or "no session",
            **{name: str(number) if number else "·" for name, number in counts.items()},
            "last": seconds(row.last) if row.last else "·",
            "broken": self.blame.session(row.owner, self.workspace.cursor) if self.blame else "",
        }
