"""The list of delegations: work and callback as columns, or as bars over time; and the record of one."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from trunkline.app.text.fact import Fact
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.column_list import ListColumn, ListedRow, Span, StyledCell, columns
from trunkline.app.tui.widgets.cursor_list import CursorList, Detail
from trunkline.app.view.bindings.lifetime_bar import column
from trunkline.app.view.hands.bars import LEGEND, SpanPart, run_bar, span_of
from trunkline.app.view.hands.cells import hand_cells
from trunkline.app.view.hands.facts import hand_facts
from trunkline.app.view.hands.row import HandRow
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.wire_side.unknown import shown_instead

TIME = "time"
_NARROW = columns("work 11 | callback 15 | id ~3 | hand 10 | origin ~11 | age >7 | outcome *")
_ROOMY = columns("work 12 | callback 15 | id ~4 | hand 14 | asked by 8 | origin ~14 | age >8 | left >8 | outcome ~*")
_BROAD = columns(
    "work 12 | callback 15 | id ~4 | hand 16 | kind 8 | asked by 10 | origin ~16 | tries >5 | age >8 | left >8 | "
    "outcome ~36 | task *"
)
_WIDE = columns(
    "work 12 | callback 15 | id ~5 | hand 16 | kind 8 | label 14 | asked by 12 | origin ~20 | tries >5 | age >9 | "
    "left >9 | outcome ~36 | task *"
)
_BARS_NARROW = columns("id ~3 | hand 10 | time * | callback 15")
_BARS_ROOMY = columns("id ~4 | hand 14 | asked by 8 | time * | callback 15")
_BARS_WIDE = columns("id ~5 | hand 16 | label 14 | asked by 12 | origin ~20 | time * | callback 15")
#: from these widths on there is room for more columns
ROOMY, BROAD, WIDE = 108, 150, 190


class HandList(CursorList[HandRow]):
    """Every delegation as it was at the cursor; those that a hand delegated are below their parent."""

    BORDER_TITLE = "Hands"
    columns_of = ((WIDE, _WIDE), (BROAD, _BROAD), (ROOMY, _ROOMY), (0, _NARROW))
    bars_of = ((BROAD, _BARS_WIDE), (ROOMY, _BARS_ROOMY), (0, _BARS_NARROW))
    layouts = columns_of

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        #: bars over time instead of columns
        self.bars = False
        self._wrong: tuple[int, ...] = ()
        self._span = (0.0, 0.0)

    def empty_text(self) -> str:
        none = self.workspace.inside_unknown() or "no hand was given work in this run"
        return self.workspace.unmade("hands") or none

    def switch(self) -> None:
        """From columns to bars over time, and back."""
        self.bars = not self.bars
        self.layouts = self.bars_of if self.bars else self.columns_of
        self.sync()

    def sync(self) -> None:
        if self.workspace.open_run is None:
            return
        hands, cursor = self.workspace.run.hands, self.workspace.cursor
        self.rows = hands.rows(cursor)
        self._wrong = tuple(hands.wrong(cursor))
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

    def marks(self) -> tuple[int, ...]:
        """Delegations that violate an invariant, or whose result was not delivered."""
        return self._wrong

    # ------------------------------------------------------------ drawing

    def cells(self, index: int) -> dict[str, StyledCell]:
        row = self.rows[index]
        run = self.workspace.run
        above = run.hands.name(row.parent) if row.parent else ""
        cells = self.styled(hand_cells(run.view, row, above), later=row.later)
        return cells | {TIME: StyledCell("", self.palette.base)}

    def draw_title(self, canvas: Canvas, column: ListColumn, x: int, size: int) -> None:
        """Draw a title; above the bars their scale, and the cursor on it."""
        if column.title == TIME:
            self.draw_scale(canvas, x, size, self._span, self._now, 2)
        else:
            super().draw_title(canvas, column, x, size)

    def draw_cell(self, canvas: Canvas, index: int, column: ListColumn, cell: StyledCell, span: Span) -> None:
        if column.title == TIME:
            self._draw_bar(canvas, index, span)
        else:
            super().draw_cell(canvas, index, column, cell, span)

    @property
    def _now(self) -> float:
        return self.workspace.run.view.time(self.workspace.cursor)

    def _draw_bar(self, canvas: Canvas, index: int, span: Span) -> None:
        run, palette = self.workspace.run, self.palette
        x, size = span
        here = column(self._now, self._span, size) if self._now >= self._span[0] else -1
        styles: dict[SpanPart, Style] = {
            SpanPart.WAITS: palette.dim,
            SpanPart.WORKS: palette.primary,
            SpanPart.TURN: palette.accent,
            SpanPart.QUEUED: palette.warn,
            SpanPart.PARKED: palette.warn,
            SpanPart.ORPHANED: palette.bad,
        }
        history = run.hands.histories[index]
        for at, cell in enumerate(run_bar(run.view, run.hands, history, self._span, self._now, size)):
            if cell.part is not SpanPart.NONE:
                style = styles.get(cell.part) or palette.tone(cell.tone) + Style(bold=True)
                canvas.put(x + at, cell.char, palette.faint if cell.later else style)
            elif at == here:
                canvas.put(x + at, "│", palette.rail)


_EMPTY = (
    ("what", "a hand is a helper that works on a task on its own and reports back to the conversation that asked"),
    ("made by", "an agent's tool `agent_send_async`: no agent called it in this run"),
    ("shown", "the task, its origin and deadline, what the hand did, and where its result was delivered"),
)


class HandRecord(Detail):
    """The fields of the selected delegation, and its events."""

    def subject(self, rows: CursorList[ListedRow]) -> object:
        return rows.chosen.id if isinstance(rows, HandList) and rows.chosen is not None else None

    def facts(self, rows: CursorList[ListedRow]) -> tuple[str, Sequence[Fact]]:
        """The delegation at the cursor; without one, what hands are."""
        row = rows.chosen if isinstance(rows, HandList) else None
        if row is None:
            if self.workspace.run.view.wire_side:
                return "Hand", shown_instead("hands and their work")
            return "Hand", [Fact(label, text) for label, text in _EMPTY]
        run = self.workspace.run
        return f"Hand {row.name}  {row.body.hand}", list(hand_facts(run.view, run.hands, row, self.workspace.cursor))
