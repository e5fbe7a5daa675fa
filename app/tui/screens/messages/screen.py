"""Messages: the life of each one, stage by stage, and its attempts as rows; of a foreign gateway, the questions."""

from typing import Any

from trunkline.app.tui.screens.list_screen import ListScreen
from trunkline.app.tui.screens.wire_side.wire_lists import QuestionList
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cursor_list import CursorList, Detail, MarkedList
from trunkline.app.view.index.growing import LazySequence
from trunkline.app.view.index.messages import AttemptRecord, MessageHistory
from trunkline.app.view.labels.messages import ListLine
from trunkline.app.view.timeline.filters import TimelineFilter
from trunkline.core.events import Event

#: a message, or one of its attempts or copies
Listed = tuple[MessageHistory, AttemptRecord | Event | None]


class MessageList(MarkedList[Listed]):
    BORDER_TITLE = "Messages"
    layouts = {
        160: "2 | id ~18 | message * | admitted 13 | routed ~28 | prepared 14 | tried 13 | wire 22 | acked 10 | "
        "mirrored 8 | terminal 24 | broken 9",
        96: "2 | message * | admitted 8 | routed ~14 | prepared 8 | tried 5 | wire 16 | acked 8 | mirrored 8 | "
        "terminal 12 | broken 6",
        0: "2 | message * | admitted 5 | routed ~10 | prepared 5 | tried 5 | wire 7 | acked 5 | mirrored 4 | "
        "terminal 11",
    }

    _opened: frozenset[str] = frozenset()
    _of: object = None
    #: the filter that the rows were listed for, and after which event; none: every message is a row
    _listed: tuple[TimelineFilter | None, int] | None = None
    #: the messages that the wrong rows stand for
    _broken: set[str] | None = None

    def empty_text(self) -> str:
        kept = self.workspace.search.filter
        if self.workspace.open_run is not None and kept is not None and len(self.workspace.run.messages):
            return f"/{kept}: none of {len(self.workspace.run.messages)} messages, esc clears"
        return self.workspace.unmade("messages") or "no message in this run"

    def fill(self) -> None:
        if self._of is not self.workspace.open_run:
            self._of, self._opened, self._listed = self.workspace.open_run, frozenset(), None
        messages, kept = self.workspace.run.messages, self.workspace.search.filter
        wrong = messages.wrong(self.workspace.cursor)
        if kept is None and not self._opened:
            self._listed = None
            self.rows = LazySequence(messages.histories.all, lambda history: (history, None), keep=False)
            self.wrong = tuple(wrong)
        else:
            self._list_again()
            self._mark({messages.histories[at].id for at in wrong})
        title = f"Messages {messages.begun(self.workspace.cursor)}/{len(messages)}" if len(messages) else "Messages"
        self.set_titles(title, self._subtitle(len(messages)))
        self.keep()

    def _list_again(self) -> None:
        """List the messages that the filter keeps, and the parts of opened ones.

        While the run grows, they are listed again when it has grown by an eighth.
        """
        run, kept = self.workspace.run, self.workspace.search.filter
        if self._listed is not None and self._listed[0] is kept:
            last = self._listed[1]
            if run.view.last <= last + (last // 8 if run.view.growing else 0):
                return
        self._listed, self._broken = (kept, run.view.last), None
        passes, rows = self.workspace.search.messages(run), list[Listed]()
        for history in run.messages.histories:
            if passes(history.id):
                rows.append((history, None))
                if history.id in self._opened:
                    rows.extend((history, part) for part in run.messages.parts(history))
        self.rows = rows

    def _mark(self, wrong: set[str]) -> None:
        """Find the rows of these messages, once while they are the same: a run may have many rows."""
        if wrong != self._broken:
            self._broken = wrong
            rows = enumerate(self.rows) if wrong else ()
            self.wrong = tuple(at for at, (history, part) in rows if part is None and history.id in wrong)

    def _subtitle(self, total: int) -> str:
        kept = self.workspace.search.filter
        if kept is not None:
            return f"/{kept}  {sum(part is None for _, part in self.rows)} of {total} messages, esc clears"
        return "Enter opens a message: its attempts as rows" if total else ""

    def follow(self, seq: int) -> None:
        """Select the attempt that an event belongs to where it is listed, else the message."""
        histories, event = self.workspace.run.messages.histories, self.workspace.run.view.event(seq)
        history = histories.of_event(event)
        if history is None:
            return
        if self._listed is None:
            self.select(histories.place(history))
            return
        part = histories.try_of(event)
        rows = [(at, row[1]) for at, row in enumerate(self.rows) if row[0] is history]
        found = next((at for at, own in rows if own is not None and own is part), rows[0][0] if rows else None)
        if found is not None:
            self.select(found)

    def enter(self) -> bool:
        """Open the selected message, or close it; the rows below it lead to their events."""
        if self.chosen is None or self.chosen[1] is not None:
            return False
        history = self.chosen[0]
        if not self.workspace.run.messages.parts(history):
            return False
        self._opened ^= {history.id}
        self._listed = None
        self.sync()
        self.select(next(at for at, row in enumerate(self.rows) if row[0] is history))
        return True

    def line(self, index: int) -> ListLine:
        history, part = self.rows[index]
        messages, cursor = self.workspace.run.messages, self.workspace.cursor
        return messages.head(history, cursor) if part is None else messages.part(history, part, cursor)


class MessagesScreen(ListScreen[CursorList[Any], Detail], screen="messages"):
    """A row per message; Enter opens it."""

    filtered = True

    def __init__(self, workspace: Workspace) -> None:
        questions = QuestionList(workspace, id="questions")
        super().__init__(
            workspace, MessageList(workspace, id="messages"), Detail(workspace, id="why"), of_wire=questions
        )
