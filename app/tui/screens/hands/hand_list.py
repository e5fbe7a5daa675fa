"""The list of runs of hands: hand, task, origin, deadline, outcome and callback; and the record of one."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.app.tui.widgets.column_list import ListedRow, StyledCell, columns
from trunkline.app.tui.widgets.cursor_list import CursorList, Detail
from trunkline.app.view.explain.resolver import title
from trunkline.app.view.hands.facts import HAND_WORDS, hand_facts, spoken
from trunkline.app.view.hands.runs import OUTCOMES, OVER, HandRow, HandState
from trunkline.app.view.labels.messages import EMPTY, LabelCell, place_cell
from trunkline.app.view.text.cells import clean, quoted, seconds
from trunkline.app.view.text.fact import Fact, Tone
from trunkline.core.hands.results import HandOutcome

_NARROW = columns("state 12 | id ~3 | hand 8 | origin ~11 | age >7 | ended 7 | callback 4 | said ~*")
_ROOMY = columns(
    "state 14 | id ~3 | hand 11 | agent 7 | origin ~14 | age >8 | deadline >8 | ended 7 | "
    "callback 8 | said ~* | broken 6"
)
_WIDE = columns(
    "state 14 | id ~4 | hand 16 | agent 10 | task * | origin ~20 | session ~30 | age >9 | "
    "deadline >9 | ended 8 | callback 8 | said ~28 | broken 9"
)
ROOMY, WIDE = 96, 160


class HandList(CursorList[HandRow]):
    """Every run of a hand as it was at the cursor."""

    BORDER_TITLE = "Hands"
    layouts = ((WIDE, _WIDE), (ROOMY, _ROOMY), (0, _NARROW))

    def empty_text(self) -> str:
        return self.workspace.unmade("hands") or "no hand was given work in this run"

    def sync(self) -> None:
        if self.workspace.open_run is None:
            return
        self.rows = self.workspace.run.hands.rows(self.workspace.cursor)
        begun = sum(row.state is not HandState.LATER for row in self.rows)
        over = sum(row.state in OVER for row in self.rows)
        title = f"Hands {begun}/{self.count}  {over} reported back" if self.rows else "Hands"
        self.set_titles(title, "Enter goes to the record, and from there to an event" if self.rows else "")
        self.keep()

    def follow(self, seq: int) -> None:
        found = self.workspace.run.hands.concerned(self.workspace.run.view.event(seq))
        self.select_where(lambda row: row.id == found)

    def target(self) -> int | None:
        return self.chosen.since if self.chosen is not None else None

    def marks(self) -> tuple[int, ...]:
        """Runs that violate an invariant, or whose result was not delivered."""
        return tuple(at for at, row in enumerate(self.rows) if row.wrong)

    # ------------------------------------------------------------ drawing

    def cells(self, index: int) -> dict[str, StyledCell]:
        row = self.rows[index]
        return self.styled(self._cells(row), later=row.state is HandState.LATER)

    def _cells(self, row: HandRow) -> dict[str, LabelCell]:
        places = self.workspace.run.view.places
        slow = row.overran or (row.waits or 0.0) > 0
        return {
            "state": _state(row),
            "id": LabelCell(text=row.name),
            "hand": LabelCell(text=clean(row.hand) + (f" {row.runs}×" if row.runs > 1 else "")),
            "agent": LabelCell(text=row.agent or "·"),
            "task": LabelCell(text=quoted(row.task)),
            "origin": place_cell(title(places, row.origin)) if row.origin else LabelCell(text="nowhere", tone=Tone.DIM),
            "session": LabelCell(text=row.session or "·", tone=Tone.PLAIN if row.session else Tone.DIM),
            "age": EMPTY if row.state is HandState.LATER else _age(row),
            "deadline": _deadline(row),
            "ended": _ended(row),
            "callback": LabelCell(text=f"#{row.callback}") if row.callback else EMPTY,
            "said": self._said(row, slow=slow),
            "broken": LabelCell(text=" ".join(row.broken), tone=Tone.BAD),
        }

    def _said(self, row: HandRow, *, slow: bool) -> LabelCell:
        if row.said:
            twice = len(row.said) > 1 and bool(row.broken)
            text = spoken(self.workspace.run.view, row)
            several = len({one.address.lane for one in row.said}) > 1
            number = f"{len(row.said)}× " if several else ""
            cell = place_cell(number + text)
            return LabelCell(text=cell.text, more=cell.more, tone=Tone.BAD if twice else Tone.PLAIN)
        if row.over and row.finished:
            return LabelCell(text="✗ none", more="✗ not delivered", tone=Tone.BAD)
        if row.waits is not None and slow:
            return LabelCell(text=f"… {row.waits:.1f}s", more=f"not yet, for {row.waits:.1f} s", tone=Tone.WARN)
        return EMPTY


def _age(row: HandRow) -> LabelCell:
    return LabelCell(text=_short(row.age), tone=Tone.WARN if row.overran else Tone.PLAIN)


def _state(row: HandRow) -> LabelCell:
    shape, tone = HAND_WORDS[row.state]
    if row.overdue:
        return LabelCell(text=f"✗ L2 {row.word}", tone=Tone.BAD)
    return LabelCell(text=f"{'✗' if row.wrong else shape} {row.word}", tone=Tone.BAD if row.wrong else tone)


def _deadline(row: HandRow) -> LabelCell:
    if row.deadline is None or row.state is HandState.LATER:
        return EMPTY
    tone = Tone.BAD if row.overdue else Tone.WARN if row.overran else Tone.PLAIN
    return LabelCell(text=_short(row.deadline), tone=tone)


def _ended(row: HandRow) -> LabelCell:
    if row.outcome is None:
        return EMPTY
    tone = Tone.GOOD if row.outcome is HandOutcome.OK else Tone.WARN
    return LabelCell(text=OUTCOMES[row.outcome], tone=tone, seq=row.finished)


def _short(at: float) -> str:
    return seconds(at) if at < 1000 else f"{at:.0f}"


_EMPTY = (
    ("what", "a hand is a helper that works on a task on its own and reports back to the conversation that asked"),
    ("made by", "an agent's tool `delegate`: no agent called it in this run"),
    ("shown", "the task, its origin and deadline, its outcome, and where that was delivered"),
)


class HandRecord(Detail):
    """The fields of the selected run, and its events."""

    def subject(self, rows: CursorList[ListedRow]) -> object:
        return rows.chosen.id if isinstance(rows, HandList) and rows.chosen is not None else None

    def facts(self, rows: CursorList[ListedRow]) -> tuple[str, Sequence[Fact]]:
        """The run at the cursor; without one, what hands are."""
        row = rows.chosen if isinstance(rows, HandList) else None
        if row is None:
            return "Hand", [Fact(label=label, text=text) for label, text in _EMPTY]
        run = self.workspace.run
        return f"Hand {row.name}  {clean(row.hand)}", list(hand_facts(run.view, run.hands, row, self.workspace.cursor))
