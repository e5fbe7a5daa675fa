"""The queue after any event: its messages with state, owner and age, marks of crashes between them, and the balance.

The balance counts events, not rows: prepared messages must equal ended plus open ones. A message that ended twice, or
has no ending when the run is over, breaks the balance and is named.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import msgspec
from rich.cells import cell_len

from trunkline.app.text.cells import clean, seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.index.growing import GrowingRows
from trunkline.app.view.index.message import OPEN, AttemptKind, AttemptRecord, MessageHistory, QueueState, StateChange
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.app.view.kinds import describe
from trunkline.app.view.labels.lines import ListLine
from trunkline.app.view.labels.messages import (
    EMPTY,
    LATER,
    NO_END,
    LabelCell,
    place_cell,
    process,
    says,
    shape_of,
    state_words,
    where,
)
from trunkline.app.view.messages.attempts_and_chunks import chunks, span_facts
from trunkline.app.view.queue.balance import ALWAYS, FOUND, PREPARED, TERMS, BalanceCounter, QueueBalance
from trunkline.core.events import Body, Event
from trunkline.core.events.delivery import BacklogWaiting, IntentSettled
from trunkline.core.events.gateway import ProcessRecovered
from trunkline.core.events.leases import LeaseGone, LeaseTaken, StorePruned
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.index.projection import on

#: marks between the rows: starts, ends and leases of processes
_MARKERS = (
    ProcessCrashed,
    ProcessStopped,
    ProcessFrozen,
    ProcessThawed,
    ProcessRecovered,
    LeaseTaken,
    LeaseGone,
    BacklogWaiting,
    StorePruned,
)
_ALARMS = (ProcessCrashed, ProcessFrozen, LeaseGone, BacklogWaiting)

#: names of rows that are no attempts: a recovery that looked up or waited, an operator action
_NAMES = {AttemptKind.RECOVERY: "look", AttemptKind.OPERATOR: "op"}
#: cells of a narrow attempts column; chunks shown one by one in a wide one
_TRIES, _PARTS = 8, 16
#: consecutive marks that are not folded
_MARKS = 6


class FoldedMarks(msgspec.Struct, frozen=True):
    """Consecutive marks that are folded into one row."""

    first: Event
    number: int
    crashes: int

    @property
    def seq(self) -> int:
        """The first of them."""
        return self.first.seq


class QueueRows(GrowingView):
    """The rows of the queue over a run: messages and marks, in the order in which they come."""

    def __init__(self, view: RunView, histories: MessageHistories) -> None:
        super().__init__(view)
        self.histories = histories
        self.rows: list[QueueRow] = []
        #: the rows without folding, each with its event
        self._whole = GrowingRows[tuple[int, MessageHistory | Event]](itemgetter(0))
        #: message -> the event that it is listed at
        self._listed: dict[str, int] = {}
        self._new: list[tuple[int, MessageHistory | Event]] = []
        #: changes of histories that were read
        self._read = 0
        self._never: tuple[int, list[str]] = (0, [])
        self._counter = BalanceCounter()
        self.grow()

    @on(*_MARKERS)
    def _marked(self, event: Event, _body: Body) -> None:
        if _worth(event):
            self._new.append((event.seq, event))

    def settle(self) -> None:
        """List what is new, and fold the end again. The histories have grown already."""
        changed = dict.fromkeys(self.histories.changed[self._read :])
        self._read = len(self.histories.changed)
        queued = [history for history in changed if history.queued]
        for history in queued:
            known = self._listed.get(history.id)
            if known != history.seq:
                if known is not None:
                    # It was found in the store and had no event until now.
                    self._whole.remove((known, history))
                self._listed[history.id] = history.seq
                self._new.append((history.seq, history))
        if self._new:
            self._whole.add(*self._new)
            self._new = []
            self._fold(self._whole.take_change())
        self._counter.count(queued)

    def _fold(self, start: int) -> None:
        """Fold marks, starting at the last message before an index."""
        while start and isinstance(self._whole[start - 1][1], Event):
            start -= 1
        done = bisect_right(self.rows, self._whole[start - 1][0], key=_seq) if start else 0
        self.rows[done:] = _folded([row for _, row in self._whole[start:]])

    @property
    def empty(self) -> bool:
        """Nothing was ever queued."""
        return not self._listed

    def place(self, history: MessageHistory | None) -> int | None:
        """The number of its row."""
        known = None if history is None else self._listed.get(history.id)
        return None if known is None else bisect_left(self.rows, known, key=_seq)

    def wrong(self, seq: int) -> list[int]:
        """Numbers of the wrong rows: two owners, two endings, or none."""
        names = {*self._counter.ended_twice(seq), *self._missing(seq), *self._counter.claimed_twice(seq)}
        places = {self.place(self.histories.of(name)) for name in (*names, *self.histories.broken.upto(seq))}
        return sorted(place for place in places if place is not None)

    def ledger(self, seq: int) -> QueueBalance:
        """The balance after event `seq`."""
        counts, missing = self._counter.at(seq), self._missing(seq)
        for name in missing:
            history = self.histories.of(name)
            assert history is not None
            counts[TERMS[history.step(seq).state]] -= 1
        names = dict.fromkeys((*ALWAYS, *TERMS.values()))
        return QueueBalance(
            prepared=counts[PREPARED],
            found=counts[FOUND],
            terms=tuple((name, counts[name]) for name in names if counts[name] or name in ALWAYS),
            missing=tuple(missing),
            twice=self._counter.ended_twice(seq),
        )

    def _missing(self, seq: int) -> list[str]:
        view = self.view
        if view.over > seq:
            return []
        if self._never[0] != view.last:
            histories = (row for _, row in self._whole if isinstance(row, MessageHistory))
            self._never = view.last, [history.id for history in histories if not history.endings(view.last)]
        return self._never[1]

    # ------------------------------------------------------------ rows

    def facts(self, row: QueueRow, seq: int, *, drawn: bool = True) -> Iterator[Fact]:
        """Facts about a message in the queue: its owners over time, and its chunks.

        `drawn`: with bars and strips, not in words alone.
        """
        if not isinstance(row, MessageHistory) or row.step(seq).state is QueueState.LATER:
            return
        yield from span_facts(self.view, self.histories, row, seq, drawn=drawn)
        parts = chunks(row, seq)
        if parts is not None:
            text = f"{parts.strip(_PARTS)}  {parts.words}" if drawn else parts.words
            yield Fact("parts", text, row.seq, parts.tone)

    def line(self, row: QueueRow, seq: int) -> ListLine:
        """A row after event `seq`."""
        if isinstance(row, FoldedMarks):
            text = f"… {row.number} more marks, crashes among them: {row.crashes}"
            return ListLine(seq=row.seq, mark=text, tone=Tone.WARN, later=row.seq > seq)
        if isinstance(row, Event):
            return self._mark(row, seq)
        step = row.step(seq)
        later = step.state is QueueState.LATER
        if later:
            # Shown as it will begin.
            step = row.steps[0] if row.steps else step
        body = row.body
        broken = "" if later else " ".join(self.histories.broken.names(row.id, seq))
        why = self._why(row, step, seq)
        tone = Tone.BAD if broken else Tone.PLAIN
        until = f"until {_duration(step.due)}" if step.due and step.state in OPEN and not later else ""
        wrong = f"✗ {broken}" if broken else ""
        cells = {
            "state": LATER if later else self._state(row, step, seq),
            "id": LabelCell(clean(row.id)),
            "what": LabelCell(self._what(row)),
            "place": place_cell(where(self.view, row)),
            "session": LabelCell(body.mirror_key) if body and body.mirror_key else EMPTY,
            "tries": EMPTY if later else self._tries(row, seq),
            "owner": EMPTY if later else self._owner(row, step, seq),
            "age": EMPTY if later else self._age(row, step, seq),
            "due": _due(step) if until else EMPTY,
            "why": LabelCell("  ".join(filter(None, (wrong, why))), tone=tone),
            "until, why": LabelCell(
                " ".join(filter(None, (wrong, until.removeprefix("until "), why))),
                "  ".join(filter(None, (wrong, until, why))),
                tone,
            ),
        }
        return ListLine(seq=self._target(row, step, seq, later=later), cells=cells, later=later)

    def _what(self, row: MessageHistory) -> str:
        """The text of the intent, and before that the delegation that it reports."""
        delegation = self.view.delegations.of(row.prepared.delegation) if row.prepared is not None else ""
        return f"{clean(delegation)} {says(row)}" if delegation else says(row)

    def _mark(self, event: Event, seq: int) -> ListLine:
        alarm = isinstance(event.body, _ALARMS)
        text = describe(self.view, event)
        if isinstance(event.body, ProcessCrashed) and event.generation:
            text = f"process {event.generation}: {text}"
        text = f"{seconds(event.at)}  {text}"
        tone = Tone.BAD if isinstance(event.body, ProcessCrashed) else Tone.WARN if alarm else Tone.DIM
        return ListLine(seq=event.seq, mark=text, tone=tone, later=event.seq > seq)

    def _target(self, row: MessageHistory, step: StateChange, seq: int, *, later: bool) -> int:
        if step.state is QueueState.ORPHANED:
            # The end of the process has its own mark; this is what the process was doing.
            return row.tried(step.seq)[-1].event.seq
        if later:
            return row.seq
        return self.histories.evidence(row, seq) or step.seq

    def _state(self, history: MessageHistory, step: StateChange, seq: int) -> LabelCell:
        if self.view.over <= seq and not history.endings(seq):
            shape, word, tone = NO_END
            return LabelCell(f"{shape} {word}", tone=tone, seq=step.seq)
        text, tone = state_words(step)
        endings = history.endings(seq)
        if endings > 1:
            return LabelCell(f"✗ ENDED {endings}×", f"{text} {endings}×", Tone.BAD, step.seq)
        return LabelCell(text, tone=tone, seq=step.seq)

    def _tries(self, history: MessageHistory, seq: int) -> LabelCell:
        """Every attempt with its outcome: ``1╳ 2✓``; for a message in several chunks, the chunks: ``■■□■■``."""
        parts = chunks(history, seq)
        if parts is not None:
            return LabelCell(parts.strip(_TRIES), parts.strip(_PARTS), parts.tone)
        words: list[str] = []
        tone = Tone.PLAIN
        for one in history.tried(seq):
            shape, last = self._shape(one, seq)
            name = _NAMES.get(one.part) or str(one.number)
            words.append(f"{name}{shape}")
            tone = last
        return LabelCell(_last(words), " ".join(words), tone) if words else EMPTY

    def _shape(self, one: AttemptRecord, seq: int) -> tuple[str, Tone]:
        died = self.histories.deaths.get(one.event.generation)
        learnt = one.ended is not None and one.ended.seq <= seq
        if one.part is AttemptKind.ATTEMPT and not learnt and died is not None and one.event.seq < died <= seq:
            return "╳", Tone.BAD
        return shape_of(self.view, one, seq)

    def _owner(self, history: MessageHistory, step: StateChange, seq: int) -> LabelCell:
        if step.state not in (QueueState.LEASED, QueueState.ORPHANED):
            return self._owners(history, seq)
        names = "+".join(process(one) for one in step.owners)
        held = seconds(self.view.time(seq) - step.at)
        wrong = len(step.owners) > 1 or step.state is QueueState.ORPHANED
        dead = " ╳" if step.state is QueueState.ORPHANED else ""
        tone = Tone.BAD if wrong else Tone.PLAIN
        return LabelCell(f"{names}{dead}", f"{names}{dead} {held} s", tone, step.seq)

    def _owners(self, history: MessageHistory, seq: int) -> LabelCell:
        """The owners of a message that has none now: two at once remain an error."""
        both = next((one.owners for one in history.steps if one.seq <= seq and len(one.owners) > 1), ())
        names = "+".join(process(one) for one in both)
        return LabelCell(f"✗{names}", f"✗ {names} once", Tone.BAD) if both else EMPTY

    def _age(self, history: MessageHistory, step: StateChange, seq: int) -> LabelCell:
        """How long it has been in the queue, or was until it ended."""
        began = history.prepared or history.first
        ended = history.ending if step.back else step
        until = self.view.time(seq) if step.state in OPEN else (ended or step).at
        tone = Tone.PLAIN if step.state in OPEN else Tone.DIM
        return LabelCell(_duration(until - began.at), tone=tone)

    def _why(self, history: MessageHistory, step: StateChange, seq: int) -> str:
        if step.state is QueueState.LEASED:
            again = "after its end: " if history.endings(seq) else ""
            return f"{again}try {step.tries} is on its way"
        ended = history.settled[-1] if history.settled and history.settled[-1].seq == step.seq else None
        detail = ended.body.detail if ended is not None and isinstance(ended.body, IntentSettled) else ""
        return clean(f"{step.why}{f': {detail}' if detail else ''}")


#: one row: a message, a mark, or several marks
QueueRow = MessageHistory | Event | FoldedMarks


def _seq(row: QueueRow) -> int:
    return row.seq


def _last(words: Sequence[str]) -> str:
    """The last attempts that fit into a narrow column."""
    text = words[-1]
    for left, word in zip(range(len(words) - 2, -1, -1), reversed(words[:-1]), strict=True):
        if cell_len(f"{word} {text}") > _TRIES - bool(left):
            return f"…{text}"
        text = f"{word} {text}"
    return text


def _folded(rows: Sequence[MessageHistory | Event]) -> Iterator[QueueRow]:
    """The rows, with all but the first and last of many consecutive marks folded."""
    for marks, group in groupby(rows, key=lambda row: isinstance(row, Event)):
        several = list(group)
        if not marks or len(several) <= _MARKS:
            yield from several
            continue
        yield from several[: _MARKS - 2]
        left = [row for row in several[_MARKS - 2 : -1] if isinstance(row, Event)]
        yield FoldedMarks(left[0], len(left), sum(isinstance(event.body, ProcessCrashed) for event in left))
        yield several[-1]


def _worth(event: Event) -> bool:
    """A process that takes a free store, and finds nothing in it, says nothing."""
    body = event.body
    if isinstance(body, LeaseTaken):
        return body.before is not None
    if isinstance(body, ProcessRecovered):
        return bool(body.inbounds or body.intents or body.delegations)
    return True


def _due(step: StateChange) -> LabelCell:
    return LabelCell(seconds(step.due), tone=Tone.WARN, seq=step.seq) if step.due is not None else EMPTY


def _duration(span: float) -> str:
    return f"{span:.3f}" if span < 1000 else f"{span:.0f}"
