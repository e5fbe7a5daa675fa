"""Overview: the violations, and a summary of each other screen."""

from textual.app import ComposeResult
from textual.containers import Container

from trunkline.app.tui.screens.run_screen import RunScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets import cards
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.timeline.status_line import card_hints

#: lines of a frame
FRAME = 2
#: least rows of a card
LEAST = 1


class OverviewScreen(RunScreen, screen="overview"):
    """Cards in columns; Enter on a card shows its screen with the same cursor."""

    CSS_PATH = "screen.tcss"

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.families = cards.FamiliesCard(workspace, id="families")
        self.sessions = cards.SessionsCard(workspace, id="sessions")
        self.explains = self.latest = cards.LatestCard(workspace, id="latest")
        self.queue = cards.QueueCard(workspace, id="queue")
        self.bindings_card = cards.BindingsCard(workspace, id="bindings")
        self.recent = cards.RecentCard(workspace, id="recent")
        self.hint = cards.HintLine(id="hint")

    @property
    def every(self) -> tuple[cards.Card | cards.LatestCard, ...]:
        return (self.latest, self.families, self.sessions, self.queue, self.bindings_card, self.recent)

    def compose_body(self) -> ComposeResult:
        yield self.hint
        with Container(id="judged", classes="column"):
            yield self.families
            yield self.sessions
        with Container(id="told", classes="column"):
            yield self.latest
            with Container(id="kept", classes="column"):
                yield self.queue
                yield self.bindings_card
            yield self.recent

    def panes(self) -> list[RowList]:
        """The latest violation first: Enter leads to it at once."""
        return list(self.every)

    def sync(self) -> None:
        if self.workspace.open_run is not None:
            for card in self.every:
                card.sync()
            self._fit()
            self._update_hint()
        self.refresh_bars()

    def on_resize(self) -> None:
        self.call_after_refresh(self.sync)

    def on_descendant_focus(self) -> None:
        self._update_hint()

    def _fit(self) -> None:
        """Size the cards by their rows, within bounds; sessions and recent rows take the rest."""
        body = self.query_one("#body")
        room = body.size.height - 1
        if room <= 0:
            return
        if body.has_class("-zoom"):
            # A card has the whole body.
            for card in (*self.every, self.query_one("#kept")):
                card.styles.height = "100%"
            return
        self._high(self.families, self.families.count, room - 6)
        side_by_side = self.has_class("-wide")
        kept = [self.queue.count, self.bindings_card.count]
        most = max(LEAST, (room - 8) // 8)
        heights = [min(max(rows, LEAST), most) for rows in kept]
        if side_by_side:
            heights = [max(heights)] * 2
        for card, rows in zip((self.queue, self.bindings_card), heights, strict=True):
            self._high(card, rows, rows)
        lines = [rows + FRAME for rows in heights]
        taken = max(lines) if side_by_side else sum(lines)
        self.query_one("#kept").styles.height = taken
        self.sessions.styles.height = self.recent.styles.height = "1fr"
        self._high(self.latest, max(self.latest.count, 6), max(4, (room - taken) * 3 // 4 - FRAME))

    def _high(self, card: RowList, rows: int, most: int) -> None:
        card.styles.height = max(min(rows, most), LEAST) + card.heading + FRAME

    @property
    def card(self) -> cards.Card | cards.LatestCard:
        return next((card for card in self.every if card is self.focused), self.latest)

    def _update_hint(self) -> None:
        if self.workspace.open_run is not None:
            title, used = self.workspace.run.view.header.title, self.workspace.view_options.used
            self.hint.text = card_hints(self.card.hint, title, used)

    def action_left(self) -> None:
        self.families.focus()

    def action_right(self) -> None:
        self.latest.focus()

    def action_enter(self) -> None:
        if self.workspace.open_run is not None:
            self.go_to_card_target(self.card.card_target())
