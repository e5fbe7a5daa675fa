"""A session's transcript on the left, what people saw in its conversation on the right, aligned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.style import Style

from trunkline.app.text.cells import cut, middle_cut, quoted, seconds
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.index.transcripts import TranscriptEntry
from trunkline.app.view.index.visible_messages import VisibleMessage
from trunkline.app.view.sessions.alignment_index import AlignedPair, AlignmentIndex, TranscriptDifference
from trunkline.app.view.sessions.transcripts import SessionListRow
from trunkline.app.view.sessions.violations import SessionViolations

#: cells of the author; cells shown before and after the first difference of two texts
_LABEL, _BEFORE, _AFTER = 8, 6, 8
#: cells of the name of a conversation
_PLACE = 14
#: from this width on there is a column for the time
ROOMY = 96


class Alignment(RowList):
    """Rows of `trunkline.app.view.sessions.transcripts`; ``≠`` marks sides that differ."""

    BORDER_TITLE = "Transcript"
    heading = 1

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self.row: SessionListRow | None = None
        self.pairs: Sequence[AlignedPair] = ()
        self._index: AlignmentIndex | None = None
        self._blame: SessionViolations | None = None
        #: rows that differ or violate an invariant, with the pairs and violations they were computed from
        self._wrong: tuple[object, SessionViolations | None, tuple[int, ...]] = (None, None, ())
        #: names of the conversations beside each message, if the session has several
        self._several: dict[PlaceKey, str] = {}

    @property
    def count(self) -> int:
        return len(self.pairs)

    def empty_text(self) -> str:
        return f"nothing was said in this {'place' if self.workspace.inside_unknown() else 'session'}"

    def sync(self, row: SessionListRow | None, blame: SessionViolations | None = None) -> None:
        """Show a session at the cursor, with its violations."""
        if row is None:
            return
        self.row, self._blame = row, blame or self._blame
        self.pairs = self.workspace.run.sessions.pairs(row.owner)
        room = max(self.size.width - 6, 20)
        name = middle_cut(self._title(row), room)
        self._index = self.workspace.run.sessions.index(row.owner)
        self._judge()
        ahead = len(self._index.wrong) - row.differences
        agree = f"{row.differences} ≠" if row.differences else self._agreement()
        agree += f", {ahead} ≠ ahead" if ahead else ""
        copies = f"{row.copies} seen again  " if row.copies else ""
        self.set_titles(name, copies + agree)
        self.invalidate()
        self.select(self._index.row_at(self.workspace.cursor))

    def _title(self, row: SessionListRow) -> str:
        if self.workspace.run.view.wire_side:
            return f"{row.place}: the model beside what people saw"
        return f"Transcript of {row.title}" if row.key else f"{row.place}: no session"

    def _left_title(self) -> str:
        wire_side = self.workspace.run.view.wire_side
        return "the model was asked, and said" if wire_side else "the transcript holds"

    def _agreement(self) -> str:
        """The meaning of a transcript without differences; empty if it has no lines."""
        if not self.pairs:
            return ""
        # A gateway does not know what people see: there is nothing to compare with.
        return "both sides agree" if self.workspace.run.view.visible.witnessed else "not known what people saw"

    def _judge(self) -> None:
        if self._wrong[0] is self.pairs and self._wrong[1] is self._blame:
            return
        blame = self._blame
        wrong = (at for at, pair in enumerate(self.pairs) if pair.wrong or (blame is not None and blame.is_wrong(pair)))
        self._wrong = self.pairs, blame, tuple(wrong)
        self._several = self._names({pair.seen.place for pair in self.pairs if pair.seen is not None})

    def _names(self, found: set[PlaceKey]) -> dict[PlaceKey, str]:
        """The names of the conversations beside each message; none if there is only one."""
        if len(found) < 2:
            return {}
        places = self.workspace.run.view.places
        labels = {place: places.label(places.at(place).address) for place in found}
        short = {place: label.rpartition("/")[2] for place, label in labels.items()}
        return short if len(set(short.values())) == len(found) else labels

    def on_resize(self) -> None:
        if self.workspace.open_run:
            self.sync(self.row)
        super().on_resize()

    def marks(self) -> Iterable[int]:
        return self._wrong[2]

    def target(self) -> int | None:
        return self.pairs[self.selected].delivery if 0 <= self.selected < self.count else None

    @property
    def _gutter(self) -> int:
        return 15 if self.size.width >= ROOMY else 6

    def _middle(self, width: int) -> int:
        return self._gutter + (width - self._gutter) // 2

    def draw_heading(self, line: int, width: int) -> Canvas:
        canvas = self.canvas(width)
        middle = self._middle(width - 1)
        canvas.put(3, "#", self.palette.dim)
        if self.size.width >= ROOMY:
            canvas.put(9, "time" if self.workspace.run.view.header.of_gateway else "t (s)", self.palette.dim)
        canvas.put(self._gutter, self._left_title(), self.palette.dim)
        place = self.row.place if self.row else ""
        canvas.put(middle + 2, cut(f"people saw in {place}", width - middle - 3), self.palette.dim)
        return canvas

    def draw(self, index: int, width: int) -> Canvas:
        pair = self.pairs[index]
        canvas = self.canvas(width)
        middle = self._middle(width)
        cursor = self.workspace.cursor
        canvas.put(0, f"{pair.seq:>4}", self.palette.dim)
        if self.size.width >= ROOMY:
            canvas.put(5, f"{seconds(pair.at):>9}", self.palette.dim)
        if pair.line is not None and pair.line.role == "reset":
            self._draw_reset(canvas, pair.line, width)
            return canvas
        broken = self._blame.row(pair, cursor) if self._blame is not None else ""
        broken = f" ✗ {broken}" if broken else ""
        self._draw_sides(canvas, pair, middle, width - cell_len(broken))
        canvas.put(width - cell_len(broken), broken, self.palette.bad)
        sign, style = ("≠", self.palette.bad) if pair.wrong else ("=", self.palette.dim)
        if pair.line is None or pair.seen is None:
            sign = sign if pair.wrong else " "
        elif max(pair.line.seq, pair.seen.seq) > cursor >= pair.seq:
            sign = "…"
        canvas.put(middle - 1, sign, style)
        if pair.seq > cursor:
            canvas.restyle(self.palette.faint)
        return canvas

    def _draw_reset(self, canvas: Canvas, line: TranscriptEntry, width: int) -> None:
        text = cut(f"── reset: {line.text} begins, and knows nothing of the above ", width - self._gutter - 2)
        style = self.palette.accent if line.seq <= self.workspace.cursor else self.palette.faint
        canvas.put(self._gutter, text + "─" * max(width - self._gutter - 2 - cell_len(text), 0), style)

    def _draw_sides(self, canvas: Canvas, pair: AlignedPair, middle: int, width: int) -> None:
        left_room, right_room = middle - self._gutter - 2, width - middle - 2
        right = middle + 2
        cursor = self.workspace.cursor
        if pair.line is not None:
            style = self.palette.base if pair.line.seq <= cursor else self.palette.faint
            role = pair.line.earlier or pair.line.role
            if pair.line.earlier and pair.line.seq <= cursor:
                style = self.palette.warn
            text = self._shown(pair, pair.line.text, left_room)
            self._side(canvas, self._gutter, left_room, role, text, style)
        elif pair.wrong or pair.note:
            canvas.put(self._gutter, cut(pair.note or pair.difference, left_room), self._gap(pair))
        if pair.seen is not None:
            style = self._seen_style(pair) if pair.seen.seq <= cursor else self.palette.faint
            who = pair.seen.who or self._tag(pair)
            right_room -= self._draw_place(canvas, pair.seen, right + right_room)
            self._side(canvas, right, right_room, who, self._shown(pair, pair.seen.text, right_room), style)
        elif pair.wrong or pair.note:
            canvas.put(right, cut(pair.note or pair.difference, right_room), self._gap(pair))
        elif pair.line is not None and pair.line.role in ("hand", "delivery"):
            canvas.put(right, cut("(seen by the agent only)", right_room), self.palette.dim)

    def _shown(self, pair: AlignedPair, text: str, room: int) -> str:
        """The text, from a little before the first difference if that would be cut off."""
        if pair.difference is not TranscriptDifference.TEXT or pair.line is None or pair.seen is None:
            return text
        both = zip(pair.line.text, pair.seen.text, strict=False)
        shorter = min(len(pair.line.text), len(pair.seen.text))
        first = next((at for at, (one, other) in enumerate(both) if one != other), shorter)
        return text if first < room - _LABEL - _AFTER else f"…{text[max(first - _BEFORE, 0) :]}"

    def _draw_place(self, canvas: Canvas, seen: VisibleMessage, end: int) -> int:
        """Draw the conversation, if the session has several. Returns the cells that it takes."""
        if seen.place not in self._several:
            return 0
        text = f" {middle_cut(self._several[seen.place], _PLACE)}"
        style = self.palette.dim if seen.seq <= self.workspace.cursor else self.palette.faint
        canvas.put(end - cell_len(text), text, style)
        return cell_len(text)

    def _side(self, canvas: Canvas, x: int, room: int, who: str, text: str, style: Style) -> None:
        label = cut(who, _LABEL)
        canvas.put(x, label, self.palette.dim if style is not self.palette.faint else style)
        start = max(cell_len(label) + 1, 6)
        canvas.put(x + start, cut(quoted(text), room - start), style)

    def _gap(self, pair: AlignedPair) -> Style:
        return self.palette.warn + Style(italic=True) if pair.wrong else self.palette.dim

    def _tag(self, pair: AlignedPair) -> str:
        copy = self.workspace.run.view.marks.copies.get(pair.seen.seq) if pair.seen else None
        return f"bot {copy.number}×" if copy else "bot"

    def _seen_style(self, pair: AlignedPair) -> Style:
        seq = pair.seen.seq if pair.seen else 0
        copy = self.workspace.run.view.marks.copies.get(seq)
        if copy:
            return self.palette.fill_bad if copy.number > 1 else self.palette.bad + Style(underline=True)
        if pair.difference is TranscriptDifference.TEXT:
            return self.palette.warn
        return self.palette.base
