"""The list of sessions: one line each, with its counts and violations."""

from __future__ import annotations

from collections.abc import Mapping

from rich.style import Style

from trunkline.app.text.cells import cut, seconds
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.column_list import ChoosableList, ListColumn, Span, StyledCell, columns
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.sessions.similar_keys import cut_around, group_similar
from trunkline.app.view.sessions.transcripts import SessionListRow
from trunkline.app.view.sessions.violations import SessionViolations
from trunkline.app.view.wire_side.unknown import not_known

_NARROW = columns("conversation ~19 | session key * | in >4 | out >4 | 2× >3 | ≠ >3 | broken 6")
_ROOMY = columns("conversation ~26 | session key * | in >4 | out >4 | 2× >3 | ≠ >3 | last >8 | broken 11")
_NONE, _NO_SESSION = "·", "no session"
#: columns that are red unless empty
_WRONG = frozenset({"2×", "≠", "broken"})
#: from this width on there are more columns
ROOMY = 96


class SessionList(ChoosableList[SessionListRow]):
    """Every session of the run with its counts at the cursor."""

    BORDER_TITLE = "Sessions"
    layouts = ((ROOMY, _ROOMY), (0, _NARROW))

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        #: line -> where its key differs from a similar one beside it
        self._spots: Mapping[int, range] = {}
        self._names: list[str] = []
        self._order: list[int] = []
        #: the session that was chosen
        self._kept: str | PlaceKey | None = None
        self.blame: SessionViolations | None = None
        self._wrong: tuple[int, ...] = ()

    def empty_text(self) -> str:
        none = "nobody has said anything so far" if self.workspace.inside_unknown() else "no session in this run"
        return self.workspace.unmade("sessions") or none

    def sync(self) -> None:
        if self.workspace.open_run is None:
            return
        chosen = self.chosen
        view = self.workspace.run.view
        rows = self.workspace.run.sessions.rows(self.workspace.cursor)
        names = [row.key for row in rows] if view.wire_side else [row.name for row in rows]
        if names != self._names:
            self._names = names
            self._order, spots = group_similar(names)
            self._spots = {place: spots[at] for place, at in enumerate(self._order) if at in spots}
        self.rows = [rows[at] for at in self._order]
        self._judge()
        near = f"{len(self._spots)} keys almost the same: what differs is reversed" if self._spots else ""
        if view.wire_side:
            self.set_titles(f"Places {len(self.rows)}", f"sessions: {not_known(view.header)}")
        else:
            self.set_titles(f"Sessions {sum(bool(row.key) for row in self.rows)}", near)
        self.invalidate()
        if chosen is not None and chosen.owner == self._kept:
            self.choose(chosen.owner)
        else:
            self.begin()

    def _judge(self) -> None:
        sessions, view = self.workspace.run.sessions, self.workspace.run.view
        known = (view.last, len(view.marks.violations))
        if self.blame is None or self.blame.sessions is not sessions or self.blame.known != known:
            self.blame = SessionViolations(sessions)
        blame, cursor = self.blame, self.workspace.cursor
        wrong = (row.copies or row.differences or blame.session(row.owner, cursor) for row in self.rows)
        self._wrong = tuple(at for at, found in enumerate(wrong) if found)

    def marks(self) -> tuple[int, ...]:
        """Sessions with a violation, a copy or a difference up to the cursor."""
        return self._wrong

    def choose(self, thing: str | PlaceKey) -> None:
        if self.select_where(lambda row: row.owner == thing):
            self.keep()

    def begin(self) -> None:
        """Select the first session with something wrong: none was chosen, or the run is over."""
        self._kept = None
        self.select(next(iter(self.marks()), 0))

    def keep(self) -> None:
        self._kept = self.chosen.owner if self.chosen is not None else None

    def cells(self, index: int) -> dict[str, StyledCell]:
        row, palette = self.rows[index], self.palette
        later = row.since > self.workspace.cursor

        def cell(title: str, text: str) -> StyledCell:
            if title in _WRONG and text not in (_NONE, ""):
                return StyledCell(text, palette.bad)
            return StyledCell(
                text, palette.dim if text in (_NONE, _NO_SESSION) else palette.faint if later else palette.base
            )

        return {title: cell(title, text) for title, text in self._texts(row).items()}

    def draw_cell(self, canvas: Canvas, index: int, column: ListColumn, cell: StyledCell, span: Span) -> None:
        """Draw a cell. In a key that is almost the one of the line beside it, the difference is reversed."""
        if column.title != "session key":
            super().draw_cell(canvas, index, column, cell, span)
            return
        x, size = span
        shown, different = cut_around(cell.text, self._spots.get(index, range(0)), size)
        reversed_style = cell.style + Style(reverse=True)
        for at, char in enumerate(shown):
            canvas.put(x + at, char, reversed_style if at in different else cell.style)

    def draw_title(self, canvas: Canvas, column: ListColumn, x: int, size: int) -> None:
        """Draw a title. Where no session is known, its column says what the model was asked."""
        run = self.workspace.open_run
        if column.title == "session key" and run is not None and run.view.wire_side:
            canvas.put(x, cut("turns", size), self.palette.dim)
        else:
            super().draw_title(canvas, column, x, size)

    def _texts(self, row: SessionListRow) -> dict[str, str]:
        counts = {"in": row.heard, "out": row.said, "2×": row.copies, "≠": row.differences}
        return {
            "conversation": row.place,
            "session key": row.title or _NO_SESSION,
            **{name: str(number) if number else _NONE for name, number in counts.items()},
            "last": seconds(row.last) if row.last else _NONE,
            "broken": self.blame.session(row.owner, self.workspace.cursor) if self.blame else "",
        }
