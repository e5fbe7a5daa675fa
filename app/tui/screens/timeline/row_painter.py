"""Draws one row of the timeline between its lanes: a dot with words, or an arrow with its message."""

from __future__ import annotations

from rich.cells import cell_len
from rich.style import Style

from trunkline.app.text.cells import cut
from trunkline.app.tui.theme import FILLED, Palette
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.view.rows.lanes import AT_THE_RIGHT, LABEL_EDGES, LaneKind, LaneLayout
from trunkline.app.view.rows.row import Look, TimelineRow

#: line and crossing of a look
_LINES = {
    Look.COPY: ("━", "┿"),
    Look.FALLBACK: ("═", "╪"),
    Look.MISPLACED: ("═", "╪"),
    Look.UNKNOWN: ("┄", "│"),
    Look.SUPPRESSED: ("┄", "│"),
    Look.DEAD: ("┄", "│"),
    Look.RETRY: ("┈", "│"),
}
#: heads of what does not arrive; it stops short of the lane
_STOPS = {Look.UNKNOWN: "?", Look.SUPPRESSED: "╳", Look.DEAD: "✗", Look.RETRY: "↻"}


class RowPainter:
    """Draws one row into the part of the line that belongs to the lanes."""

    def __init__(self, palette: Palette, canvas: Canvas, layout: LaneLayout, left: int) -> None:
        self.palette = palette
        self.canvas = canvas
        self.layout = layout
        self.left = left
        self.gateway = next(column for column in layout.columns if column.lane.kind is LaneKind.GATEWAY)
        self.places = places = [column for column in layout.columns if column.lane.kind is LaneKind.PLACE]
        hands = [column for column in layout.columns if column.lane.kind in AT_THE_RIGHT]
        #: the cells between the gateway and its neighbours, where messages are written
        self.gap = (places[-1].x if places else -1, self.gateway.x)
        self.hand_gap = (self.gateway.x, hands[0].x if hands else layout.width)

    def draw_rails(self) -> None:
        """The lanes themselves."""
        for column in self.layout.columns:
            gateway = column is self.gateway
            style = self.palette.primary if gateway else self.palette.rail
            self.canvas.put(self.left + column.x, "┃" if gateway else "│", style)

    def draw_note(self, row: TimelineRow) -> None:
        """A dot on a lane, and the words on the side that has room."""
        x = self._x(row.start)
        style = self.palette.look(row.look)
        dot = "·" if row.look is Look.INTERNAL else "●"
        if self.layout.x(row.start) is None:
            dot = "‹" if x == 0 else "›"
        self.canvas.put(self.left + x, dot, style)
        room_right = self.layout.width - x - 3
        if x == self.gateway.x and row.look is Look.INTERNAL:
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

    def draw_arrow(self, row: TimelineRow) -> None:
        """A line from lane to lane, its head, and the message in the gap beside the gateway."""
        start, end = self._x(row.start), self._x(row.end)
        step = 1 if end > start else -1
        style = self.palette.look(row.look)
        plain = style if row.look in FILLED else style + Style(underline=False)
        head = self._draw_line(row, start, end, step, plain)
        self._draw_ends(row, start, end, head, step, plain)
        self._draw_message(row, start, end, style, plain)

    def _draw_line(self, row: TimelineRow, start: int, end: int, step: int, style: Style) -> int:
        """The line itself; returns the cell of its head."""
        char, crossing = _LINES.get(row.look, ("─", "┼"))
        head = end - step * (2 if row.look in _STOPS else 1)
        for x in range(start + step, head, step):
            over = self.canvas.char(self.left + x) in "│┃"
            self.canvas.put(self.left + x, crossing if over else char, style)
        return head

    def _draw_ends(self, row: TimelineRow, start: int, end: int, head: int, step: int, style: Style) -> None:
        arrow = _STOPS.get(row.look) or ("▶" if step > 0 else "◀")
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

    def _draw_message(self, row: TimelineRow, start: int, end: int, style: Style, plain: Style) -> None:
        """The words of an arrow: in its gap; over other lanes that it crosses; else on the gateway's other side."""
        text = f"{row.who} {row.text}" if row.who else row.text
        low, high = self.gap if min(start, end) < self.gateway.x else self.hand_gap
        edges = LABEL_EDGES if end == high else LABEL_EDGES - 1
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
