"""The list of session bindings: one line each, with its life on a scale of virtual time, and the record of one."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from rich.style import Style

from trunkline.app.text.cells import WALL_CLOCK, seconds
from trunkline.app.text.fact import Fact
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.column_list import ChoosableList, ListColumn, Span, StyledCell, columns
from trunkline.app.tui.widgets.fact_list import DetailPane
from trunkline.app.view.bindings.lifetime_bar import BarPart, life_bar
from trunkline.app.view.explain.binding_facts import record_facts
from trunkline.app.view.index.bindings import BindingRow, Standing, active
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.labels.place_title import title
from trunkline.app.view.wire_side.unknown import shown_instead

LIFE = "life"
_NARROW = columns("status 9 | id 6 | conversation 18 | life * | used >4 | ends >8")
_ROOMY = columns("status 9 | id 6 | conversation 22 | session ~26 | life * | used >4 | ends >8")
_WIDE = columns("status 9 | id 6 | conversation 22 | label 12 | by 12 | session ~26 | life * | used >4 | ends >8")
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
    return seconds(at) if at < 1000 or at >= WALL_CLOCK else f"{at:.0f}"


class BindingList(ChoosableList[BindingRow]):
    """Every binding of the run as it is at the cursor."""

    BORDER_TITLE = "Bindings"
    titles_when_empty = False
    layouts = ((WIDE, _WIDE), (ROOMY, _ROOMY), (0, _NARROW))

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self._wrong: tuple[int, ...] = ()

    def empty_text(self) -> str:
        return self.workspace.inside_unknown() or "no conversation is bound in this run"

    def sync(self) -> None:
        if self.workspace.open_run is None:
            return
        view, cursor = self.workspace.run.view, self.workspace.cursor
        self.rows = view.bindings.rows(cursor)
        alive = active(self.rows, cursor, view.time(cursor))
        view = self.workspace.run.view
        asks = "" if view.wire_side else "o asks the resolver"
        self.set_titles(f"Bindings {self.count}  {alive} active" if self.rows else "Bindings", asks)
        self.invalidate()
        self._wrong = tuple(at for at, row in enumerate(self.rows) if view.bindings.misused(row.id, cursor))
        self.select(self.selected if self.selected >= 0 else next(iter(self._wrong), 0))

    def marks(self) -> tuple[int, ...]:
        """Bindings that were used after they stopped routing."""
        return self._wrong

    def choose(self, thing: str | PlaceKey) -> None:
        self.select_where(lambda row: row.id == thing)

    def draw_title(self, canvas: Canvas, column: ListColumn, x: int, size: int) -> None:
        """Draw a title; above the life bars their scale, and the cursor on it."""
        if column.title == LIFE:
            bindings = self.workspace.run.view.bindings
            self.draw_scale(canvas, x, size, bindings.span, bindings.time(self.workspace.cursor), 1)
        else:
            super().draw_title(canvas, column, x, size)

    def cells(self, index: int) -> dict[str, StyledCell]:
        row = self.rows[index]
        standing = self.workspace.run.view.bindings.standing(row, self.workspace.cursor)
        wrong = index in self._wrong
        style = self._style(standing, strong=False)
        cells = {title: StyledCell(text, style) for title, text in self._texts(row, standing, wrong=wrong).items()}
        status_style = self.palette.bad if wrong else self._style(standing, strong=True)
        return cells | {"status": StyledCell(cells["status"].text, status_style), LIFE: StyledCell("", style)}

    def draw_cell(self, canvas: Canvas, index: int, column: ListColumn, cell: StyledCell, span: Span) -> None:
        if column.title == LIFE:
            self._draw_life(canvas, self.rows[index], span)
        else:
            super().draw_cell(canvas, index, column, cell, span)

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

    def _draw_life(self, canvas: Canvas, row: BindingRow, span: Span) -> None:
        """Draw the whole life; the part after the cursor is faint."""
        bindings = self.workspace.run.view.bindings
        whole = bindings.row(row.id, self.workspace.run.view.last) or row
        now = bindings.time(self.workspace.cursor)
        palette = self.palette
        styles: dict[StrEnum, Style] = {
            BarPart.NONE: palette.base,
            BarPart.LIVE: palette.good,
            BarPart.TOUCH: palette.good + Style(bold=True),
            BarPart.ENDING: palette.warn,
            BarPart.END: palette.base,
            BarPart.WRONG: palette.fill_bad,
        }
        for x, cell in enumerate(life_bar(whole, bindings.points(row.id), bindings.span, now, span[1]), span[0]):
            canvas.put(x, cell.char, palette.faint if cell.later else styles[cell.part])

    def _style(self, standing: Standing, *, strong: bool) -> Style:
        palette = self.palette
        if standing is Standing.LATER:
            return palette.faint
        if standing is Standing.ENDED:
            return palette.dim
        tones = {Standing.ACTIVE: palette.good, Standing.ENDING: palette.warn, Standing.EXPIRED: palette.bad}
        return tones[standing] if strong else palette.base


#: shown when the run has no binding
_EMPTY = (
    (
        "what",
        "a binding ties a conversation to a session: its messages go there, and completions are announced in it",
    ),
    ("made by", "a task that gets a thread of its own: channels.<name>.thread_bindings.spawn_subagent_sessions"),
    ("", "a person's command /focus: control.enabled"),
    ("", "the process of the gateway: gateway.bindings.bind"),
    ("o", "resolves a conversation without a binding"),
)


class BindingRecord(DetailPane):
    """The fields of the selected binding, which conversations resolve to it, and its events."""

    BORDER_TITLE = "Binding"

    def show_row(self, row: BindingRow | None) -> None:
        self.show(row.id if row else None, lambda: self._facts(row))

    def _facts(self, row: BindingRow | None) -> tuple[str, Iterable[Fact]]:
        view = self.workspace.run.view
        if row is None:
            if view.wire_side:
                return "Binding", shown_instead("bindings")
            return "Binding", [Fact(label, text) for label, text in _EMPTY]
        return f"Binding {view.bindings.name(row.id)}", record_facts(view, row, self.workspace.cursor)
