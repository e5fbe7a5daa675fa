"""A session's transcript on the left, what people saw in its conversation on the right, aligned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.style import Style

from app.tui.desk import Desk
from app.tui.widgets.canvas import Canvas
from app.tui.widgets.rowlist import RowList
from app.view.aligned import AlignedIndex
from app.view.sessions import Difference, Pair, SessionRow
from app.view.story import Line
from app.view.text import cut, middle_cut, quoted, seconds

#: from this width on there is a column for the time
ROOMY = 96


class Alignment(RowList):
    """Rows of `app.view.sessions`; ``≠`` stands between sides that differ."""

    heading = 1

    def __init__(self, desk: Desk, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.desk = desk
        self.row: SessionRow | None = None
        self.pairs: Sequence[Pair] = ()
        self._index: AlignedIndex | None = None
        self.border_title = "Transcript"

    @property
    def count(self) -> int:
        """Aligned rows."""
        return len(self.pairs)

    def empty_text(self) -> str:
        """The session holds nothing."""
        return "nothing was said in this session"

    def sync(self, row: SessionRow | None) -> None:
        """Show a session at the cursor."""
        if row is None:
            return
        self.row = row
        self.pairs = self.desk.run.sessions.pairs(row.owner)
        room = max(self.size.width - 6, 20)
        title = middle_cut(f"Transcript of {row.title}" if row.key else f"{row.place}: no session", room)
        self._index = self.desk.run.sessions.index(row.owner)
        wrong = len(self._index.wrong)
        copies = f"{row.copies} seen again  " if row.copies else ""
        self.entitle(title, copies + (f"{wrong} ≠" if wrong else "both sides agree" if self.pairs else ""))
        self.forget()
        self.select(self._index.row_at(self.desk.cursor))

    def on_resize(self) -> None:
        """Fit the title anew."""
        if self.desk.opened:
            self.sync(self.row)
        super().on_resize()

    def marks(self) -> Iterable[int]:
        """Rows whose sides differ."""
        return self._index.wrong if self._index else ()

    @property
    def _gutter(self) -> int:
        return 15 if self.size.width >= ROOMY else 6

    def _middle(self, width: int) -> int:
        return self._gutter + (width - self._gutter) // 2

    def draw_heading(self, line: int, width: int) -> Canvas:
        """What the two sides are."""
        canvas = self.canvas(width)
        middle = self._middle(width - 1)
        canvas.put(3, "#", self.palette.dim)
        if self.size.width >= ROOMY:
            canvas.put(9, "t (s)", self.palette.dim)
        canvas.put(self._gutter, "the transcript holds", self.palette.dim)
        place = self.row.place if self.row else ""
        canvas.put(middle + 2, cut(f"people saw in {place}", width - middle - 3), self.palette.dim)
        return canvas

    def draw(self, index: int, width: int) -> Canvas:
        """One row of both sides."""
        pair = self.pairs[index]
        canvas = self.canvas(width)
        middle = self._middle(width)
        cursor = self.desk.cursor
        canvas.put(0, f"{pair.seq:>4}", self.palette.dim)
        if self.size.width >= ROOMY:
            canvas.put(5, f"{seconds(pair.at):>9}", self.palette.dim)
        if pair.line is not None and pair.line.role == "reset":
            self._draw_reset(canvas, pair.line, width)
            return canvas
        self._draw_sides(canvas, pair, middle, width)
        sign, style = ("≠", self.palette.bad) if pair.wrong else ("=", self.palette.dim)
        if pair.line is None or pair.seen is None:
            sign = sign if pair.wrong else " "
        elif max(pair.line.seq, pair.seen.seq) > cursor >= pair.seq:
            sign = "…"
        canvas.put(middle - 1, sign, style)
        if pair.seq > cursor:
            canvas.restyle(self.palette.faint)
        return canvas

    def _draw_reset(self, canvas: Canvas, line: Line, width: int) -> None:
        text = cut(f"── reset: {line.text} begins, and knows nothing of the above ", width - self._gutter - 2)
        style = self.palette.accent if line.seq <= self.desk.cursor else self.palette.faint
        canvas.put(self._gutter, text + "─" * max(width - self._gutter - 2 - cell_len(text), 0), style)

    def _draw_sides(self, canvas: Canvas, pair: Pair, middle: int, width: int) -> None:
        left_room, right_room = middle - self._gutter - 2, width - middle - 2
        right = middle + 2
        cursor = self.desk.cursor
        if pair.line is not None:
            style = self.palette.base if pair.line.seq <= cursor else self.palette.faint
            role = "older" if pair.line.earlier else pair.line.role
            self._side(canvas, self._gutter, left_room, role, pair.line.text, style)
        elif pair.wrong or pair.note:
            canvas.put(self._gutter, cut(pair.note or pair.difference, left_room), self._gap(pair))
        if pair.seen is not None:
            style = self._seen_style(pair) if pair.seen.seq <= cursor else self.palette.faint
            who = pair.seen.who or self._tag(pair)
            self._side(canvas, right, right_room, who, pair.seen.text, style)
        elif pair.wrong or pair.note:
            canvas.put(right, cut(pair.note or pair.difference, right_room), self._gap(pair))
        elif pair.line is not None and pair.line.role == "hand":
            canvas.put(right, cut("(told to the agent only)", right_room), self.palette.dim)

    def _side(self, canvas: Canvas, x: int, room: int, who: str, text: str, style: Style) -> None:
        label = cut(who, 8)
        canvas.put(x, label, self.palette.dim if style is not self.palette.faint else style)
        start = max(cell_len(label) + 1, 6)
        canvas.put(x + start, cut(quoted(text), room - start), style)

    def _gap(self, pair: Pair) -> Style:
        return self.palette.warn + Style(italic=True) if pair.wrong else self.palette.dim

    def _tag(self, pair: Pair) -> str:
        copy = self.desk.run.view.marks.copies.get(pair.seen.seq) if pair.seen else None
        return f"bot {copy.number}×" if copy else "bot"

    def _seen_style(self, pair: Pair) -> Style:
        seq = pair.seen.seq if pair.seen else 0
        copy = self.desk.run.view.marks.copies.get(seq)
        if copy:
            return self.palette.fill_bad if copy.number > 1 else self.palette.bad + Style(underline=True)
        if pair.difference is Difference.TEXT:
            return self.palette.warn
        return self.palette.base
