"""Cards: small lists that summarise another screen in a few rows."""

import msgspec
from rich.style import Style
from textual.reactive import reactive
from textual.strip import Strip

from trunkline.app.text.cells import count, cut
from trunkline.app.tui.widgets.cursor_list import ColumnList, FactList, StyledCell
from trunkline.app.tui.widgets.row_list import LineWidget
from trunkline.app.view.index.growing import LazySequence
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.overview import cards

#: below this inner width the latest violation and the queue are brief
BRIEF = 60


class CardTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Where Enter leads: a screen, an event for the cursor (0 leaves it), and the thing to be selected there."""

    screen: str
    seq: int = 0
    thing: str | PlaceKey = ""


class Card(ColumnList[cards.CardRow]):
    """A list of card rows. A row is selected only while the card has the focus."""

    heading = 0
    gap = 1
    margin = 1
    #: where Enter leads, for the hint line
    hint = ""
    #: the screen that the card summarises
    screen_name = ""

    def cache_key(self, index: int) -> object:
        """The content of the row: while a run plays, most rows stay as they are, or only move."""
        row = self.rows[index]
        return row.later, *row.cells.values()

    def fill(self) -> None:
        """Set rows and title for the current cursor."""
        raise NotImplementedError

    def sync(self) -> None:
        if self.workspace.open_run is not None:
            self.fill()
            self.select(self.selected)

    def card_target(self) -> CardTarget:
        """Where Enter leads from the selected row."""
        return CardTarget(screen=self.screen_name, thing=self.chosen.thing if self.chosen else "")

    def on_focus(self) -> None:
        self.select(max(self.selected, 0))
        self.invalidate()

    def on_blur(self) -> None:
        """Select none: only one row of the screen is selected."""
        self.selected = -1
        self.invalidate()

    def cells(self, index: int) -> dict[str, StyledCell]:
        row = self.rows[index]
        return {title: StyledCell(cell.text, self._style(row, cell)) for title, cell in row.cells.items()}

    def _style(self, row: cards.CardRow, cell: cards.CardCell) -> Style:
        if row.later:
            return self.palette.faint
        return self.palette.look(cell.look) if cell.look else self.palette.tone(cell.tone)


class FamiliesCard(Card):
    hint = "the invariants, each with its evidence"
    nothing = "this run was not judged"
    screen_name = "invariants"
    layouts = {38: "sign 1 | letter 1 | name 15 | ids * | count >3 | at >5", 0: "sign 1 | letter 1 | name * | brief >9"}

    def fill(self) -> None:
        verdicts = self.workspace.run.verdicts
        self.rows = cards.family_rows(verdicts, self.workspace.cursor)
        broken = verdicts.broken(self.workspace.cursor)
        span = f"ok:{self.workspace.run.view.so_far or ' in the whole run'}"
        self.set_titles(f"Invariants ✗{broken}" if broken else "Invariants", span if self.rows else "")


class LatestCard(FactList):
    """The latest violation; before the first one, what the run is about."""

    @property
    def hint(self) -> str:
        broken = self.workspace.run.verdicts.broken(self.workspace.cursor)
        return "see it on the timeline" if broken else "see the run on the timeline"

    def sync(self) -> None:
        if self.workspace.open_run is None or not self.size.width:
            return
        run, cursor = self.workspace.run, self.workspace.cursor
        story = self.workspace.entry.story if self.workspace.entry else ""
        hands = run.hands if run.view.delegations else None
        facts = cards.latest_facts(run.view, run.verdicts, cursor, story, brief=self.size.width < BRIEF, hands=hands)
        self.set_titles(cards.latest_title(run.view, run.verdicts, cursor))
        before = [line.fact for line in self.lines[:1]]
        self.write(facts, from_top=before != facts[:1])

    def card_target(self) -> CardTarget:
        """The event of the selected line, else of the violation."""
        found = self.workspace.run.verdicts.latest(self.workspace.cursor)
        return CardTarget(screen="timeline", seq=self.target() or (found[0].at if found else 0))

    def on_resize(self) -> None:
        self.sync()
        super().on_resize()


class SessionsCard(Card):
    hint = "its transcript beside what people saw"
    screen_name = "sessions"
    heading = 1
    layouts = {
        38: "conversation ~* | in >3 | out >3 | 2× >2 | ≠ >2 | last >8",
        0: "conversation ~* | in >3 | out >3 | 2× >2 | ≠ >2",
    }

    def fill(self) -> None:
        found = self.workspace.run.sessions.rows(self.workspace.cursor)
        self.rows = [cards.session_row(row, self.workspace.cursor) for row in found]
        wire_side = self.workspace.run.view.wire_side
        if wire_side:
            self.hint = "what its model said beside what people saw"
        number = len(found) if wire_side else sum(bool(row.key) for row in found)
        self.set_titles(f"{'Places' if wire_side else 'Sessions'} {number}")

    def empty_text(self) -> str:
        none = "nobody has said anything so far" if self.workspace.inside_unknown() else "no session in this run"
        return self.workspace.unmade("sessions") or none


class QueueCard(Card):
    """Every queued message and its state, the newest first."""

    hint = "the queue"
    screen_name = "queue"
    layouts = {
        84: "sign 1 | id 14 | place ~18 | text * | tries 7 | state 9 | copy >2",
        64: "sign 1 | place ~18 | text * | tries 7 | state 9 | copy >2",
        50: "sign 1 | place ~18 | text * | state 9 | copy >2",
        0: "sign 1 | place ~14 | text * | state 9 | copy >2",
    }

    def card_target(self) -> CardTarget:
        """The queue selects by the cursor: a row chosen by hand moves it, the card as such does not."""
        moved = 0 < self.selected < self.count
        return CardTarget(screen=self.screen_name, seq=self.rows[self.selected].seq if moved else 0)

    def fill(self) -> None:
        run, cursor = self.workspace.run, self.workspace.cursor
        if run.view.wire_side:
            self._fill_with_requests()
            return
        intents = list(reversed(run.histories.prepared_by(cursor)))
        self.rows = LazySequence(intents, lambda message: cards.queue_row(run.view, message, cursor))
        brief = self.size.width < BRIEF
        line = cards.queue_line(run.queue.ledger(cursor), brief=brief)
        self.set_titles("Queue  cannot be summed" if self.workspace.unmade("queue") else f"Queue  {line}")

    def _fill_with_requests(self) -> None:
        """The requests on the wire: the queue itself is not known."""
        run, cursor = self.workspace.run, self.workspace.cursor
        self.hint = "the requests on the wire"
        newest = list(reversed(run.requests.arrived(cursor)))
        self.rows = LazySequence(newest, lambda index: cards.request_row(run.requests.line(index, cursor)))
        self.set_titles(f"Requests  {run.requests.counts(cursor) or 'none so far'}")

    def empty_text(self) -> str:
        if self.workspace.run.view.wire_side:
            return "the gateway has sent nothing so far"
        return "no message is queued so far"


class BindingsCard(Card):
    hint = "the life of the binding"
    screen_name = "bindings"
    layouts = {
        60: "sign 1 | id 3 | status 7 | conversation ~18 | session * | ends >8",
        0: "sign 1 | id 3 | status 7 | conversation ~* | ends >8",
    }

    def fill(self) -> None:
        view, cursor = self.workspace.run.view, self.workspace.cursor
        numbers = range(len(view.bindings))
        self.rows = LazySequence(
            numbers, lambda index: cards.binding_row(view, view.bindings.nth(index, cursor), cursor)
        )
        self.set_titles(f"Bindings {self.count}" if self.rows else "Bindings")

    def empty_text(self) -> str:
        # A card without rows has a single line.
        unknown = self.workspace.inside_unknown()
        return "not known of a gateway that is not ours" if unknown else "no conversation is bound in this run"


class RecentCard(Card):
    hint = "the event on the timeline"
    nothing = "nothing yet: ] steps, Space plays"
    screen_name = "timeline"
    layouts = {56: "# >5 | at >8 | tag 5 | way 20 | text *", 0: "# >4 | tag 3 | way 15 | text *"}

    def card_target(self) -> CardTarget:
        inside = 0 <= self.selected < self.count
        return CardTarget(screen=self.screen_name, seq=self.rows[self.selected].seq if inside else 0)

    def fill(self) -> None:
        run = self.workspace.run
        newest = run.folded.row_at(self.workspace.cursor)
        self.rows = LazySequence(range(newest, -1, -1), lambda index: cards.recent_row(run.folded, run.lanes, index))
        self.set_titles(f"Recent: {count(self.count, 'row')} of the timeline" if self.count else "Recent")


class HintLine(LineWidget):
    text: reactive[str] = reactive("")

    def render_line(self, y: int) -> Strip:
        canvas = self.canvas(self.size.width)
        canvas.put(1, cut(self.text, self.size.width - 2), self.palette.accent)
        return self.finish(canvas)
