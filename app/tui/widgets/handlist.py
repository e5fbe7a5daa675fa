"""The list of the runs of hands: who works on what for whom, who has heard of it; and the record of one."""

from __future__ import annotations

from collections.abc import Sequence

from app.tui.desk import Desk
from app.tui.widgets.canvas import Canvas
from app.tui.widgets.cursorlist import CursorList, Detail
from app.tui.widgets.table import Col
from app.view.fact import Fact, Tone
from app.view.hands import HAND_WORDS, HandRow, HandState, hand_facts, spoken
from app.view.life_words import EMPTY, Cell, place_cell
from app.view.resolve import title
from app.view.text import clean, quoted

_NARROW = (
    Col("state", 10),
    Col("hand", 9),
    Col("origin", 11),
    Col("age", 7, True),
    Col("outcome", 7),
    Col("callback", 5),
    Col("said", 0),
)
_ROOMY = (
    Col("state", 11),
    Col("id", 4),
    Col("hand", 12),
    Col("task", 0),
    Col("origin", 16),
    Col("age", 7, True),
    Col("outcome", 8),
    Col("callback", 8),
    Col("said", 24),
    Col("broken", 6),
)
_WIDE = (
    Col("state", 11),
    Col("id", 4),
    Col("hand", 16),
    Col("agent", 10),
    Col("task", 0),
    Col("origin", 20),
    Col("session", 30),
    Col("age", 8, True),
    Col("outcome", 8),
    Col("callback", 8),
    Col("said", 32),
    Col("broken", 9),
)
ROOMY, WIDE = 96, 160


class HandList(CursorList):
    """Every run of a hand as it was at the cursor."""

    def __init__(self, desk: Desk, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(desk, id=id)
        self.border_title = "Hands"
        self.rows: list[HandRow] = []

    @property
    def count(self) -> int:
        """Runs, also those that begin later."""
        return len(self.rows)

    def empty_text(self) -> str:
        """Nothing was delegated."""
        return "no hand was given work in this run"

    def sync(self) -> None:
        """Follow the desk; the selection stays."""
        if self.desk.opened is None:
            return
        self.rows = self.desk.run.hands.rows(self.desk.cursor)
        begun = sum(row.state is not HandState.LATER for row in self.rows)
        told = sum(row.state is HandState.TOLD for row in self.rows)
        self.entitle(f"Hands {begun}/{self.count}  {told} told" if self.rows else "Hands")
        self.keep()

    def follow(self, seq: int) -> None:
        """Select the run that an event is about."""
        found = self.desk.run.hands.concerned(self.desk.run.view.event(seq))
        index = next((at for at, row in enumerate(self.rows) if row.id == found), None)
        if index is not None:
            self.select(index)

    @property
    def chosen(self) -> HandRow | None:
        """The selected run."""
        return self.rows[self.selected] if 0 <= self.selected < self.count else None

    def target(self) -> int | None:
        """The event with which the selected run began."""
        return self.chosen.since if self.chosen is not None else None

    def marks(self) -> tuple[int, ...]:
        """Runs that broke something, or that nobody was told of."""
        return tuple(at for at, row in enumerate(self.rows) if row.broken or row.over)

    # ------------------------------------------------------------ drawing

    @property
    def _columns(self) -> tuple[Col, ...]:
        width = self.size.width
        return _WIDE if width >= WIDE else _ROOMY if width >= ROOMY else _NARROW

    def draw_heading(self, line: int, width: int) -> Canvas:
        """Titles of the columns."""
        return self.put_titles(self._columns, width) if self.count else self.canvas(width)

    def draw(self, index: int, width: int) -> Canvas:
        """One run."""
        row = self.rows[index]
        canvas = self.canvas(width)
        return self.put_cells(canvas, self._columns, self._cells(row), later=row.state is HandState.LATER)

    def _cells(self, row: HandRow) -> dict[str, Cell]:
        places = self.desk.run.view.places
        shape, tone = HAND_WORDS[row.state]
        wrong = bool(row.broken) or row.over
        state = f"{'✗' if wrong else shape} {row.state}"
        slow = row.overran or (row.waits or 0.0) > 0
        return {
            "state": Cell(text=state, tone=Tone.BAD if wrong else tone),
            "id": Cell(text=row.name),
            "hand": Cell(text=clean(row.hand) + (f" {row.runs}×" if row.runs > 1 else "")),
            "agent": Cell(text=row.agent or "·"),
            "task": Cell(text=quoted(row.task)),
            "origin": place_cell(title(places, row.origin)) if row.origin else Cell(text="nowhere", tone=Tone.DIM),
            "session": Cell(text=row.session or "·", tone=Tone.PLAIN if row.session else Tone.DIM),
            "age": EMPTY if row.state is HandState.LATER else _age(row),
            "outcome": _outcome(row),
            "callback": Cell(text=f"#{row.callback}") if row.callback else EMPTY,
            "said": self._said(row, slow=slow),
            "broken": Cell(text=" ".join(row.broken), tone=Tone.BAD),
        }

    def _said(self, row: HandRow, *, slow: bool) -> Cell:
        if row.said:
            twice = len(row.said) > 1 and bool(row.broken)
            text = spoken(self.desk.run.view, row)
            several = len({one.address.lane for one in row.said}) > 1
            number = f"{len(row.said)}× " if several else ""
            cell = place_cell(number + text)
            return Cell(text=cell.text, more=cell.more, tone=Tone.BAD if twice else Tone.PLAIN)
        if row.over and row.finished:
            return Cell(text="✗ nobody", more="✗ nobody was told", tone=Tone.BAD)
        if row.waits is not None and slow:
            return Cell(text=f"… {row.waits:.1f}s", more=f"not yet, for {row.waits:.1f} s", tone=Tone.WARN)
        return EMPTY


def _age(row: HandRow) -> Cell:
    text = f"{row.age:.3f}" if row.age < 1000 else f"{row.age:.0f}"
    return Cell(text=text, tone=Tone.WARN if row.overran else Tone.PLAIN)


def _outcome(row: HandRow) -> Cell:
    if row.outcome is None:
        return EMPTY
    return Cell(text=str(row.outcome), tone=Tone.GOOD if row.outcome == "ok" else Tone.WARN, seq=row.finished)


_EMPTY = (
    ("what", "a hand is a helper that works on a task on its own and reports back to the conversation that asked"),
    ("made by", "an agent's tool `delegate`: no agent called it in this run"),
)


class HandRecord(Detail):
    """The fields of the selected run, and its story."""

    def subject(self, rows: CursorList) -> object:
        """The run."""
        return rows.chosen.id if isinstance(rows, HandList) and rows.chosen is not None else None

    def facts(self, rows: CursorList) -> tuple[str, Sequence[Fact]]:
        """The run as it is at the cursor; of none, what hands are."""
        row = rows.chosen if isinstance(rows, HandList) else None
        if row is None:
            return "Hand", [Fact(label=label, text=text) for label, text in _EMPTY]
        run = self.desk.run
        return f"Hand {row.name}  {clean(row.hand)}", list(hand_facts(run.view, run.hands, row, self.desk.cursor))
