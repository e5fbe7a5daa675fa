"""The timeline: time runs down, one vertical line a lane, arrows are messages.

Messages are written in the gaps beside the gateway, always at the same column, so that they read like a chat; the
arrow shows from where and to where.
"""

from collections.abc import Iterable

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.message import Message

from trunkline.app.text.cells import cut, seconds
from trunkline.app.tui.host import host_of
from trunkline.app.tui.theme import FILLED, Palette
from trunkline.app.tui.widgets.row_list import Canvas, RowList
from trunkline.app.view.rows import lanes
from trunkline.app.view.timeline.status_line import timeline_hints
from trunkline.app.view.timeline.timeline import CAUSE, GAP, VisibleRows

# Draws one row of the timeline between its lanes: a dot with words, or an arrow with its message.


class RowPainter:
    """Draws one row into the part of the line that belongs to the lanes."""

    def __init__(self, palette: Palette, canvas: Canvas, layout: lanes.LaneLayout, left: int) -> None:
        self.palette = palette
        self.canvas = canvas
        self.layout = layout
        self.left = left
        self.gateway = next(column for column in layout.columns if column.lane.kind is lanes.LaneKind.GATEWAY)
        self.places = places = [column for column in layout.columns if column.lane.kind is lanes.LaneKind.PLACE]
        hands = [column for column in layout.columns if column.lane.kind in lanes.AT_THE_RIGHT]
        #: the cells between the gateway and its neighbours, where messages are written
        self.gap = (places[-1].x if places else -1, self.gateway.x)
        self.hand_gap = (self.gateway.x, hands[0].x if hands else layout.width)

    def draw_rails(self) -> None:
        """The lanes themselves."""
        for column in self.layout.columns:
            gateway = column is self.gateway
            style = self.palette.primary if gateway else self.palette.rail
            self.canvas.put(self.left + column.x, "┃" if gateway else "│", style)

    def draw_note(self, row: lanes.TimelineRow) -> None:
        """A dot on a lane, and the words on the side that has room."""
        x = self._x(row.start)
        style = self.palette.look(row.look)
        dot = "·" if row.look is lanes.Look.INTERNAL else "●"
        if self.layout.x(row.start) is None:
            dot = "‹" if x == 0 else "›"
        self.canvas.put(self.left + x, dot, style)
        room_right = self.layout.width - x - 3
        if x == self.gateway.x and row.look is lanes.Look.INTERNAL:
            # Inside rows come in numbers and read like a log: all from the left edge.
            self._words(0, cut(row.text, x - 2), style)
        elif x == self.gateway.x and x > room_right:
            text = cut(row.text, x - 3)
            self._words(x - 1 - cell_len(text), text, style)
        else:
            self._words(x + 2, cut(row.text, room_right), style)

    def _words(self, x: int, text: str, style: Style) -> None:
        """Text over lanes, with a blank cell on both sides; the gateway's line stays."""
        self.canvas.put(self.left + x, text, style)
        for edge in (x - 1, x + cell_len(text)):
            if self.canvas.char(self.left + edge) == "│":
                self.canvas.put(self.left + edge, " ", style)

    def draw_arrow(self, row: lanes.TimelineRow) -> None:
        """A line from lane to lane, its head, and the message in the gap beside the gateway."""
        start, end = self._x(row.start), self._x(row.end)
        step = 1 if end > start else -1
        style = self.palette.look(row.look)
        plain = style if row.look in FILLED else style + Style(underline=False)
        head = self._draw_line(row, start, end, step, plain)
        self._draw_ends(row, start, end, head, step, plain)
        self._draw_message(row, start, end, style, plain)

    def _draw_line(self, row: lanes.TimelineRow, start: int, end: int, step: int, style: Style) -> int:
        """The line itself; returns the cell of its head."""
        char, crossing = lanes.LINES.get(row.look, lanes.PLAIN_LINE)
        head = end - step * (2 if row.look in lanes.STOPS else 1)
        for x in range(start + step, head, step):
            over = self.canvas.char(self.left + x) in "│┃"
            self.canvas.put(self.left + x, crossing if over else char, style)
        return head

    def _draw_ends(self, row: lanes.TimelineRow, start: int, end: int, head: int, step: int, style: Style) -> None:
        arrow = lanes.STOPS.get(row.look) or ("▶" if step > 0 else "◀")
        self.canvas.put(self.left + head, arrow, style)
        line_style = style if row.look not in FILLED else Style(color=style.bgcolor)
        for lane, x in ((row.start, start), (row.end, end)):
            if self.layout.x(lane) is None:
                self.canvas.put(self.left + x, "‹" if x == 0 else "›", style)
        if self.layout.x(row.start) is None:
            return
        if start == self.gateway.x:
            self.canvas.put(self.left + start, "┠" if step > 0 else "┨", line_style)
        else:
            self.canvas.put(self.left + start, "├" if step > 0 else "┤", line_style)

    def _draw_message(self, row: lanes.TimelineRow, start: int, end: int, style: Style, plain: Style) -> None:
        """The words of an arrow: in its gap; over other lanes that it crosses; else on the gateway's other side."""
        text = f"{row.who} {row.text}" if row.who else row.text
        low, high = self.gap if min(start, end) < self.gateway.x else self.hand_gap
        edges = lanes.LABEL_EDGES if end == high else lanes.LABEL_EDGES - 1
        room = high - low - edges
        if cell_len(text) > room and row.who:
            text = row.text
        lowest = min(start, end)
        if cell_len(text) > room and lowest >= self.gateway.x and self.gap[0] > 0:
            text = cut(text, self.gateway.x - 3)
            self._words(self.gateway.x - 1 - cell_len(text), text, style)
            return
        if cell_len(text) > room:
            low = max(lowest, low - (cell_len(text) - room))
            room = high - low - edges
        text = cut(text, room)
        x = self.canvas.put(self.left + low + 3, " ", plain)
        x = self.canvas.put(x, text, style)
        self.canvas.put(x, " ", plain)

    def _x(self, lane: int) -> int:
        """Cell of a lane; a lane out of view is at the left or right edge."""
        x = self.layout.x(lane)
        if x is not None:
            return x
        if lane > self.gateway.index:
            return self.layout.width - 2
        left = [column for column in self.places if column.index < lane]
        return left[-1].x + 2 if left else 0


