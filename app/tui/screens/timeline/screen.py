"""Timeline: who said what to whom, and why; in a large terminal, cards with the rest beside it."""

from bisect import bisect_right
from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Container

from trunkline.app.text.cells import cut, middle_cut, quoted
from trunkline.app.tui.screens.run_screen import RunScreen
from trunkline.app.tui.screens.timeline.swimlane import Swimlane
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cards import BindingsCard, Card, FamiliesCard, QueueCard, SessionsCard
from trunkline.app.tui.widgets.cursor_list import Inspector
from trunkline.app.tui.widgets.row_list import Canvas, RowList
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.rows.lanes import LaneKind
from trunkline.app.view.sessions.alignment_index import ColumnMessage, beside, pair_of

# Two conversations side by side, as people saw them, which shows a message that went to both.

#: cells of a tag in front of a message
_TAG = 3


class TwoConversations(RowList):
    """The conversation of the cursor, and that of the other copy or the one before."""

    heading = 1

    BORDER_TITLE = "Side by side"
    BORDER_SUBTITLE = "as people saw them"
    nothing = "no visible message in this run"

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self.places: tuple[PlaceKey, ...] = ()
        self.rows: Sequence[ColumnMessage] = ()
        #: conversations -> rows, for the current length of the run
        self._made: dict[tuple[PlaceKey, ...], Sequence[ColumnMessage]] = {}
        self._made_of: tuple[object, int] | None = None

    @property
    def count(self) -> int:
        return len(self.rows)

    def sync(self) -> None:
        if self.workspace.open_run is None:
            return
        view = self.workspace.run.view
        self.places = pair_of(view, self.workspace.cursor)
        if self._made_of != (view, view.last):
            self._made_of = (view, view.last)
            self._made.clear()
        if self.places not in self._made:
            self._made[self.places] = beside(view, self.places)
        if self.rows is not self._made[self.places]:
            self.rows = self._made[self.places]
            self.wrong = tuple(at for at, row in enumerate(self.rows) if row.wrong)
            self.invalidate()
        self.select(bisect_right(self.rows, self.workspace.cursor, key=lambda row: row.seen.seq) - 1)

    def cache_key(self, index: int) -> object:
        """A message looks different while it lies in the future."""
        return index, self.rows[index].seen.seq > self.workspace.cursor

    def target(self) -> int | None:
        return self.rows[self.selected].seen.seq if 0 <= self.selected < self.count else None

    def draw_heading(self, line: int, width: int) -> Canvas:
        canvas = self.canvas(width)
        half = (width - 1) // 2
        view = self.workspace.run.view if self.workspace.open_run else None
        for side, place in enumerate(self.places if view else ()):
            name = view.places.label(view.places.at(place).address) if view else ""
            canvas.put(side * (half + 1), middle_cut(name, half - 2), self.palette.primary)
        if len(self.places) > 1:
            canvas.put(half - 1, "│", self.palette.rail)
        return canvas

    def draw(self, index: int, width: int) -> Canvas:
        row = self.rows[index]
        canvas = self.canvas(width)
        half = width // 2
        if len(self.places) > 1:
            canvas.put(half - 1, "│", self.palette.rail)
        x = row.side * (half + 1)
        palette = self.palette
        style = palette.fill_bad if row.wrong else palette.bad if row.tag else palette.base
        if row.tag:
            canvas.put(x, row.tag, palette.bad)
        elif row.wrong:
            canvas.put(x, "!!", palette.fill_warn)
        who = cut(row.seen.who or "bot", 8)
        at = canvas.put(x + _TAG, who, palette.dim) + 1
        room = half - 2 - _TAG - cell_len(who) - 1
        canvas.put(at, cut(quoted(row.seen.text), room), style)
        if row.seen.seq > self.workspace.cursor:
            canvas.restyle(palette.faint)
        return canvas


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
            self.notify(f"the side column needs {wide}x{high}, this terminal has {size.width}x{size.height}")
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

    def action_move(self, rows: int) -> None:
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
