"""Bindings: which conversations belong to which sessions, for how long, and where a conversation goes now."""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from rich.style import Style

from trunkline.app.text.cells import brief_seconds, error_text
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.tui.screens.dialogs.search_dialogs import TypedDialog
from trunkline.app.tui.screens.list_screen import InspectedListScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cursor_list import ChoosableList, DetailPane, FactList, ListColumn, Span, StyledCell
from trunkline.app.tui.widgets.row_list import Canvas
from trunkline.app.view.bindings.lifetime_bar import BarPart, life_bar
from trunkline.app.view.explain.binding_facts import record_facts
from trunkline.app.view.explain.resolver import Resolution, answer, read_place, resolution_facts, resolve
from trunkline.app.view.index.bindings import STANDINGS, BindingRow, Standing, active
from trunkline.app.view.index.places import PlaceKey, title
from trunkline.app.view.wire_side.facts import shown_instead
from trunkline.core.errors import UsageError

# Resolves a typed conversation at the cursor: to which session it goes, and why.


class Answers(FactList):
    """The answer for the typed place; without one, the answers for every place of the run."""

    can_focus = False
    nothing = "this run has no place: channel:account/conversation[/thread] can be typed"


class ResolvePlaceDialog(TypedDialog[Resolution]):
    """Returns the answer, if any."""

    hint = "type a conversation, Enter takes the answer along, Esc closes"
    placeholder = "a place of this run, or channel:account/conversation[/thread]"

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.title_text = f"Where does a conversation go {workspace.moment}?"
        self.list = Answers(workspace, id="answers")
        self._found: Resolution | None = None
        super().__init__(self.list)

    def on_resize(self) -> None:
        self.call_after_refresh(self.show, self.words.value)

    def show(self, text: str) -> None:
        """Show the answer for a typed conversation, or why there is none."""
        self.list.write(self._facts(text), from_top=True)

    def _facts(self, text: str) -> Iterator[Fact]:
        view, cursor = self.workspace.run.view, self.workspace.cursor
        self._found = None
        if not text.strip():
            for place in view.places.in_order():
                found = resolve(view, place.address, cursor)
                tone = Tone.GOOD if found.binding else Tone.DIM
                yield Fact("", answer(view, found), 0, tone)
            return
        try:
            place = read_place(view.places, text)
        except UsageError as error:
            yield Fact("unknown", error_text(error), tone=Tone.WARN)
            return
        self._found = resolve(view, place, cursor)
        yield from resolution_facts(view, self._found)

    def take(self) -> None:
        if self._found is not None:
            self.dismiss(self._found)


# The list of session bindings: one line each, with its life on a scale of virtual time, and the record of one.

LIFE = "life"


class BindingList(ChoosableList[BindingRow]):
    BORDER_TITLE = "Bindings"
    titles_when_empty = False
    layouts = {
        150: "status 9 | id 6 | conversation 22 | label 12 | by 12 | session ~26 | life * | used >4 | ends >8",
        96: "status 9 | id 6 | conversation 22 | session ~26 | life * | used >4 | ends >8",
        0: "status 9 | id 6 | conversation 18 | life * | used >4 | ends >8",
    }

    def empty_text(self) -> str:
        return self.workspace.inside_unknown() or "no conversation is bound in this run"

    def fill(self) -> None:
        view, cursor = self.workspace.run.view, self.workspace.cursor
        self.rows = view.bindings.rows(cursor)
        alive = active(self.rows, cursor, view.time(cursor))
        asks = "" if view.wire_side else "o asks the resolver"
        self.set_titles(f"Bindings {self.count}  {alive} active" if self.rows else "Bindings", asks)
        # Those that were used after they stopped routing.
        self.wrong = tuple(at for at, row in enumerate(self.rows) if view.bindings.misused(row.id, cursor))
        self.keep()

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
        wrong = index in self.wrong
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
            "status": f"{'✗' if wrong else STANDINGS[standing][0]} {standing}",
            "id": self.workspace.run.view.bindings.name(row.id),
            "conversation": title(self.workspace.run.view.places, row.conversation),
            "label": row.label or "·",
            "by": row.by or "·",
            "session": row.session_key,
            "used": str(row.touches) if row.touches and not later else "·",
            "ends": "·" if ends is None or later else brief_seconds(ends),
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
        if standing is Standing.LATER:
            return self.palette.faint
        coloured = strong or standing is Standing.ENDED
        return self.palette.tone(STANDINGS[standing][1]) if coloured else self.palette.base


#: shown when the run has no binding
_EMPTY = (
    ("what", "a binding ties a conversation to a session: its messages go there, and completions are announced in it"),
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


#: least maximal height of the list
LEAST_MOST = 8


class BindingsScreen(InspectedListScreen[BindingList, BindingRecord], screen="bindings"):
    """The list with its life bars, the record of the selected one, and in a high terminal the explanation."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, BindingList(workspace, id="bindings"), BindingRecord(workspace, id="record"))

    def fit(self) -> None:
        height = self.fit_list(max(LEAST_MOST, self.host.size.height // 3))
        # Where the terminal is wide, the body is a grid.
        self.query_one("#body").styles.grid_rows = f"{height} 1fr"

    def follow(self) -> None:
        view = self.workspace.run.view
        found = view.bindings.concerned(view.event(self.workspace.subject)) if self.workspace.subject else None
        if found is not None:
            self.list.choose(found)

    def show_detail(self) -> None:
        self.detail.show_row(self.list.chosen)

    def action_ask(self) -> None:
        unknown = self.workspace.inside_unknown()
        if unknown:
            self.notify_once(f"where a conversation goes is {unknown}")
        elif self.run_is_open():
            self.host.push_screen(ResolvePlaceDialog(self.workspace), self._answered)

    def _answered(self, found: Resolution | None) -> None:
        if found is None or self.workspace.open_run is None:
            return
        if found.binding is not None:
            self.choose(found.binding.id)
        self.notify(answer(self.workspace.run.view, found), title=found.because)
