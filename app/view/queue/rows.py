"""The queue after any event: its messages with state, owner and age, marks of crashes between them, and the balance.

The balance counts events, not rows: prepared messages must equal ended plus open ones. A message that ended twice, or
has no ending when the run is over, breaks the balance and is named.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby

import msgspec
from rich.cells import cell_len

from trunkline.app.text.cells import clean, seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.index.message import OPEN, AttemptKind, AttemptRecord, MessageHistory, QueueState, StateChange
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.app.view.labels.lines import ListLine
from trunkline.app.view.labels.messages import (
    EMPTY,
    LATER,
    NO_END,
    LabelCell,
    ViolationsByMessage,
    broken_words,
    evidence_of,
    place_cell,
    process,
    says,
    shape_of,
    state_words,
    where,
)
from trunkline.app.view.messages.attempts_and_chunks import chunks, span_facts
from trunkline.app.view.queue.balance import ALWAYS, TERMS, BalanceCounter, QueueBalance
from trunkline.core.events import Event
from trunkline.core.events.delivery import BacklogWaiting, IntentSettled
from trunkline.core.events.gateway import ProcessRecovered
from trunkline.core.events.leases import LeaseGone, LeaseTaken, StorePruned
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed

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


class QueueRows:
    """The rows of the queue over a run: messages and marks, in the order in which they come."""

    def __init__(self, view: RunView, histories: MessageHistories) -> None:
        self._view = view
        self.histories = histories
        self.rows: list[MessageHistory | Event | FoldedMarks] = []
        #: the rows without folding; and the index of each message in them
        self._whole: list[MessageHistory | Event] = []
        self._listed: dict[str, int] = {}
        #: message -> the number of its row
        self._places: dict[str, int] = {}
        self._never: tuple[int, list[str]] = (0, [])
        self._tally = BalanceCounter(())
        self._broken = ViolationsByMessage(view, histories)
        self._done = 0
        self._take(histories)

    def grow(self) -> None:
        """Take the new events. The histories have grown already."""
        self._take(self.histories.touched.values())

    def _take(self, changed: Iterable[MessageHistory]) -> None:
        queued = [history for history in changed if history.queued]
        since, self._done = self._done, self._view.last
        marks = (event for event in self._view.events[since:] if isinstance(event.body, _MARKERS))
        self._list(queued, [event for event in marks if _worth(event)])
        self._tally.grow(queued)
        self._broken.grow()

    def _list(self, queued: Iterable[MessageHistory], marks: Iterable[Event]) -> None:
        """Insert rows and fold the end again; earlier rows stay."""
        start = len(self._whole)
        new: list[MessageHistory | Event] = list(marks)
        for history in queued:
            known = self._listed.get(history.id)
            if known == history.seq:
                continue
            if known is not None:
                # It was found in the store and had no event until now.
                at = bisect_left(self._whole, known, key=_seq)
                start = min(start, at)
                del self._whole[at]
            self._listed[history.id] = history.seq
            new.append(history)
        if not new:
            return
        new.sort(key=_seq)
        at = bisect_left(self._whole, new[0].seq, key=_seq)
        start = min(start, at)
        self._whole[at:] = merge(self._whole[at:], new, key=_seq)
        self._fold(start)

    def _fold(self, start: int) -> None:
        """Fold marks, starting at the last message before an index."""
        while start and not isinstance(self._whole[start - 1], MessageHistory):
            start -= 1
        last = self._whole[start - 1] if start else None
        done = self._places[last.id] + 1 if isinstance(last, MessageHistory) else 0
        self.rows[done:] = _folded(self._whole[start:])
        rows = enumerate(self.rows[done:], done)
        self._places.update((row.id, at) for at, row in rows if isinstance(row, MessageHistory))

    @property
    def empty(self) -> bool:
        """Nothing was ever queued."""
        return not self._places

    def place(self, history: MessageHistory | None) -> int | None:
        """The number of its row."""
        return self._places.get(history.id) if history is not None else None

    def wrong(self, seq: int) -> list[int]:
        """Numbers of the wrong rows: two owners, two endings, or none."""
        names = {*self._tally.twice(seq), *self._missing(seq), *self._tally.claimed_twice(seq)}
        names |= {name for name, found in self._broken.items() if any(at <= seq for at, *_ in found)}
        return sorted(self._places[name] for name in names if name in self._places)

    def ledger(self, seq: int) -> QueueBalance:
        """The balance after event `seq`."""
        counts, prepared, found = self._tally.at(seq)
        missing = self._missing(seq)
        for name in missing:
            history = self.histories.of(name)
            assert history is not None
            counts[TERMS[history.step(seq).state]] -= 1
        names = dict.fromkeys((*ALWAYS, *TERMS.values()))
        terms = tuple((name, counts[name]) for name in names if counts[name] or name in ALWAYS)
        twice = tuple(self._tally.twice(seq))
        return QueueBalance(prepared=prepared, found=found, terms=terms, missing=tuple(missing), twice=twice)

    def _missing(self, seq: int) -> list[str]:
        view = self._view
        if view.over > seq:
            return []
        if self._never[0] != view.last:
            histories = (row for row in self._whole if isinstance(row, MessageHistory))
            self._never = view.last, [history.id for history in histories if not history.endings(view.last)]
        return self._never[1]

    # ------------------------------------------------------------ rows

    def facts(self, row: MessageHistory | Event | FoldedMarks, seq: int, *, drawn: bool = True) -> Iterator[Fact]:
        """Facts about a message in the queue: its owners over time, and its chunks.

        `drawn`: with bars and strips, not in words alone.
        """
        if not isinstance(row, MessageHistory) or row.step(seq).state is QueueState.LATER:
            return
        yield from span_facts(self._view, self.histories, row, seq, drawn=drawn)
        parts = chunks(row, seq)
        if parts is not None:
            text = f"{parts.strip(_PARTS)}  {parts.words}" if drawn else parts.words
            yield Fact(label="parts", text=text, tone=parts.tone, seq=row.seq)

    def line(self, row: MessageHistory | Event | FoldedMarks, seq: int) -> ListLine:
        """One row after event `seq`."""
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
        broken = "" if later else broken_words(self._broken.get(row.id, ()), seq)
        why = self._why(row, step, seq)
        tone = Tone.BAD if broken else Tone.PLAIN
        until = f"until {_duration(step.due)}" if step.due and step.state in OPEN and not later else ""
        wrong = f"✗ {broken}" if broken else ""
        cells = {
            "state": LATER if later else self._state(row, step, seq),
            "id": LabelCell(text=clean(row.id)),
            "what": LabelCell(text=self._what(row)),
            "place": place_cell(where(self._view, row)),
            "session": LabelCell(text=body.mirror_key) if body and body.mirror_key else EMPTY,
            "tries": EMPTY if later else self._tries(row, seq),
            "owner": EMPTY if later else self._owner(row, step, seq),
            "age": EMPTY if later else self._age(row, step, seq),
            "due": _due(step) if until else EMPTY,
            "why": LabelCell(text="  ".join(filter(None, (wrong, why))), tone=tone),
            "until, why": LabelCell(
                text=" ".join(filter(None, (wrong, until.removeprefix("until "), why))),
                more="  ".join(filter(None, (wrong, until, why))),
                tone=tone,
            ),
        }
        return ListLine(seq=self._target(row, step, seq, later=later), cells=cells, later=later)

    def _what(self, row: MessageHistory) -> str:
        """What it says, and before that the delegation that it reports."""
        delegation = self._view.delegations.of(row.prepared.delegation) if row.prepared is not None else ""
        return f"{clean(delegation)} {says(row)}" if delegation else says(row)

    def _mark(self, event: Event, seq: int) -> ListLine:
        alarm = isinstance(event.body, _ALARMS)
        text = describe(self._view, event)
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
        return evidence_of(self._view, self._broken.get(row.id, ()), seq) or step.seq

    def _state(self, history: MessageHistory, step: StateChange, seq: int) -> LabelCell:
        if self._view.over <= seq and not history.endings(seq):
            shape, word, tone = NO_END
            return LabelCell(text=f"{shape} {word}", tone=tone, seq=step.seq)
        text, tone = state_words(step)
        endings = history.endings(seq)
        if endings > 1:
            return LabelCell(text=f"✗ ENDED {endings}×", more=f"{text} {endings}×", tone=Tone.BAD, seq=step.seq)
        return LabelCell(text=text, tone=tone, seq=step.seq)

    def _tries(self, history: MessageHistory, seq: int) -> LabelCell:
        """Every attempt with its outcome: ``1╳ 2✓``; for a message in several chunks, the chunks: ``■■□■■``."""
        parts = chunks(history, seq)
        if parts is not None:
            return LabelCell(text=parts.strip(_TRIES), more=parts.strip(_PARTS), tone=parts.tone)
        words: list[str] = []
        tone = Tone.PLAIN
        for one in history.tried(seq):
            shape, last = self._shape(one, seq)
            name = _NAMES.get(one.part) or str(one.number)
            words.append(f"{name}{shape}")
            tone = last
        return LabelCell(text=_last(words), more=" ".join(words), tone=tone) if words else EMPTY

    def _shape(self, one: AttemptRecord, seq: int) -> tuple[str, Tone]:
        died = self.histories.deaths.get(one.event.generation)
        learnt = one.ended is not None and one.ended.seq <= seq
        if one.part is AttemptKind.ATTEMPT and not learnt and died is not None and one.event.seq < died <= seq:
            return "╳", Tone.BAD
        return shape_of(self._view, one, seq)

    def _owner(self, history: MessageHistory, step: StateChange, seq: int) -> LabelCell:
        if step.state not in (QueueState.LEASED, QueueState.ORPHANED):
            return self._owners(history, seq)
        names = "+".join(process(one) for one in step.owners)
        held = seconds(self._view.time(seq) - step.at)
        wrong = len(step.owners) > 1 or step.state is QueueState.ORPHANED
        dead = " ╳" if step.state is QueueState.ORPHANED else ""
        tone = Tone.BAD if wrong else Tone.PLAIN
        return LabelCell(text=f"{names}{dead}", more=f"{names}{dead} {held} s", tone=tone, seq=step.seq)

    def _owners(self, history: MessageHistory, seq: int) -> LabelCell:
        """The owners of a message that has none now: two at once remain an error."""
        both = next((one.owners for one in history.steps if one.seq <= seq and len(one.owners) > 1), ())
        names = "+".join(process(one) for one in both)
        return LabelCell(text=f"✗{names}", more=f"✗ {names} once", tone=Tone.BAD) if both else EMPTY

    def _age(self, history: MessageHistory, step: StateChange, seq: int) -> LabelCell:
        """How long it has been in the queue, or was until it ended."""
        began = history.prepared or history.first
        ended = history.ending if step.back else step
        until = self._view.time(seq) if step.state in OPEN else (ended or step).at
        tone = Tone.PLAIN if step.state in OPEN else Tone.DIM
        return LabelCell(text=_duration(until - began.at), tone=tone)

    def _why(self, history: MessageHistory, step: StateChange, seq: int) -> str:
        if step.state is QueueState.LEASED:
            again = "after its end: " if history.endings(seq) else ""
            return f"{again}try {step.tries} is on its way"
        ended = history.settled[-1] if history.settled and history.settled[-1].seq == step.seq else None
        detail = ended.body.detail if ended is not None and isinstance(ended.body, IntentSettled) else ""
        return clean(f"{step.why}{f': {detail}' if detail else ''}")


def _seq(row: MessageHistory | Event) -> int:
    return row.seq


def _last(words: Sequence[str]) -> str:
    """The last attempts that fit into a narrow column."""
    text = words[-1]
    for left, word in zip(range(len(words) - 2, -1, -1), reversed(words[:-1]), strict=True):
        if cell_len(f"{word} {text}") > _TRIES - bool(left):
            return f"…{text}"
        text = f"{word} {text}"
    return text


def _folded(rows: Sequence[MessageHistory | Event]) -> Iterator[MessageHistory | Event | FoldedMarks]:
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
    return LabelCell(text=seconds(step.due), tone=Tone.WARN, seq=step.seq) if step.due is not None else EMPTY


def _duration(span: float) -> str:
    return f"{span:.3f}" if span < 1000 else f"{span:.0f}"
