"""Overview: the violations, and a summary of each other screen."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container

from trunkline.app.tui.screens.run_screen import RunScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cards import (
    BindingsCard,
    Card,
    FamiliesCard,
    HintLine,
    LatestCard,
    QueueCard,
    RecentCard,
    SessionsCard,
)
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.timeline.hints import card_hints

#: lines of a frame
FRAME = 2
#: least rows of a card
LEAST = 1


class OverviewScreen(RunScreen, screen="overview"):
    """Cards in columns; Enter on a card shows its screen with the same cursor."""

    CSS_PATH = "screen.tcss"

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.families = FamiliesCard(workspace, id="families")
        self.sessions = SessionsCard(workspace, id="sessions")
        self.explains = self.latest = LatestCard(workspace, id="latest")
        self.queue = QueueCard(workspace, id="queue")
        self.bindings_card = BindingsCard(workspace, id="bindings")
        self.recent = RecentCard(workspace, id="recent")
        self.hint = HintLine()

    @property
    def cards(self) -> tuple[Card | LatestCard, ...]:
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
        return list(self.cards)

    def sync(self) -> None:
        if self.workspace.open_run is not None:
            for card in self.cards:
                card.sync()
            self._fit()
            self._update_hint()
        self.refresh_bars()

    def on_resize(self) -> None:
        self.call_after_refresh(self.sync)

    def on_descendant_focus(self) -> None:
        self._update_hint()

    # ------------------------------------------------------------ room

    def _fit(self) -> None:
        """Size the cards by their rows, within bounds; sessions and recent rows take the rest."""
        body = self.query_one("#body")
        room = body.size.height - 1
        if room <= 0:
            return
        if body.has_class("-zoom"):
            self._fill()
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

    def _fill(self) -> None:
        """A card has the whole body."""
        for one in (*self.cards, self.query_one("#kept")):
            one.styles.height = "100%"

    def _high(self, card: RowList, rows: int, most: int) -> None:
        card.styles.height = max(min(rows, most), LEAST) + card.heading + FRAME

    # ------------------------------------------------------------ where Enter leads

    @property
    def card(self) -> Card | LatestCard:
        return next((card for card in self.cards if card is self.focused), self.latest)

    def _update_hint(self) -> None:
        if self.workspace.open_run is None:
            return
        self.hint.show_text(
            card_hints(self.card.hint, self.workspace.run.view.run.trace.header.title, self.workspace.view_options.used)
        )

    def on_row_list_clicked(self, message: RowList.Clicked) -> None:
        message.rows.select(message.index)
        if message.again:
            self.action_enter()

    def move(self, rows: int) -> None:
        if self.workspace.open_run is None:
            return
        pane = self.pane
        pane.select(max(0, min(pane.selected + rows, pane.count - 1)))

    def action_left(self) -> None:
        self.families.focus()

    def action_right(self) -> None:
        self.latest.focus()

    def action_enter(self) -> None:
        if self.workspace.open_run is None:
            return
        self.go_to_card_target(self.card.card_target())