#: from this width on there is a column for the time and one for mirrors
ROOMY = 96
#: from this height of the terminal on (the height of the pane follows from its lines) there is a line for audiences
HIGH = 30


class Swimlane(RowList):
    """Rows of `trunkline.app.view.timeline.timeline` between lanes."""

    BORDER_TITLE = "Timeline"

    class LaneClicked(Message):
        """The name of a lane was clicked, or the note that some are out of view."""

        def __init__(self, lane: lanes.TimelineLane | None) -> None:
            super().__init__()
            self.lane = lane

    #: leftmost lane of the window, where not all fit
    first_lane = 0
    layout_now: lanes.LaneLayout | None = None
    _shown: tuple[object, ...] = ()
    _wish = lanes.NO_WIDTHS
    #: rows that stand for a marked event
    _bookmarked: frozenset[int] = frozenset()

    @property
    def heading(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Platforms, lanes, and the audiences of lanes if they differ and fit."""
        opened, high = self.workspace.open_run, host_of(self).size.height >= HIGH
        return 3 if self._roomy and high and opened is not None and opened.lanes.several_audiences else 2

    @property
    def timeline(self) -> VisibleRows:
        return self.workspace.timeline

    @property
    def count(self) -> int:
        """All rows of the run; those after the cursor are faint."""
        return len(self.timeline.rows) if self.workspace.open_run else 0

    def empty_text(self) -> str:
        kept = self.workspace.search.filter
        if self.workspace.open_run is not None and kept is not None:
            return f"/{kept}: none of {len(self.workspace.all_rows.rows)} rows, esc clears"
        if self.workspace.open_run is not None:
            return "no row yet: nothing has happened that has one"
        return "no run is open: s chooses a scenario"

    def sync(self) -> None:
        if self.workspace.open_run is None:
            return
        timeline = self.timeline
        self._wish = timeline.wish
        shown = (timeline, timeline.version, self.workspace.chain_of)
        if shown != self._shown:
            self._shown = shown
            self.invalidate()
        self._lay_out()
        rows = {self.timeline.row_at(seq) for seq in self.workspace.view_options.marks(self.workspace.run)}
        self._bookmarked = frozenset(self.timeline.rows[index].seq for index in rows if index >= 0)
        self.select(self.timeline.row_at(self.workspace.cursor))
        self.set_titles("Timeline", self._subtitle())

    @property
    def windowed(self) -> bool:
        """Not all lanes fit."""
        return self.layout_now is not None and bool(self.layout_now.before or self.layout_now.after)

    def scroll_lanes(self, lanes: int) -> bool:
        """Move the window of lanes. Returns false if it cannot move."""
        layout = self.layout_now
        if layout is None or not (layout.after if lanes > 0 else layout.before):
            return False
        self.first_lane = max(0, min(layout.before + lanes, layout.before + layout.after))
        self._lay_out(follow=False)
        self.invalidate()
        return True

    def on_resize(self) -> None:
        if self.workspace.open_run:
            self._lay_out()
        super().on_resize()

    def _lay_out(self, *, follow: bool = True) -> None:
        room = self.size.width - 1 - self._gutter
        if room <= 0:
            return
        index = self.timeline.row_at(self.workspace.cursor) if follow else -1
        focus = {self.timeline.rows[index].start, self.timeline.rows[index].end} if index >= 0 else set[int]()
        run, wish, first = self.workspace.run, self._wish, self.first_lane
        hidden = self.workspace.view_options.hidden_in(run)
        layout = lanes.lay_out(run.lanes, room, wish=wish, first=first, focus=focus, hidden=hidden)
        if layout != self.layout_now:
            self.layout_now = layout
            self.first_lane = layout.before
            self.invalidate()

    def _subtitle(self) -> str:
        """The subtitle: what to do here, else what is folded or lit."""
        workspace, used = self.workspace, self.workspace.view_options.used
        kept, playback = workspace.search.filter, workspace.run.playback
        if kept is not None:
            return f"/{kept}  {self.count} of {len(workspace.all_rows.rows)} rows, esc clears"
        if workspace.chain_of is not None:
            return "only the causal chain is lit, c ends"
        hint = timeline_hints(
            used,
            broken=playback.cursor in workspace.run.view.marks.stops,
            twin=workspace.has_twin,
            defect=bool(workspace.bugs),
            other=workspace.branch.other(workspace.open_run) is not None,
            rewound=playback.cursor < playback.head,
            start=not playback.cursor,
        )
        key = "" if "fold" in used else ", m folds" if workspace.show_internal else ", m unfolds"
        inside = "details of the wire" if workspace.run.view.wire_side else "inside of the gateway"
        folded = "every event" if workspace.show_internal else f"{inside} folded"
        return hint or folded + key

    def row_text(self) -> str:
        """Blank: the menu offers the event under the cursor, which says more than its row."""
        return ""

    def on_click(self, event: events.Click) -> None:
        """A click on the name of a lane; rows are for the list."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y >= self.heading or self.layout_now is None:
            return
        x = offset.x - self._gutter
        found = next(
            (column for column in self.layout_now.columns if column.left <= x < column.left + column.width), None
        )
        self.post_message(self.LaneClicked(found.lane if found else None))

    def marks(self) -> Iterable[int]:
        return self.timeline.broken

    def cache_key(self, index: int) -> object:
        """A row looks different while it, or its mirror, lies after the cursor."""
        row = self.timeline.rows[index]
        return (
            index,
            row.seq > self.workspace.cursor,
            row.mirror_seq > self.workspace.cursor,
            row.seq in self._bookmarked,
        )

    @property
    def _gutter(self) -> int:
        return 4 + 1 + (9 if self._roomy else 0) + 6 + (3 if self._roomy else 0) + 2

    @property
    def _roomy(self) -> bool:
        return self.size.width >= ROOMY

    def draw_heading(self, line: int, width: int) -> Canvas:
        canvas = self.canvas(width)
        layout = self.layout_now
        if self.workspace.open_run is None or layout is None:
            return canvas
        if line == 0:
            self._draw_groups(canvas, layout)
            return canvas
        if line == 2:
            for column in layout.columns:
                text = column.lane.audience
                at = max(column.left, column.x - (len(text) - 1) // 2)
                canvas.put(self._gutter + at, cut(text, column.width - 1), self.palette.faint)
            return canvas
        style = self.palette.dim
        canvas.put(3, "#", style)
        if self._roomy:
            canvas.put(8, "time" if self.workspace.run.view.header.of_gateway else "t (s)", style)
        current = self.timeline.rows[self.selected] if 0 <= self.selected < self.count else None
        bound = self.workspace.run.view.bindings.bound(self.workspace.cursor)
        for column in layout.columns:
            chosen = current is not None and column.index in (current.start, current.end)
            self._draw_label(canvas, column, chosen=chosen, bound=column.lane.place in bound)
        return canvas

    def _draw_groups(self, canvas: Canvas, layout: lanes.LaneLayout) -> None:
        """Each platform over its lanes, and how many lanes are out of sight."""
        left = self._gutter
        groups: dict[str, list[lanes.LaneColumn]] = {}
        for column in layout.columns:
            if column.lane.kind is lanes.LaneKind.PLACE:
                groups.setdefault(column.lane.group, []).append(column)
        for group, columns in groups.items():
            start, end = columns[0].left, columns[-1].left + columns[-1].width
            canvas.line(left + start, left + end - 1, "─", self.palette.rail)
            x = canvas.put(left + start, cut(group, end - start - 1) + " ", self.palette.dim)
            badge = self._token(columns[0].lane)
            if badge and x + len(badge) < left + end:
                style = self.palette.bad if badge.endswith("!") else self.palette.accent
                canvas.put(x, f"{badge} ", style)
        hidden = [f"‹ {layout.before} more"] if layout.before else []
        hidden += [f"{layout.after} more ›"] if layout.after else []
        hidden += [f"{layout.idle} idle"] if layout.idle else []
        hidden += [f"{layout.hidden} hidden"] if layout.hidden else []
        text = "  ".join(hidden) + (" (L)" if layout.idle or layout.hidden else "")
        gateway = next(column for column in layout.columns if column.lane.kind is lanes.LaneKind.GATEWAY)
        canvas.put(left + gateway.x - cell_len(text) - 2, text, self.palette.dim)

    def _token(self, lane: lanes.TimelineLane) -> str:
        """The token that the account of a lane speaks with at the cursor, where one was ever changed."""
        assert lane.place is not None
        run, cursor = self.workspace.run, self.workspace.cursor
        return run.lanes.tokens.badge(lane.place[:2], cursor, run.view.time(cursor))

    def _draw_label(self, canvas: Canvas, column: lanes.LaneColumn, *, chosen: bool, bound: bool) -> None:
        lane = column.lane
        style = self.palette.primary + Style(bold=True) if lane.kind is lanes.LaneKind.GATEWAY else self.palette.base
        if lane.child or bound:
            style = self.palette.primary if bound else self.palette.dim
        if chosen:
            style = style + Style(bold=True, underline=True)
        room = column.width if lane.kind is lanes.LaneKind.GATEWAY else column.width - 1
        mark = (lanes.CHILD_BOUND if lane.child else lanes.BOUND) if bound else lanes.CHILD if lane.child else ""
        text = cut(mark + lane.label, room)
        at = column.x - (cell_len(text) - 1) // 2
        at = max(column.left, min(at, column.left + room - cell_len(text)))
        canvas.put(self._gutter + at, text, style)

    def draw(self, index: int, width: int) -> Canvas:
        row = self.timeline.rows[index]
        canvas = self.canvas(width)
        layout = self.layout_now
        if layout is None:
            return canvas
        self._draw_gutter(canvas, row)
        pen = RowPainter(self.palette, canvas, layout, self._gutter)
        pen.draw_rails()
        if row.is_note:
            pen.draw_note(row)
        else:
            pen.draw_arrow(row)
        if row.seq > self.workspace.cursor or not self.workspace.lit(row.seq):
            canvas.restyle(self.palette.faint)
        return canvas

    def _draw_gutter(self, canvas: Canvas, row: lanes.TimelineRow) -> None:
        palette = self.palette
        blamed = CAUSE in row.tags or GAP in row.tags
        canvas.put(0, f"{row.seq:>4}", palette.bad if blamed else palette.dim)
        if row.seq in self._bookmarked:
            canvas.put(4, "'", palette.accent + Style(bold=True))
        x = 5
        if self._roomy:
            canvas.put(x, f"{seconds(row.at):>8}", palette.dim)
            x += 9
        at = x
        for tag in row.tags:
            # Beside the number of a copy there is no room for more.
            if at == x or at + len(tag) <= x + 6:
                at = canvas.put(at, tag, self._tag_style(row, tag)) + 1
        wrong = row.mirror not in ("", "m")
        if wrong and not self._roomy and at <= x + 3:
            canvas.put(at, row.mirror, palette.warn)
        x += 6
        if self._roomy:
            style = palette.faint if row.mirror_seq > self.workspace.cursor else palette.warn if wrong else palette.dim
            canvas.put(x, row.mirror, style)
            x += 3
        canvas.put(x, row.bracket, palette.bad)

    def _tag_style(self, row: lanes.TimelineRow, tag: str) -> Style:
        if tag == "!!":
            return self.palette.fill_warn
        if tag in (CAUSE, GAP):
            return self.palette.bad + Style(bold=True)
        return self.palette.look(row.look) + Style(bold=True, italic=False)
