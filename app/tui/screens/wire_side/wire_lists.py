"""Lists for a gateway of which only the wire is known: the questions of people, and the gateway's requests."""

from __future__ import annotations

from rich.cells import cell_len
from rich.style import Style

from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.column_list import StyledCell, columns
from trunkline.app.tui.widgets.cursor_list import CursorList
from trunkline.app.view.text.cells import cut
from trunkline.app.view.wire_side.lines import WireLine, WireRows
from trunkline.app.view.wire_side.unknown import not_known

_QUESTIONS = columns("2 | question * | place ~12 | asked 7 | sent 7 | seen 10 | end 12")
_ROOMY_QUESTIONS = columns(
    "2 | question * | who 6 | place ~20 | asked 7 | answered 8 | sent 7 | seen 10 | end 12 | broken 6"
)
_WIDE_QUESTIONS = columns(
    "2 | question * | who 10 | place ~28 | given 14 | asked 16 | answered 14 | sent 16 | seen 30 | end 26 | broken 9"
)
_REQUESTS = columns("2 | state 14 | what * | place ~14 | try >3 | arrived >8 | response 8")
_ROOMY_REQUESTS = columns(
    "2 | state 26 | what * | place ~22 | try >3 | answers 8 | arrived >8 | response 18 | broken 6"
)
ROOMY, WIDE = 96, 160


class WireList(CursorList[object]):
    """A list of rows as they were at the cursor."""

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        #: the numbers of the rows that are listed: all, or those that the filter keeps
        self._listed: list[int] = []
        self._wrong: tuple[int, ...] = ()

    def source(self) -> WireRows:
        """The rows of the open run."""
        raise NotImplementedError

    def caption(self) -> tuple[str, str]:
        """The title, and the words at the right of it."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        return len(self._listed) if self.workspace.open_run is not None else 0

    def sync(self) -> None:
        if self.workspace.open_run is None:
            return
        rows = self.source()
        self._listed = self._kept(rows)
        wrong = set(rows.wrong(self.workspace.cursor))
        self._wrong = tuple(at for at, index in enumerate(self._listed) if index in wrong)
        self.set_titles(*self.caption())
        self.keep()

    def _kept(self, rows: WireRows) -> list[int]:
        """The rows with an event whose row of the timeline passes the filter."""
        search, run = self.workspace.search, self.workspace.run
        if search.filter is None:
            return list(range(len(rows)))
        kept = frozenset(search.kept(run, run.folded).seqs)
        return [index for index in range(len(rows)) if rows.seqs(index) & kept]

    def follow(self, seq: int) -> None:
        index = self.source().place(self.workspace.run.view.event(seq))
        if index is not None and index in self._listed:
            self.select(self._listed.index(index))

    def target(self) -> int | None:
        line = self._line(self.selected)
        return line.seq if line is not None else None

    def marks(self) -> tuple[int, ...]:
        return self._wrong

    # ------------------------------------------------------------ drawing

    def _line(self, index: int) -> WireLine | None:
        if not 0 <= index < self.count:
            return None
        return self.source().line(self._listed[index], self.workspace.cursor)

    def cells(self, index: int) -> dict[str, StyledCell]:
        line = self._line(index)
        return self.styled(line.cells, later=line.later) if line is not None else {}

    def draw(self, index: int, width: int) -> Canvas:
        """Draw a row with the tag of a copy in its first column, or a mark across the row."""
        line = self._line(index)
        if line is None or not line.mark:
            canvas = super().draw(index, width)
            if line is not None and line.tag:
                canvas.put(2 - cell_len(line.tag), line.tag, self._tag_style(line))
            return canvas
        canvas = self.canvas(width)
        style = self.palette.faint if line.later else self.palette.tone(line.tone)
        canvas.line(0, width, "╌", style)
        canvas.put(3, f" {cut(line.mark, width - 8)} ", style + Style(italic=True))
        return canvas

    def _tag_style(self, line: WireLine) -> Style:
        """The first of several copies is the intended one."""
        if line.later:
            return self.palette.faint
        return self.palette.bad + Style(underline=True) if line.tag == "1×" else self.palette.fill_bad


class QuestionList(WireList):
    """Every question of a person, with its way to the model and back."""

    BORDER_TITLE = "Questions"
    layouts = ((WIDE, _WIDE_QUESTIONS), (ROOMY, _ROOMY_QUESTIONS), (0, _QUESTIONS))

    def source(self) -> WireRows:
        return self.workspace.run.questions

    def caption(self) -> tuple[str, str]:
        kept = self.workspace.search.filter
        total = len(self.source())
        if kept is not None:
            return "Questions", f"/{kept}  {self.count} of {total} questions, esc clears"
        return f"Questions {total}", f"inside: {not_known(self.workspace.run.view.header)}"

    def empty_text(self) -> str:
        return self.workspace.unmade("questions") or "nobody asked anything in this run"


class RequestList(WireList):
    """Every request of the gateway to send or to change a message."""

    BORDER_TITLE = "Requests"
    layouts = ((ROOMY, _ROOMY_REQUESTS), (0, _REQUESTS))

    def source(self) -> WireRows:
        return self.workspace.run.requests

    def caption(self) -> tuple[str, str]:
        run = self.workspace.run
        counts = run.requests.counts(self.workspace.cursor)
        return f"Requests on the wire  {counts}".rstrip(), f"queue: {not_known(run.view.header)}"

    def empty_text(self) -> str:
        return self.workspace.unmade("requests") or "the gateway sent nothing in this run"
