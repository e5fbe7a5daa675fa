"""The list of session bindings: one line each, with its life on a scale of virtual time, and the record of one."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style

from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.columns import ListColumn, spread
from trunkline.app.tui.widgets.fact_list import FactList
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.bindings.lifetime_bar import BarCell, BarPart, column, life_bar
from trunkline.app.view.explain.binding_facts import record_facts
from trunkline.app.view.explain.resolver import title
from trunkline.app.view.index.bindings import BindingRow, Standing, active
from trunkline.app.view.text.cells import cut, middle_cut, seconds
from trunkline.app.view.text.fact import Fact

LIFE = "life"
_STATUS, _ID, _PLACE = ListColumn("status", 9), ListColumn("id", 6), ListColumn("conversation", 18)
_LIFE, _TOUCHES, _ENDS = ListColumn(LIFE, 0), ListColumn("used", 4, True), ListColumn("ends", 8, True)
_NARROW = (_STATUS, _ID, _PLACE, _LIFE, _TOUCHES, _ENDS)
_ROOMY = (_STATUS, _ID, ListColumn("conversation", 22), ListColumn("session", 26), _LIFE, _TOUCHES, _ENDS)
_WIDE = (_STATUS, _ID, ListColumn("conversation", 22), ListColumn("label", 12), ListColumn("by", 12), *_ROOMY[3:])
#: from these widths on the session, and who bound it as what, have columns
ROOMY, WIDE = 96, 150
#: shape of a status
SHAPES = {
    Standing.LATER: "·",
    Standing.ACTIVE: "●",
    Standing.EXPIRED: "✗",
    Standing.ENDING: "◐",
    Standing.ENDED: "○",
}


def _short(at: float) -> str:
    """A moment in eight cells: what lies far away needs no milliseconds."""
    return seconds(at) if at < 1000 else f"{at:.0f}"


class BindingList(RowList):
    """Every binding of the run as it is at the cursor."""

    heading = 1

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.workspace = workspace
        self.border_title = "Bindings"
        self.rows: list[BindingRow] = []
        self._wrong: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """Bindings, also those that are made later."""
        return len(self.rows)

    def empty_text(self) -> str:
        """Nothing is bound in the whole run; what that means is told by the record."""
        return "no conversation is bound in this run"

    def sync(self) -> None:
        """Follow the workspace; the selection stays."""
        if self.workspace.open_run is None:
            return
        view, cursor = self.workspace.run.view, self.workspace.cursor
        self.rows = view.bindings.rows(cursor)
        alive = active(self.rows, cursor, view.time(cursor))
        view = self.workspace.run.view
        self.set_titles(f"Bindings {self.count}  {alive} active" if self.rows else "Bindings", "o asks the resolver")
        self.invalidate()
        self._wrong = tuple(at for at, row in enumerate(self.rows) if view.bindings.misused(row.id, cursor))
        self.select(self.selected if self.selected >= 0 else next(iter(self._wrong), 0))

    def marks(self) -> tuple[int, ...]:
        """Bindings that were used when they did not route any more."""
        return self._wrong

    def choose(self, binding: str) -> None:
        """Select the line of a binding."""
        index = next((at for at, row in enumerate(self.rows) if row.id == binding), None)
        if index is not None:
            self.select(index)

    @property
    def chosen(self) -> BindingRow | None:
        """The selected binding."""
        return self.rows[self.selected] if 0 <= self.selected < self.count else None

    # ------------------------------------------------------------ drawing

    @property
    def _columns(self) -> tuple[ListColumn, ...]:
        width = self.size.width
        return _WIDE if width >= WIDE else _ROOMY if width >= ROOMY else _NARROW

    def draw_heading(self, line: int, width: int) -> Canvas:
        """Titles of the columns; over the life bars their scale, and where the cursor is on it."""
        canvas = self.canvas(width)
        if not self.rows:
            return canvas
        for col, (x, size) in zip(self._columns, spread(self._columns, width - 3), strict=True):
            if col.title == LIFE:
                self._draw_scale(canvas, x, size)
            else:
                canvas.put(x + size - cell_len(col.title) if col.right else x, col.title, self.palette.dim)
        return canvas

    def _draw_scale(self, canvas: Canvas, x: int, size: int) -> None:
        bindings = self.workspace.run.view.bindings
        start, end = bindings.span
        first, last = f"{start:.1f} s", f"{end:.1f} s"
        if cell_len(first) + cell_len(last) + 5 <= size:
            # The cells at both ends are the cursor's.
            canvas.put(x + 1, first, self.palette.dim)
            canvas.put(x + size - cell_len(last) - 1, last, self.palette.dim)
        now = bindings.time(self.workspace.cursor)
        if now >= start:
            canvas.put(x + column(now, bindings.span, size), "▼", self.palette.primary + Style(bold=True))

    def draw(self, index: int, width: int) -> Canvas:
        """One binding."""
        row = self.rows[index]
        canvas = self.canvas(width)
        bindings = self.workspace.run.view.bindings
        standing = bindings.standing(row, self.workspace.cursor)
        wrong = index in self._wrong
        texts = self._texts(row, standing, wrong=wrong)
        for col, (x, size) in zip(self._columns, spread(self._columns, width - 2), strict=True):
            if col.title == LIFE:
                self._draw_life(canvas, x, self._life(row, size))
                continue
            text = texts[col.title]
            text = middle_cut(text, size) if col.title == "session" else cut(text, size)
            style = self.palette.bad if wrong and col is _STATUS else self._style(standing, strong=col is _STATUS)
            canvas.put(x + size - cell_len(text) if col.right else x, text, style)
        return canvas

    def _texts(self, row: BindingRow, standing: Standing, *, wrong: bool) -> dict[str, str]:
        later = standing is Standing.LATER
        ends = row.ended_at if row.ended_at is not None else row.expires_at
        return {
            "status": f"{'✗' if wrong else SHAPES[standing]} {standing}",
            "id": self.workspace.run.view.bindings.name(row.id),
            "conversation": title(self.workspace.run.view.places, row.conversation),
            "label": row.label or "·",
            "by": row.by or "·",
            "session": row.session_key,
            "used": str(row.touches) if row.touches and not later else "·",
            "ends": "·" if ends is None or later else _short(ends),
        }

    def _life(self, row: BindingRow, width: int) -> Sequence[BarCell]:
        """The whole life, whatever the cursor: what lies after it is faint."""
        bindings = self.workspace.run.view.bindings
        whole = bindings.row(row.id, self.workspace.run.view.last) or row
        now = bindings.time(self.workspace.cursor)
        return life_bar(whole, bindings.points(row.id), bindings.span, now, width)

    def _draw_life(self, canvas: Canvas, x: int, cells: Sequence[BarCell]) -> None:
        palette = self.palette
        styles = {
            BarPart.NONE: palette.base,
            BarPart.LIVE: palette.good,
            BarPart.TOUCH: palette.good + Style(bold=True),
            BarPart.ENDING: palette.warn,
            BarPart.END: palette.base,
            BarPart.WRONG: palette.fill_bad,
        }
        for offset, cell in enumerate(cells):
            canvas.put(x + offset, cell.char, palette.faint if cell.later else styles[cell.part])

    def _style(self, standing: Standing, *, strong: bool) -> Style:
        palette = self.palette
        if standing is Standing.LATER:
            return palette.faint
        if standing is Standing.ENDED:
            return palette.dim
        tones = {Standing.ACTIVE: palette.good, Standing.ENDING: palette.warn, Standing.EXPIRED: palette.bad}
        return tones[standing] if strong else palette.base


#: told while nothing is bound in the whole run
_EMPTY = (
    (
        "what",
        "a binding gives a conversation to a session: what is said there goes to it, what it finishes is told there",
    ),
    ("made by", "a task that gets a thread of its own: channels.<name>.thread_bindings.spawn_subagent_sessions"),
    ("", "a person's command /focus: control.enabled"),
    ("", "whoever runs the gateway: gateway.bindings.bind"),
    ("o", "asks where a conversation goes without one"),
)


class BindingRecord(FactList):
    """The fields of the selected binding, who resolves to it, and its story."""

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self.border_title = "Binding"
        self._chosen: BindingRow | None = None
        self._shown: tuple[object, ...] = ()

    def show(self, row: BindingRow | None) -> None:
        """Tell of one binding as it is at the cursor; of none, what bindings are."""
        if self.workspace.open_run is None or not self.size.width:
            return
        anew = row is None or self._chosen is None or row.id != self._chosen.id
        shown = (self.workspace.open_run, row, self.workspace.cursor, self.size.width, self.workspace.run.view.last)
        if shown == self._shown:
            return
        self._chosen, self._shown = row, shown
        view = self.workspace.run.view
        self.set_titles(f"Binding {view.bindings.name(row.id)}" if row else "Binding")
        told = (Fact(label=label, text=text) for label, text in _EMPTY)
        facts = record_facts(view, row, self.workspace.cursor) if row else told
        self.write(facts, anew=anew)

    def on_resize(self) -> None:
        """Wrap again."""
        self.show(self._chosen)
        super().on_resize()
