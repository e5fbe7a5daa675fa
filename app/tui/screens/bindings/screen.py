"""Bindings: which conversations belong to which sessions, for how long, and where a conversation goes now."""

from collections.abc import Iterable, Iterator

from rich.style import Style

from trunkline.app.text.cells import brief_seconds, error_text
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.tui.screens.dialogs.search_dialogs import TypedDialog
from trunkline.app.tui.screens.list_screen import InspectedListScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cursor_list import ChoosableList, FactList, RowRecord, StyledCell, TimeSpan
from trunkline.app.view.bindings.lifetime_bar import BarCell, BarPart, life_bar
from trunkline.app.view.explain.binding_facts import record_facts
from trunkline.app.view.explain.resolver import Resolution, answer, read_place, resolution_facts, resolve
from trunkline.app.view.index.bindings import STANDINGS, BindingRow, Standing, active
from trunkline.app.view.index.places import PlaceKey, title
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


class BindingList(ChoosableList[BindingRow]):
    BORDER_TITLE = "Bindings"
    titles_when_empty = False
    bar_column = "life"
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

    def follow(self, seq: int) -> None:
        view = self.workspace.run.view
        self.choose(view.bindings.concerned(view.event(seq)) or "")

    def subject(self) -> int | None:
        return self.chosen.since if self.chosen is not None else None

    def cells(self, index: int) -> dict[str, StyledCell]:
        row, wrong, view, palette = self.rows[index], index in self.wrong, self.workspace.run.view, self.palette
        standing = view.bindings.standing(row, self.workspace.cursor)
        later = standing is Standing.LATER
        sign, tone = STANDINGS[standing]
        strong = palette.faint if later else palette.tone(tone)
        plain = strong if later or standing is Standing.ENDED else palette.base
        ends = row.ended_at if row.ended_at is not None else row.expires_at
        texts = {
            "id": view.bindings.name(row.id),
            "conversation": title(view.places, row.conversation),
            "label": row.label or "·",
            "by": row.by or "·",
            "session": row.session_key,
            "used": str(row.touches) if row.touches and not later else "·",
            "ends": "·" if ends is None or later else brief_seconds(ends),
        }
        status = StyledCell(f"{'✗' if wrong else sign} {standing}", palette.bad if wrong else strong)
        return {"status": status} | {name: StyledCell(text, plain) for name, text in texts.items()}

    def scale(self) -> tuple[TimeSpan, float]:
        bindings = self.workspace.run.view.bindings
        return bindings.span, bindings.time(self.workspace.cursor)

    def bar(self, index: int, width: int) -> list[BarCell[BarPart]]:
        """The whole life; the part after the cursor is faint."""
        view, row, (span, now) = self.workspace.run.view, self.rows[index], self.scale()
        whole = view.bindings.row(row.id, view.last) or row
        return life_bar(whole, view.bindings.points(row.id), span, now, width)

    def bar_styles(self) -> dict[BarPart, Style]:
        palette = self.palette
        return {
            BarPart.LIVE: palette.good,
            BarPart.TOUCH: palette.good + Style(bold=True),
            BarPart.ENDING: palette.warn,
            BarPart.END: palette.base,
            BarPart.WRONG: palette.fill_bad,
        }


class BindingRecord(RowRecord[BindingRow]):
    """The fields of the selected binding, which conversations resolve to it, and its events."""

    BORDER_TITLE = "Binding"
    inside = "bindings"
    introduction = (
        (
            "what",
            "a binding ties a conversation to a session: its messages go there, and completions are announced in it",
        ),
        ("made by", "a task that gets a thread of its own: channels.<name>.thread_bindings.spawn_subagent_sessions"),
        ("", "a person's command /focus: control.enabled"),
        ("", "the process of the gateway: gateway.bindings.bind"),
        ("o", "resolves a conversation without a binding"),
    )

    def record(self, row: BindingRow) -> tuple[str, Iterable[Fact]]:
        view = self.workspace.run.view
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
