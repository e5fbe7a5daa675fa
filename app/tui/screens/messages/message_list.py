"""The list of messages: stages as columns, and below an opened one its attempts as rows."""

from __future__ import annotations

from rich.cells import cell_len
from rich.style import Style

from trunkline.app.text.fact import Tone
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.column_list import StyledCell, columns
from trunkline.app.tui.widgets.cursor_list import CursorList
from trunkline.app.view.index.message import AttemptRecord, MessageHistory
from trunkline.app.view.labels.messages import LabelCell
from trunkline.app.view.messages.rows import MessageLine
from trunkline.app.view.timeline.filters import TimelineFilter
from trunkline.core.events import Event

_NARROW = columns(
    "2 | message * | admitted 5 | routed ~10 | prepared 5 | tried 5 | wire 7 | acked 5 | mirrored 4 | terminal 11"
)
_ROOMY = columns(
    "2 | message * | admitted 8 | routed ~14 | prepared 8 | tried 5 | wire 16 | acked 8 | "
    "mirrored 8 | terminal 12 | broken 6"
)
_WIDE = columns(
    "2 | id ~18 | message * | admitted 13 | routed ~28 | prepared 14 | tried 13 | wire 22 | "
    "acked 10 | mirrored 8 | terminal 24 | broken 9"
)
ROOMY, WIDE = 96, 160


class MessageList(CursorList[tuple[MessageHistory, AttemptRecord | Event | None]]):
    """Every message of the run as it was at the cursor."""

    BORDER_TITLE = "Messages"
    layouts = ((WIDE, _WIDE), (ROOMY, _ROOMY), (0, _NARROW))

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self._opened: set[str] = set()
        #: the rows: a message, or one of its attempts
        self._listing: list[tuple[MessageHistory, AttemptRecord | Event | None]] = []
        self._of: object = None
        self._filter: TimelineFilter | None = None
        #: how many there were when they were listed, and after which event
        self._listed = (0, 0)
        self._reordered = 0
        self._wrong: tuple[int, ...] = ()
        #: the messages that they stand for
        self._broken: set[str] | None = None

    def empty_text(self) -> str:
        kept = self.workspace.search.filter
        if self.workspace.open_run is not None and kept is not None and len(self.workspace.run.messages):
            return f"/{kept}: none of {len(self.workspace.run.messages)} messages, esc clears"
        return self.workspace.unmade("messages") or "no message in this run"

    def sync(self) -> None:
        """Show the current state of the workspace; what is opened stays so."""
        if self.workspace.open_run is None:
            return
        if self._of is not self.workspace.open_run:
            self._of, self._opened = self.workspace.open_run, set()
            self._list()
        elif self._filter is not self.workspace.search.filter or self._grown():
            self._list()
        else:
            self._append()
        messages = self.workspace.run.messages
        wrong = messages.wrong(self.workspace.cursor)
        if self._filter is None and not self._opened:
            # All are listed and none is opened: their numbers are those of the rows.
            self._wrong, self._broken = tuple(wrong), None
        else:
            self._mark({messages.histories[at].id for at in wrong})
        title = f"Messages {messages.begun(self.workspace.cursor)}/{len(messages)}" if len(messages) else "Messages"
        self.set_titles(title, self._subtitle(len(messages)))
        self.keep()

    def _grown(self) -> bool:
        """Whether the list is outdated. A filter is applied again after a run has grown by an eighth."""
        histories, (_, last) = self.workspace.run.messages.histories, self._listed
        if self._filter is None and not self._opened:
            return histories.reordered != self._reordered
        most = last // 8 if self.workspace.run.view.growing else 0
        return histories.last > last + most

    def _append(self) -> None:
        """Where all are listed, those that came since come last."""
        histories, (length, _) = self.workspace.run.messages.histories, self._listed
        if self._filter is None and not self._opened and len(histories) > length:
            self._listing.extend((histories[at], None) for at in range(length, len(histories)))
            self._listed, self._broken = (len(histories), histories.last), None

    def _mark(self, wrong: set[str]) -> None:
        """The rows of these messages; found once while they are the same, because a run may have many rows."""
        if wrong != self._broken:
            self._broken = wrong
            rows = enumerate(self._listing) if wrong else ()
            self._wrong = tuple(at for at, (history, part) in rows if part is None and history.id in wrong)

    def _subtitle(self, total: int) -> str:
        if self._filter is not None:
            listed = sum(part is None for _, part in self._listing)
            return f"/{self._filter}  {listed} of {total} messages, esc clears"
        return "Enter opens a message: its attempts as rows" if total else ""

    def _list(self) -> None:
        self.rows = self._listing = []
        histories = self.workspace.run.messages.histories
        self._listed, self._reordered = (len(histories), histories.last), histories.reordered
        self._filter = self.workspace.search.filter
        kept = self.workspace.search.messages(self.workspace.run)
        self._broken = None
        messages = self.workspace.run.messages
        for history in messages.histories:
            if not kept(history.id):
                continue
            self._listing.append((history, None))
            if history.id in self._opened:
                self._listing.extend((history, part) for part in messages.parts(history))

    def follow(self, seq: int) -> None:
        """Select the attempt that an event belongs to where it is listed, else the message."""
        view, messages = self.workspace.run.view, self.workspace.run.messages
        event = view.event(seq)
        history = messages.histories.of_event(event)
        if history is None:
            return
        part = messages.histories.try_of(event)
        rows = [(at, row[1]) for at, row in enumerate(self._listing) if row[0] is history]
        found = next((at for at, one in rows if one is not None and one is part), rows[0][0])
        self.select(found)

    def target(self) -> int | None:
        """The event of the selected row: where the message was prepared, or what people saw of an attempt."""
        line = self._line(self.selected)
        return line.seq if line is not None else None

    def enter(self) -> bool:
        """Open the selected message, or close it; the rows below it lead to their events."""
        if not 0 <= self.selected < self.count or self._listing[self.selected][1] is not None:
            return False
        history = self._listing[self.selected][0]
        if not self.workspace.run.messages.parts(history):
            return False
        self._opened ^= {history.id}
        self._list()
        self.select(next(at for at, row in enumerate(self._listing) if row[0] is history))
        self.sync()
        return True

    def marks(self) -> tuple[int, ...]:
        return self._wrong

    # ------------------------------------------------------------ drawing

    def _line(self, index: int) -> MessageLine | None:
        if not 0 <= index < self.count:
            return None
        history, part = self._listing[index]
        messages, cursor = self.workspace.run.messages, self.workspace.cursor
        return messages.head(history, cursor) if part is None else messages.part(history, part, cursor)

    def cells(self, index: int) -> dict[str, StyledCell]:
        line = self._line(index)
        if line is None:
            return {}
        return self.styled(
            {
                **line.cells,
                "message": line.what,
                "id": LabelCell(text="" if line.sub else line.id),
                "broken": LabelCell(text=line.broken, tone=Tone.BAD),
            },
            later=line.later,
        )

    def draw(self, index: int, width: int) -> Canvas:
        """Draw a row, with the tag of a copy in the first column."""
        canvas, line = super().draw(index, width), self._line(index)
        if line is not None and line.tag:
            canvas.put(2 - cell_len(line.tag), line.tag, self._tag_style(line))
        return canvas

    def _tag_style(self, line: MessageLine) -> Style:
        """The first of several copies is the intended one."""
        if line.later:
            return self.palette.faint
        return self.palette.bad + Style(underline=True) if line.tag == "1×" else self.palette.fill_bad
