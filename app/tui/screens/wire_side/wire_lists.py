"""Lists for a gateway of which only the wire is known: the questions of people, and the gateway's requests."""

from collections.abc import Sequence

from trunkline.app.tui.widgets.cursor_list import MarkedList
from trunkline.app.view.labels.messages import ListLine
from trunkline.app.view.wire_side.facts import QuestionRows, RequestRows, not_known


class WireList(MarkedList[object]):
    #: the numbers of the rows that are listed: all, or those that the filter keeps
    _listed: Sequence[int] = ()

    def source(self) -> QuestionRows | RequestRows:
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

    def fill(self) -> None:
        rows = self.source()
        self._listed = self._kept(rows)
        wrong = set(rows.wrong(self.workspace.cursor))
        self.wrong = tuple(at for at, index in enumerate(self._listed) if index in wrong)
        self.set_titles(*self.caption())
        self.keep()

    def _kept(self, rows: QuestionRows | RequestRows) -> list[int]:
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

    def line(self, index: int) -> ListLine:
        return self.source().line(self._listed[index], self.workspace.cursor)


class QuestionList(WireList):
    """Every question of a person, with its way to the model and back."""

    BORDER_TITLE = "Questions"
    layouts = {
        160: "2 | question * | who 10 | place ~28 | given 14 | asked 16 | answered 14 | sent 16 | seen 30 | "
        "end 26 | broken 9",
        116: "2 | question * | who 6 | place ~20 | asked 7 | answered 8 | sent 7 | seen 10 | end 12 | broken 6",
        96: "2 | question * | place ~14 | asked 7 | sent 7 | seen 10 | end 12 | broken 6",
        0: "2 | question * | place ~12 | asked 7 | sent 7 | seen 10 | end 12",
    }

    def source(self) -> QuestionRows:
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
    BORDER_TITLE = "Requests"
    layouts = {
        116: "2 | state 26 | what * | place ~22 | try >3 | answers 8 | arrived >8 | response 18 | broken 6",
        96: "2 | state 14 | what * | place ~14 | try >3 | answers 8 | arrived >8 | response 8 | broken 6",
        0: "2 | state 14 | what * | place ~14 | try >3 | arrived >8 | response 8",
    }

    def source(self) -> RequestRows:
        return self.workspace.run.requests

    def caption(self) -> tuple[str, str]:
        run = self.workspace.run
        counts = run.requests.counts(self.workspace.cursor)
        return f"Requests on the wire  {counts}".rstrip(), f"queue: {not_known(run.view.header)}"

    def empty_text(self) -> str:
        return self.workspace.unmade("requests") or f"the gateway sent nothing {self.span()}"
