"""Cards: small lists that tell in a few rows what another screen shows whole."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.columns import ListColumn, spread
from trunkline.app.tui.widgets.fact_list import FactList
from trunkline.app.tui.widgets.row_list import LineWidget, RowList
from trunkline.app.view.index.message import MessageHistory
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.overview.cards import (
    CardCell,
    CardRow,
    binding_row,
    family_rows,
    latest_facts,
    latest_title,
    queue_line,
    queue_row,
    recent_row,
    session_row,
)
from trunkline.app.view.text.cells import count, cut, middle_cut
from trunkline.app.view.text.lazy_sequence import LazySequence

#: cells between two columns
GAP = 1
#: below this inner width the latest violation and the queue are told briefly
BRIEF = 60
#: columns of names that differ at both ends
_BOTH_ENDS = frozenset({"conversation", "place"})


class CardTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Where Enter leads: a screen, an event for the cursor (0 leaves it), and the thing to be selected there."""

    screen: str
    seq: int = 0
    thing: str | PlaceKey = ""


class Card(RowList):
    """A list of card rows. A row is selected only while the card has the focus."""

    #: what the hint line promises of Enter
    hint = ""
    #: the screen that shows the same whole
    screen_name = ""
    #: from these inner widths on, these columns; the widest first
    layouts: tuple[tuple[int, tuple[ListColumn, ...]], ...] = ()

    def __init__(self, workspace: Workspace, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self.workspace = workspace
        self.rows: Sequence[CardRow] = ()

    @property
    def count(self) -> int:
        """Rows of the card."""
        return len(self.rows)

    def row(self, index: int) -> CardRow:
        """One row, made when it is drawn where making it is dear."""
        return self.rows[index]

    def cache_key(self, index: int) -> object:
        """What is in the row: while a run plays, most rows stay as they are, or only move."""
        row = self.row(index)
        return row.later, *row.cells.values()

    def fill(self) -> None:
        """Take rows and title from the workspace."""
        raise NotImplementedError

    def sync(self) -> None:
        """Follow the workspace."""
        if self.workspace.open_run is not None:
            self.fill()
            self.select(self.selected)

    def card_target(self) -> CardTarget:
        """Where Enter leads from here."""
        row = self.row(self.selected) if 0 <= self.selected < self.count else None
        return CardTarget(screen=self.screen_name, thing=row.thing if row else "")

    def on_focus(self) -> None:
        """The first row stands for the card."""
        self.select(max(self.selected, 0))
        self.invalidate()

    def on_blur(self) -> None:
        """Only one row of the screen is selected."""
        self.selected = -1
        self.invalidate()

    @property
    def columns(self) -> tuple[ListColumn, ...]:
        """The columns that there is room for."""
        return next(columns for least, columns in self.layouts if self.size.width >= least)

    def draw_heading(self, line: int, width: int) -> Canvas:
        """Titles of the columns."""
        canvas = self.canvas(width)
        for col, (x, size) in zip(self.columns, spread(self.columns, width - 2, GAP), strict=True):
            at = x + size - cell_len(col.title) if col.right else x
            canvas.put(at, col.title, self.palette.dim)
        return canvas

    def draw(self, index: int, width: int) -> Canvas:
        """One row."""
        canvas = self.canvas(width)
        row = self.row(index)
        for col, (x, size) in zip(self.columns, spread(self.columns, width - 1, GAP), strict=True):
            cell = row.cells[col.title]
            text = middle_cut(cell.text, size) if col.title in _BOTH_ENDS else cut(cell.text, size)
            at = x + size - cell_len(text) if col.right else x
            canvas.put(at, text, self._style(row, cell))
        return canvas

    def _style(self, row: CardRow, cell: CardCell) -> Style:
        if row.later:
            return self.palette.faint
        return self.palette.look(cell.look) if cell.look else self.palette.tone(cell.tone)


class FamiliesCard(Card):
    """The invariants by family, each with its worst status."""

    hint = "the invariants, each with its evidence"
    screen_name = "invariants"
    _SIGNS = (ListColumn("sign", 1), ListColumn("letter", 1))
    layouts = (
        (
            38,
            (
                *_SIGNS,
                ListColumn("name", 15),
                ListColumn("ids", 0),
                ListColumn("count", 3, True),
                ListColumn("at", 5, True),
            ),
        ),
        (0, (*_SIGNS, ListColumn("name", 0), ListColumn("brief", 9, True))),
    )

    def fill(self) -> None:
        """The families at the cursor."""
        verdicts = self.workspace.run.verdicts
        self.rows = family_rows(verdicts, self.workspace.cursor)
        broken = verdicts.broken(self.workspace.cursor)
        self.set_titles(f"Invariants ✗{broken}" if broken else "Invariants", self._span if self.rows else "")

    @property
    def _span(self) -> str:
        return f"ok:{self.workspace.run.view.so_far or ' in the whole run'}"

    def empty_text(self) -> str:
        """A trace that nobody judged."""
        return "no invariant was asked"


class LatestCard(FactList):
    """The latest violation; before the first one, what the run is about."""

    @property
    def hint(self) -> str:
        """What the hint line promises of Enter."""
        broken = self.workspace.run.verdicts.broken(self.workspace.cursor)
        return "see it on the timeline" if broken else "see the run on the timeline"

    def sync(self) -> None:
        """Follow the workspace."""
        if self.workspace.open_run is None or not self.size.width:
            return
        run, cursor = self.workspace.run, self.workspace.cursor
        story = self.workspace.entry.story if self.workspace.entry else ""
        facts = latest_facts(run.view, run.verdicts, cursor, story, brief=self.size.width < BRIEF)
        self.set_titles(latest_title(run.view, run.verdicts, cursor))
        before = [line.fact for line in self.lines[:1]]
        self.write(facts, anew=before != facts[:1])

    def card_target(self) -> CardTarget:
        """The event of the selected line, else of the violation."""
        found = self.workspace.run.verdicts.latest(self.workspace.cursor)
        return CardTarget(screen="timeline", seq=self.target() or (found[0].at if found else 0))

    def on_resize(self) -> None:
        """Wrap again."""
        self.sync()
        super().on_resize()


class SessionsCard(Card):
    """Every session with its counts."""

    hint = "its transcript beside what people saw"
    screen_name = "sessions"
    heading = 1
    _SHORT = (
        ListColumn("conversation", 0),
        ListColumn("in", 3, True),
        ListColumn("out", 3, True),
        ListColumn("2×", 2, True),
        ListColumn("≠", 2, True),
    )
    layouts = ((38, (*_SHORT, ListColumn("last", 8, True))), (0, _SHORT))

    def fill(self) -> None:
        """The sessions at the cursor, those to come dim."""
        found = self.workspace.run.sessions.rows(self.workspace.cursor)
        self.rows = [session_row(row, self.workspace.cursor) for row in found]
        self.set_titles(f"Sessions {sum(bool(row.key) for row in found)}")

    def empty_text(self) -> str:
        """Nobody was spoken to."""
        return self.workspace.unmade("sessions") or "no session in this run"


class QueueCard(Card):
    """What became of everything that was to be said, the newest first."""

    hint = "the queue"
    screen_name = "queue"
    _STATE = (ListColumn("state", 9), ListColumn("copy", 2, True))
    _MIDDLE = (ListColumn("sign", 1), ListColumn("place", 18), ListColumn("text", 0), *_STATE)
    layouts = (
        (84, (ListColumn("sign", 1), ListColumn("id", 14), *_MIDDLE[1:3], ListColumn("tries", 7), *_STATE)),
        (64, (*_MIDDLE[:3], ListColumn("tries", 7), *_STATE)),
        (50, _MIDDLE),
        (0, (ListColumn("sign", 1), ListColumn("place", 14), ListColumn("text", 0), *_STATE)),
    )

    def __init__(self, workspace: Workspace, *, id: str) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self._intents: list[MessageHistory] = []

    @property
    def count(self) -> int:
        """Everything that was to be said by now."""
        return len(self._intents)

    def row(self, index: int) -> CardRow:
        """Made when drawn: there may be many."""
        return queue_row(self.workspace.run.view, self._intents[index], self.workspace.cursor)

    def card_target(self) -> CardTarget:
        """The queue selects by the cursor: a row chosen by hand moves it, the card as such does not."""
        moved = 0 < self.selected < self.count
        return CardTarget(screen=self.screen_name, seq=self.row(self.selected).seq if moved else 0)

    def fill(self) -> None:
        """The intents at the cursor."""
        run, cursor = self.workspace.run, self.workspace.cursor
        self._intents = list(reversed(run.lives.prepared_by(cursor)))
        brief = self.size.width < BRIEF
        told = queue_line(run.queue.ledger(cursor), brief=brief)
        self.set_titles("Queue  cannot be summed" if self.workspace.unmade("queue") else f"Queue  {told}")

    def empty_text(self) -> str:
        """Nothing was to be said."""
        return "the gateway had nothing to say so far"


class BindingsCard(Card):
    """Which conversation belongs to which session."""

    hint = "the life of the binding"
    screen_name = "bindings"
    _SHORT = (
        ListColumn("sign", 1),
        ListColumn("id", 3),
        ListColumn("status", 7),
        ListColumn("conversation", 0),
        ListColumn("ends", 8, True),
    )
    layouts = (
        (60, (*_SHORT[:3], ListColumn("conversation", 18), ListColumn("session", 0), *_SHORT[4:])),
        (0, _SHORT),
    )

    def fill(self) -> None:
        """The bindings at the cursor, those to come dim."""
        view, cursor = self.workspace.run.view, self.workspace.cursor
        numbers = range(len(view.bindings))
        self.rows = LazySequence(numbers, lambda index: binding_row(view, view.bindings.nth(index, cursor), cursor))
        self.set_titles(f"Bindings {self.count}" if self.rows else "Bindings")

    def empty_text(self) -> str:
        """Nothing is bound in the whole run."""
        return "no conversation is bound in this run"


class RecentCard(Card):
    """What happened last, the newest first."""

    hint = "the event on the timeline"
    screen_name = "timeline"
    _TOLD = (ListColumn("tag", 3), ListColumn("way", 22), ListColumn("text", 0))
    layouts = (
        (56, (ListColumn("#", 5, True), ListColumn("at", 8, True), *_TOLD)),
        (0, (ListColumn("#", 4, True), ListColumn("tag", 3), ListColumn("way", 15), ListColumn("text", 0))),
    )

    def __init__(self, workspace: Workspace, *, id: str) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self._newest = -1

    @property
    def count(self) -> int:
        """Rows of the timeline up to the cursor."""
        return self._newest + 1

    def row(self, index: int) -> CardRow:
        """Made when drawn: there may be many."""
        run = self.workspace.run
        return recent_row(run.folded, run.lanes, self._newest - index)

    def card_target(self) -> CardTarget:
        """The event of the row."""
        inside = 0 <= self.selected < self.count
        return CardTarget(screen=self.screen_name, seq=self.row(self.selected).seq if inside else 0)

    def fill(self) -> None:
        """Up to the cursor."""
        self._newest = self.workspace.run.folded.row_at(self.workspace.cursor)
        self.set_titles(f"Recent: {count(self.count, 'row')} of the timeline" if self.count else "Recent")

    def empty_text(self) -> str:
        """Before the first event that is shown."""
        return "nothing yet: ] steps, Space plays"


class HintLine(LineWidget):
    """One line that says what Enter does now."""

    def __init__(self) -> None:
        super().__init__(id="hint")
        self.text = ""

    def tell(self, text: str) -> None:
        """Say this."""
        self.text = text
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The only line."""
        canvas = self.canvas(self.size.width)
        canvas.put(1, cut(self.text, self.size.width - 2), self.palette.accent)
        return self.finish(canvas)
