"""Sessions: every transcript beside what people saw."""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.style import Style

from trunkline.app.text.cells import cut, middle_cut, quoted, seconds
from trunkline.app.tui.screens.list_screen import InspectedListScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cursor_list import ChoosableList, ListColumn, Span, StyledCell
from trunkline.app.tui.widgets.row_list import Canvas, RowList
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.index.transcripts import TranscriptEntry, VisibleMessage
from trunkline.app.view.sessions.alignment_index import AlignedPair, TranscriptDifference
from trunkline.app.view.sessions.similar_keys import cut_around, group_similar
from trunkline.app.view.sessions.transcripts import SessionListRow, SessionViolations
from trunkline.app.view.wire_side.facts import not_known

# A session's transcript on the left, what people saw in its conversation on the right, aligned.

#: cells of the author; cells shown before and after the first difference of two texts
_LABEL, _BEFORE, _AFTER = 8, 6, 8
#: cells of the name of a conversation
_PLACE = 14
#: from this width on there is a column for the time


class Alignment(RowList):
    """Rows of `trunkline.app.view.sessions.transcripts`; ``≠`` marks sides that differ."""

    BORDER_TITLE = "Transcript"
    heading = 1

    row: SessionListRow | None = None
    pairs: Sequence[AlignedPair] = ()
    _blame: SessionViolations | None = None
    #: the pairs and violations that `wrong` was computed from
    _judged: tuple[object, SessionViolations | None] = (None, None)
    #: names of the conversations beside each message, if the session has several
    _several: Mapping[PlaceKey, str] = {}

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
        index = self.workspace.run.sessions.index(row.owner)
        self._judge()
        ahead = len(index.wrong) - row.differences
        agree = f"{row.differences} ≠" if row.differences else self._agreement()
        agree += f", {ahead} ≠ ahead" if ahead else ""
        copies = f"{row.copies} seen again  " if row.copies else ""
        self.set_titles(name, copies + agree)
        self.invalidate()
        self.select(index.row_at(self.workspace.cursor))

    def _title(self, row: SessionListRow) -> str:
        if self.workspace.run.view.wire_side:
            return f"{row.place}: the model beside what people saw"
        return f"Transcript of {row.title}" if row.key else f"{row.place}: no session"

    def _agreement(self) -> str:
        """The meaning of a transcript without differences; empty if it has no lines."""
        if not self.pairs:
            return ""
        # A gateway does not know what people see: there is nothing to compare with.
        return "both sides agree" if self.workspace.run.view.visible.witnessed else "not known what people saw"

    def _judge(self) -> None:
        blame = self._blame
        if self._judged[0] is self.pairs and self._judged[1] is blame:
            return
        wrong = (at for at, pair in enumerate(self.pairs) if pair.wrong or (blame is not None and blame.is_wrong(pair)))
        self.wrong, self._judged = tuple(wrong), (self.pairs, blame)
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
        wire_side = self.workspace.run.view.wire_side
        left = "the model was asked, and said" if wire_side else "the transcript holds"
        canvas.put(self._gutter, left, self.palette.dim)
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
        first = next((at for at, (left, other) in enumerate(both) if left != other), shorter)
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


_NONE, _NO_SESSION = "·", "no session"
#: columns that are red unless empty
_WRONG = frozenset({"2×", "≠", "broken"})
#: from this width on there are more columns
ROOMY = 96


class SessionList(ChoosableList[SessionListRow]):
    BORDER_TITLE = "Sessions"
    layouts = {
        ROOMY: "conversation ~26 | session key * | in >4 | out >4 | 2× >3 | ≠ >3 | last >8 | broken 11",
        0: "conversation ~19 | session key * | in >4 | out >4 | 2× >3 | ≠ >3 | broken 6",
    }

    #: line -> where its key differs from a similar one beside it
    _spots: Mapping[int, range] = {}
    _names: Sequence[str] = ()
    _order: Sequence[int] = ()
    #: the session that was chosen
    _kept: str | PlaceKey | None = None
    blame: SessionViolations | None = None

    def empty_text(self) -> str:
        none = "nobody has said anything so far" if self.workspace.inside_unknown() else "no session in this run"
        return self.workspace.unmade("sessions") or none

    def fill(self) -> None:
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
        self.wrong = tuple(at for at, found in enumerate(wrong) if found)

    def choose(self, thing: str | PlaceKey) -> None:
        if self.select_where(lambda row: row.owner == thing):
            self.remember()

    def follow(self, seq: int) -> None:
        owner = self.workspace.run.sessions.owner_of(seq)
        if owner is not None:
            self.choose(owner)
        elif seq == self.workspace.run.view.last:
            self.begin()

    def subject(self) -> int | None:
        return self.chosen.since if self.chosen is not None else None

    def begin(self) -> None:
        """Select the first session with something wrong: none was chosen, or the run is over."""
        self._kept = None
        self.select(next(iter(self.marks()), 0))

    def remember(self) -> None:
        self._kept = self.chosen.owner if self.chosen is not None else None

    def style(self, index: int, title: str, text: str) -> Style:
        if title in _WRONG and text not in (_NONE, ""):
            return self.palette.bad
        if text in (_NONE, _NO_SESSION):
            return self.palette.dim
        return self.palette.faint if self.rows[index].since > self.workspace.cursor else self.palette.base

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

    def texts(self, index: int) -> dict[str, str]:
        row = self.rows[index]
        counts = {"in": row.heard, "out": row.said, "2×": row.copies, "≠": row.differences}
        return {
            "conversation": row.place,
            "session key": row.title or _NO_SESSION,
            **{name: str(number) if number else _NONE for name, number in counts.items()},
            "last": seconds(row.last) if row.last else _NONE,
            "broken": self.blame.session(row.owner, self.workspace.cursor) if self.blame else "",
        }


#: from this height on the list may be longer
HIGH = 32


class SessionsScreen(InspectedListScreen[SessionList, Alignment], screen="sessions"):
    """The list, the alignment of the selected session, and in a high terminal the explanation."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, SessionList(workspace, id="sessions"), Alignment(workspace, id="sides"))

    def fit(self) -> None:
        self.fit_list(8 if self.host.size.height < HIGH else 12)

    def show_detail(self) -> None:
        self.detail.sync(self.list.chosen, self.list.blame)

    def select_row(self, pane: RowList, index: int) -> None:
        """Select a session; a row of the sides moves the cursor, and the session stays."""
        if pane is self.detail and pane.count:
            self.workspace.seek(self.detail.pairs[index].seq)
            self._seen = self.moment()
            self.moved()
        else:
            super().select_row(pane, index)

    def picked(self) -> None:
        self.list.remember()
        super().picked()

    def enter_detail(self) -> None:
        self.detail.focus()
