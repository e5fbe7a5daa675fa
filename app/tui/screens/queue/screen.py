"""Queue: every prepared message with its state, and the balance; of a foreign gateway, its requests on the wire."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.style import Style

from trunkline.app.text.cells import cut, wrap
from trunkline.app.text.fact import Fact
from trunkline.app.tui.screens.list_screen import ListScreen
from trunkline.app.tui.screens.wire_side.wire_lists import RequestList
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cursor_list import ChoosableList, CursorList, Detail, MarkedList
from trunkline.app.tui.widgets.row_list import Canvas
from trunkline.app.view.labels.messages import ListLine
from trunkline.app.view.queue.rows import QueueBalance

#: lines for the messages that break the balance
_NAMES = 2


class QueueList(MarkedList[object]):
    """Every message that was ever queued, as it was at the cursor; ended ones stay."""

    BORDER_TITLE = "Queue"
    layouts = {
        160: "state 12 | id ~16 | what * | place ~20 | session ~46 | tries 14 | owner 13 | age >8 | due >8 | why 32",
        96: "state 12 | id ~12 | what * | place ~16 | tries 11 | owner 12 | age >7 | until, why 24",
        0: "state 11 | what * | place ~10 | tries 8 | owner 6 | age >7 | until, why 15",
    }

    _sums: Sequence[str] = ()
    _ledger: QueueBalance | None = None

    @property
    def count(self) -> int:
        """Messages and marks; none while nothing was queued."""
        if self.workspace.open_run is None or self.workspace.run.queue.empty:
            return 0
        return len(self.workspace.run.queue.rows)

    def empty_text(self) -> str:
        none = "nothing was put into the queue in this run: nothing was to be said"
        return self.workspace.unmade("queue") or none

    def fill(self) -> None:
        queue, cursor = self.workspace.run.queue, self.workspace.cursor
        self._ledger = queue.ledger(cursor)
        self.wrong = tuple(queue.wrong(cursor))
        room = max(self.size.width - 3, 10)
        sums = [] if queue.empty else wrap(self._ledger.text, room)
        names = wrap(self._ledger.names, room) if self._ledger.names else []
        if len(names) > _NAMES:
            names = [*names[: _NAMES - 1], cut(" ".join(names[_NAMES - 1 :]), room)]
        self._sums = [*sums, *names]
        self.heading = len(self._sums) + 1
        title = "Queue" if queue.empty else f"Queue {self._ledger.total}"
        self.set_titles(title, "" if queue.empty else "Enter: its event on the timeline")
        self.keep()

    def follow(self, seq: int) -> None:
        """Select the message that an event is part of, or the mark that it is."""
        queue, event = self.workspace.run.queue, self.workspace.run.view.event(seq)
        found = queue.place(queue.histories.of_event(event))
        if found is None:
            found = next((at for at, row in enumerate(queue.rows) if row is event), None)
        if found is not None:
            self.select(found)

    def line(self, index: int) -> ListLine:
        queue = self.workspace.run.queue
        return queue.line(queue.rows[index], self.workspace.cursor)

    def draw_heading(self, line: int, width: int) -> Canvas:
        """The sum, then the titles."""
        if line < len(self._sums) and self._ledger is not None:
            canvas = self.canvas(width)
            holds = self._ledger.holds
            style = self.palette.good if holds else self.palette.bad
            canvas.put(1, self._sums[line], style + Style(bold=True))
            return canvas
        return super().draw_heading(line, width)


#: facts before the claims: the expected and the actual outcome
_FIRST = frozenset({"expected", "actual"})
_EMPTY = (
    ("what", "all that is to be said is stored here before it is sent, and stays until its end is known"),
    ("shown", "each message with its state, who sends it, its attempts, and the sum that shows that none is lost"),
)


class QueueRecord(Detail):
    """Explains the selected row: what is wrong with it, then its claims and its chunks."""

    def facts(self, rows: ChoosableList[Any]) -> tuple[str, Iterable[Fact]]:
        """An explanation with the claims in it; without a message, what the queue is."""
        if self.workspace.run.view.wire_side:
            return super().facts(rows)
        if not rows.count:
            return "Queue", [Fact(label, text) for label, text in _EMPTY]
        title, why = super().facts(rows)
        lines = list(why)
        queue = self.workspace.run.queue
        own = list(queue.facts(queue.rows[rows.selected], self.workspace.cursor)) if rows.selected >= 0 else []
        label, at = "", 0
        for at, fact in enumerate(lines):  # noqa: B007 -- the index is needed after the loop
            label = fact.label or label
            if label not in _FIRST:
                break
        return title, [*lines[:at], *own, *lines[at:]]


class QueueScreen(ListScreen[CursorList[object], QueueRecord], screen="queue"):
    """A row per queued message; Enter goes to the event of its state."""

    def __init__(self, workspace: Workspace) -> None:
        requests = RequestList(workspace, id="requests")
        super().__init__(
            workspace, QueueList(workspace, id="queue"), QueueRecord(workspace, id="why"), of_wire=requests
        )
