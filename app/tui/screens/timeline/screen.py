"""Timeline: who said what to whom, and why; in a large terminal, cards with the rest beside it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container

from trunkline.app.tui.screens.run_screen import RunScreen
from trunkline.app.tui.screens.timeline.swimlane import Swimlane
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cards import BindingsCard, Card, FamiliesCard, QueueCard, SessionsCard
from trunkline.app.tui.widgets.fact_list import Inspector
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.tui.widgets.two_conversations import TwoConversations
from trunkline.app.view.rows.lanes import LaneKind

#: least size for the side column
SIDE = (150, 40)
#: while the run plays, the side column is drawn every Nth frame
SIDE_EVERY = 6
#: least lines of the explanation below the lanes, with the side column
LEAST_WHY = 18
#: lines of the frame of a card
_FRAME = 2


class TimelineScreen(RunScreen, screen="timeline"):
    """Swim lanes above the explanation of the event under the cursor; beside both, the rest of the run in cards."""

    CSS_PATH = "screen.tcss"
    filtered = True

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.lane = Swimlane(workspace, id="lane")
        self.explains = self.inspector = Inspector(workspace, id="why")
        #: the side column, made when it first fits
        self.side: Container | None = None
        self._wanted = True
        self._frame = 0

    def compose_body(self) -> ComposeResult:
        with Container(id="main", classes="column"):
            yield self.lane
            yield self.inspector

    def sync(self) -> None:
        self.lane.sync()
        self.inspector.sync()
        if self.side is not None and self.side.display and self._side_is_due():
            for pane in self.side.query(RowList):
                if isinstance(pane, Card | TwoConversations):
                    pane.sync()
            self._fit()
        self.refresh_bars()

    # ------------------------------------------------------------ the side column

    def _side_is_due(self) -> bool:
        """While the run plays, five more panes are not readable thirty times a second."""
        self._frame = (self._frame + 1) % SIDE_EVERY
        return self._frame == 0 or self.workspace.open_run is None or not self.workspace.run.playback.playing

    @property
    def _roomy(self) -> bool:
        size = self.host.size
        return size.width >= SIDE[0] and size.height >= SIDE[1]

    async def on_resize(self) -> None:
        await self._show_side()

    async def _show_side(self) -> None:
        shown = self._wanted and self._roomy
        if shown and self.side is None:
            workspace = self.workspace
            cards = (
                FamiliesCard(workspace, id="families"),
                QueueCard(workspace, id="queue"),
                SessionsCard(workspace, id="sessions"),
            )
            more = (BindingsCard(workspace, id="bindings"), TwoConversations(workspace, id="chats"))
            self.side = Container(*cards, *more, id="side", classes="column")
            await self.query_one("#body").mount(self.side)
        if self.side is not None:
            if not shown and self.focused is not None and self.side in self.focused.ancestors:
                self.lane.focus()
            self.side.display = shown
        if not shown:
            self.inspector.styles.clear_rule("height")
        self.set_class(shown, "-sided")
        self.call_after_refresh(self.sync)

    async def action_side(self) -> None:
        if not self._roomy:
            size = self.host.size
            wide, high = SIDE
            self.notify(f"the side column needs {wide}x{high}, this terminal has {size.width}x{size.height}", timeout=4)
            return
        self._wanted = not self._wanted
        await self._show_side()

    def _fit(self) -> None:
        """Size the cards by their rows, within bounds; the explanation takes what the lanes leave."""
        body = self.query_one("#body")
        if self.side is None or body.has_class("-zoom"):
            return
        room = self.side.size.height
        for card in self.side.query(Card):
            most = max(room // 7, 2)
            rows = card.count if isinstance(card, FamiliesCard) else min(max(card.count, 1), most)
            card.styles.height = rows + card.heading + _FRAME
        needed = self.lane.count + self.lane.heading + _FRAME
        self.inspector.styles.height = max(LEAST_WHY, body.size.height - needed)

    def zoom(self, pane: RowList) -> None:
        super().zoom(pane)
        if pane.has_class("-zoomed"):
            pane.styles.clear_rule("height")

    # ------------------------------------------------------------ rows

    def on_row_list_clicked(self, message: RowList.Clicked) -> None:
        """A click on a row moves the cursor; elsewhere it selects, and a second click enters."""
        if message.rows is self.lane:
            self.workspace.seek(self.workspace.timeline.seqs[message.index])
            self.moved()
        elif message.again:
            self.action_enter()
        else:
            message.rows.select(message.index)

    def on_swimlane_lane_clicked(self, message: Swimlane.LaneClicked) -> None:
        """A click on the name of a lane keeps its rows, a second one shows all again; beside the names: the picker."""
        lane = message.lane
        if lane is None:
            self.action_lanes()
        elif lane.kind is LaneKind.GATEWAY:
            self.notify_once("every row passes the gateway: click a place or a hand to see only its rows")
        else:
            word = max(lane.label.split(), key=len)
            text = f"lane:{word}"
            now = self.workspace.search.filter
            self.workspace.search.set_filter("" if now is not None and str(now) == text else text)
            self.moved()

    def move(self, rows: int) -> None:
        if self.workspace.open_run is None:
            return
        pane = self.pane
        if pane is self.lane:
            self.workspace.step_rows(rows)
            self.moved()
        else:
            pane.select(max(pane.selected + rows, 0))

    def action_left(self) -> None:
        self._scroll_lanes(-1)

    def action_right(self) -> None:
        self._scroll_lanes(1)

    def _scroll_lanes(self, lanes: int) -> None:
        if not self.lane.scroll_lanes(lanes):
            self.notify_once("no more lanes on this side" if self.lane.windowed else "all lanes are in view")

    def action_enter(self) -> None:
        """From a row to its explanation; from a fact to the event it names; from a card to its screen."""
        pane = self.pane
        if pane is self.lane:
            self.inspector.focus()
            self.inspector.select(max(self.inspector.selected, 0))
            return
        if isinstance(pane, Card):
            self.go_to_card_target(pane.card_target())
            return
        target = pane.target()
        if target is not None:
            self.workspace.seek(target)
            self.lane.focus()
            self.moved()
        else:
            self.notify_once("this line names no event to go to")

    def action_chain(self) -> None:
        if self.workspace.open_run:
            if not self.workspace.cursor:
                self.notify_once("nothing has happened yet, so nothing caused it: ] steps")
            self.workspace.toggle_chain()
            self.moved()

    def action_fold(self) -> None:
        self.workspace.show_internal = not self.workspace.show_internal
        self.moved()
