"""Hands: the delegations, and whether their results were delivered."""

from collections.abc import Iterable

from rich.style import Style

from trunkline.app.text.fact import Fact
from trunkline.app.tui.screens.list_screen import ListScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cursor_list import CursorList, RowRecord, StyledCell, TimeSpan
from trunkline.app.view.bindings.lifetime_bar import BarCell, column
from trunkline.app.view.hands.cells import LEGEND, SpanPart, hand_cells, run_bar, span_of
from trunkline.app.view.hands.columns import HandRow
from trunkline.app.view.hands.facts import hand_facts
from trunkline.app.view.index.places import PlaceKey


class HandList(CursorList[HandRow]):
    """Every delegation as it was at the cursor; those that a hand delegated are below their parent."""

    BORDER_TITLE = "Hands"
    columns_of = {
        190: "work 12 | callback 15 | id ~5 | hand 16 | kind 8 | label 14 | asked by 12 | origin ~20 | tries >5 | "
        "age >9 | left >9 | outcome ~36 | task *",
        150: "work 12 | callback 15 | id ~4 | hand 16 | kind 8 | asked by 10 | origin ~16 | tries >5 | age >8 | "
        "left >8 | outcome ~36 | task *",
        108: "work 12 | callback 15 | id ~4 | hand 14 | asked by 8 | origin ~14 | age >8 | left >8 | outcome ~*",
        0: "work 11 | callback 15 | id ~3 | hand 10 | origin ~11 | age >7 | outcome *",
    }
    bars_of = {
        150: "id ~5 | hand 16 | label 14 | asked by 12 | origin ~20 | time * | callback 15",
        108: "id ~4 | hand 14 | asked by 8 | time * | callback 15",
        0: "id ~3 | hand 10 | time * | callback 15",
    }
    layouts = columns_of
    bar_column = "time"
    scale_edge = 2

    #: bars over time instead of columns
    bars = False
    _span = (0.0, 0.0)

    def empty_text(self) -> str:
        none = self.workspace.inside_unknown() or "no hand was given work in this run"
        return self.workspace.unmade("hands") or none

    def switch(self) -> None:
        """From columns to bars over time, and back."""
        self.bars = not self.bars
        self.layouts = self.bars_of if self.bars else self.columns_of
        self.sync()

    def fill(self) -> None:
        hands, cursor = self.workspace.run.hands, self.workspace.cursor
        self.rows = hands.rows(cursor)
        self.wrong = tuple(hands.wrong(cursor))
        self._span = span_of(self.workspace.run.view, hands) if self.bars else (0.0, 0.0)
        counts = hands.counts(cursor)
        title = f"Hands {counts.accepted}/{self.count}  {counts.states}" if len(hands) else "Hands"
        hint = LEGEND if self.bars else "Enter goes to the record"
        self.set_titles(title.rstrip(), hint if len(hands) else "")
        self.keep()

    def follow(self, seq: int) -> None:
        self.choose(self.workspace.run.hands.concerned(self.workspace.run.view.event(seq)) or "")

    def choose(self, thing: str | PlaceKey) -> None:
        histories = self.workspace.run.hands.histories
        index = next((at for at, run in enumerate(histories) if run.id == thing), None)
        if index is not None:
            self.select(index)

    def target(self) -> int | None:
        return self.chosen.since if self.chosen is not None else None

    def cells(self, index: int) -> dict[str, StyledCell]:
        row = self.rows[index]
        run = self.workspace.run
        above = run.hands.name(row.parent) if row.parent else ""
        return self.styled(hand_cells(run.view, row, above), later=row.later)

    def scale(self) -> tuple[TimeSpan, float]:
        return self._span, self.workspace.run.view.time(self.workspace.cursor)

    def bar(self, index: int, width: int) -> list[BarCell[SpanPart]]:
        """The bar, and the time of the cursor where the bar is blank."""
        run, (span, now) = self.workspace.run, self.scale()
        cells = run_bar(run.view, run.hands, run.hands.histories[index], span, now, width)
        here = column(now, span, width)
        if now >= span[0] and cells[here].part is SpanPart.NONE:
            cells[here] = BarCell("│", SpanPart.NONE)
        return cells

    def bar_styles(self) -> dict[SpanPart, Style]:
        palette = self.palette
        return {
            SpanPart.NONE: palette.rail,
            SpanPart.WAITS: palette.dim,
            SpanPart.WORKS: palette.primary,
            SpanPart.TURN: palette.accent,
            SpanPart.QUEUED: palette.warn,
            SpanPart.PARKED: palette.warn,
            SpanPart.ORPHANED: palette.bad,
        }


class HandRecord(RowRecord[HandRow]):
    """The delegation at the cursor; without one, what hands are."""

    BORDER_TITLE = "Hand"
    inside = "hands and their work"
    introduction = (
        ("what", "a hand is a helper that works on a task on its own and reports back to the conversation that asked"),
        ("made by", "an agent's tool `agent_send_async`: no agent called it in this run"),
        ("shown", "the task, its origin and deadline, what the hand did, and where its result was delivered"),
    )

    def record(self, row: HandRow) -> tuple[str, Iterable[Fact]]:
        run = self.workspace.run
        return f"Hand {row.name}  {row.body.hand}", hand_facts(run.view, run.hands, row, self.workspace.cursor)


#: least maximal height of the list
LEAST_MOST = 9


class HandsScreen(ListScreen[HandList, HandRecord], screen="hands"):
    """A row per delegation; Enter goes to its record, and from there to an event."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, HandList(workspace, id="hands"), HandRecord(workspace, id="record"))

    def fit(self) -> None:
        """Size the list by its runs, within bounds: a record is long."""
        self.fit_list(max(LEAST_MOST, self.host.size.height // 3))

    def enter_row(self) -> None:
        self.enter_detail()

    def action_bars(self) -> None:
        if self.run_is_open():
            self.list.switch()

    def action_hand(self) -> None:
        """Back from the selected delegation to its message."""
        if self.run_is_open() and self.list.chosen is not None:
            self.show_message(self.list.chosen.id)
