"""Invariants: their status at the cursor, and the evidence of violations."""

from collections.abc import Iterable

from rich.style import Style

from trunkline.app.text.cells import clean
from trunkline.app.text.fact import Fact
from trunkline.app.tui.screens.list_screen import InspectedListScreen
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cursor_list import ChoosableList, RowRecord
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.invariants.results import SIGNS, InvariantStatus, VerdictRow

#: columns in the colour of the status
_COLOURED = frozenset({"", "status", "✗"})


class VerdictList(ChoosableList[VerdictRow]):
    BORDER_TITLE = "Invariants"
    layouts = {
        108: "1 | id 3 | invariant 38 | status 14 | ✗ >4 | first >6 | promise *",
        0: "1 | id 3 | invariant * | status 14 | ✗ >4 | first >6",
    }
    nothing = "this run was not judged"

    def fill(self) -> None:
        self.rows = self.workspace.run.verdicts.rows(self.workspace.cursor)
        span = self.workspace.run.view.so_far or " of the whole run"
        unknown = self.workspace.inside_unknown()
        span = f"the others: {unknown}" if unknown else f"status at the cursor, ok times{span}"
        idle = sum(row.judged is InvariantStatus.IDLE for row in self.rows)
        self.wrong = tuple(at for at, row in enumerate(self.rows) if row.judged is InvariantStatus.VIOLATED)
        self.set_titles(f"Invariants {self.count}  {len(self.wrong)} violated  {idle} not exercised", span)
        self.keep()

    def choose(self, thing: str | PlaceKey) -> None:
        self.select_where(lambda row: row.id == thing)

    def texts(self, index: int) -> dict[str, str]:
        row = self.rows[index]
        return {
            "": SIGNS[row.judged][0],
            # The title says which plug-in it comes from.
            "id": row.id.rpartition(".")[2],
            "invariant": row.title,
            "status": row.words,
            "✗": str(row.broken) if row.broken else "·",
            "first": f"#{row.first}" if row.first else "·",
            "promise": clean(row.sentence),
        }

    def style(self, index: int, title: str, text: str) -> Style:
        judged = self.rows[index].judged
        if judged is InvariantStatus.IDLE:
            return self.palette.dim
        return self.palette.tone(SIGNS[judged][1]) if title in _COLOURED else self.palette.base


class VerdictDetail(RowRecord[VerdictRow]):
    """The sentence of the selected invariant, and its violations with their evidence."""

    BORDER_TITLE = "Invariant"
    BORDER_SUBTITLE = "Enter: its event on the timeline"
    nothing = "nothing is selected"

    def record(self, row: VerdictRow) -> tuple[str, Iterable[Fact]]:
        return f"{row.id} {row.title}", self.workspace.run.verdicts.facts(row.id, self.workspace.cursor)

    def point(self, seq: int) -> None:
        """Select the violation that was seen at an event, if it is one of these."""
        index = next((at for at, line in enumerate(self.lines) if line.first and line.fact.seq == seq), None)
        if index is not None:
            self.select(index)


class InvariantsScreen(InspectedListScreen[VerdictList, VerdictDetail], screen="invariants"):
    """The list, the violations of the selected one, and in a wide terminal the explanation."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, VerdictList(workspace, id="invariants"), VerdictDetail(workspace, id="verdict"))

    def moment(self) -> tuple[object, ...]:
        return self.workspace.open_run, self.workspace.cursor

    def follow(self) -> None:
        """Select the invariant that the event under the cursor breaks, and its violation there."""
        found = self.workspace.run.verdicts.concerned(self.workspace.cursor)
        chosen = self.list.chosen
        # An event may break several: the one that is looked at stays.
        broken = {violation.invariant for violation in self.workspace.run.view.marks.of(self.workspace.cursor)}
        if found is not None and (chosen is None or chosen.id not in broken):
            self.list.choose(found)
        self.show_detail()
        self.detail.point(self.workspace.cursor)

    def picked(self) -> None:
        self.show_detail()

    def enter_detail(self) -> None:
        self.detail.focus()
        chosen = self.list.chosen
        if self.detail.selected < 0 and chosen is not None:
            self.detail.select(0)
            self.detail.point(chosen.latest or chosen.first)
