"""Lists for a gateway of which only the wire is known: the questions of people, and the gateway's requests."""

from __future__ import annotations

from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.column_list import columns
from trunkline.app.tui.widgets.marked_list import MarkedList
from trunkline.app.view.labels.lines import ListLine
from trunkline.app.view.wire_side.lines import WireRows
from trunkline.app.view.wire_side.unknown import not_known

_QUESTIONS = columns("2 | question * | place ~12 | asked 7 | sent 7 | seen 10 | end 12")
_BROADER_QUESTIONS = columns("2 | question * | place ~14 | asked 7 | sent 7 | seen 10 | end 12 | broken 6")
_ROOMY_QUESTIONS = columns(
    "2 | question * | who 6 | place ~20 | asked 7 | answered 8 | sent 7 | seen 10 | end 12 | broken 6"
)
_WIDE_QUESTIONS = columns(
    "2 | question * | who 10 | place ~28 | given 14 | asked 16 | answered 14 | sent 16 | seen 30 | end 26 | broken 9"
)
_REQUESTS = columns("2 | state 14 | what * | place ~14 | try >3 | arrived >8 | response 8")
_BROADER_REQUESTS = columns(
    "2 | state 14 | what * | place ~14 | try >3 | answers 8 | arrived >8 | response 8 | broken 6"
)
_ROOMY_REQUESTS = columns(
    "2 | state 26 | what * | place ~22 | try >3 | answers 8 | arrived >8 | response 18 | broken 6"
)
#: from these widths on there is room for more columns
BROADER, ROOMY, WIDE = 96, 116, 160


class WireList(MarkedList[object]):
    """A list of rows as they were at the cursor."""

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        #: the numbers of the rows that are listed: all, or those that the filter keeps
        self._listed: list[int] = []

    def source(self) -> WireRows:
        """The rows of the open run."""
        raise NotImplementedError

    def caption(self) -> tuple[str, str]:
        """The title, and the words at the right of it."""
        raise NotImplementedError

    def span(self) -> str:
        """Of what an empty list speaks."""
        return "so far" if self.workspace.run.view.growing else "in this run"

    @property
    def count(self) -> int:
        return len(self._listed) if self.workspace.open_run is not None else 0

    def sync(self) -> None:
        if self.workspace.open_run is None:
            return
        rows = self.source()
        self._listed = self._kept(rows)
        wrong = set(rows.wrong(self.workspace.cursor))
        self.wrong = tuple(at for at, index in enumerate(self._listed) if index in wrong)
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

    # ------------------------------------------------------------ drawing

    def line(self, index: int) -> ListLine:
        return self.source().line(self._listed[index], self.workspace.cursor)


class QuestionList(WireList):
    """Every question of a person, with its way to the model and back."""

    BORDER_TITLE = "Questions"
    layouts = ((WIDE, _WIDE_QUESTIONS), (ROOMY, _ROOMY_QUESTIONS), (BROADER, _BROADER_QUESTIONS), (0, _QUESTIONS))

    def source(self) -> WireRows:
        return self.workspace.run.questions

    def caption(self) -> tuple[str, str]:
        kept = self.workspace.search.filter
        total = len(self.source())
        if kept is not None:
            return "Questions", f"/{kept}  {self.count} of {total} questions, esc clears"
        return f"Questions {total}", f"inside: {not_known(self.workspace.run.view.header)}"

    def empty_text(self) -> str:
        return self.workspace.unmade("questions") or f"nobody asked anything {self.span()}"


class RequestList(WireList):
    """Every request of the gateway to send or to change a message."""

    BORDER_TITLE = "Requests"
    layouts = ((ROOMY, _ROOMY_REQUESTS), (BROADER, _BROADER_REQUESTS), (0, _REQUESTS))

    def source(self) -> WireRows:
        return self.workspace.run.requests

    def caption(self) -> tuple[str, str]:
        run = self.workspace.run
        counts = run.requests.counts(self.workspace.cursor)
        return f"Requests on the wire  {counts}".rstrip(), f"queue: {not_known(run.view.header)}"

    def empty_text(self) -> str:
        return self.workspace.unmade("requests") or f"the gateway sent nothing {self.span()}"
