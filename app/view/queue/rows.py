"""The queue after any event: its messages with state, owner and age, marks of crashes between them, and the balance.

The balance counts events, not rows: prepared messages must equal ended plus open ones. A message that ended twice, or
has no ending when the run is over, breaks the balance and is named.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import msgspec
from rich.cells import cell_len

from trunkline.app.text.cells import clean, seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.index.growing import GrowingRows, Tally
from trunkline.app.view.index.messages import (
    OPEN,
    AttemptKind,
    AttemptRecord,
    MessageHistories,
    MessageHistory,
    QueueState,
    StateChange,
)
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.app.view.kinds.registry import describe
from trunkline.app.view.labels import messages as labels
from trunkline.app.view.labels.messages import LabelCell, ListLine
from trunkline.app.view.messages.rows import chunks, span_facts
from trunkline.core.events import Body, Event, delivery, gateway, leases
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.index.projection import on

# The balance of the queue: at any moment, prepared messages equal ended plus open ones.

#: the terms that are always shown, and the term of each state
ALWAYS = ("delivered", "open", "retry", "dead")
TERMS = {
    **dict.fromkeys((QueueState.PENDING, QueueState.LEASED, QueueState.ORPHANED), "open"),
    **{QueueState(name): name for name in ("delivered", "retry", "dead", "failed", "expired", "unknown")},
    **{QueueState(name): name for name in ("partial", "misplaced", "cancelled")},
}
#: counted beside the terms: messages that were prepared in this run, and those of an earlier one
PREPARED, FOUND = "prepared", "found"


class QueueBalance(msgspec.Struct, frozen=True, kw_only=True):
    prepared: int
    #: found in the store, prepared by an earlier run
    found: int
    terms: tuple[tuple[str, int], ...]
    #: without an ending although the run is over
    missing: tuple[str, ...] = ()
    #: ended more than once
    twice: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """The number of messages that must be accounted for."""
        return self.prepared + self.found

    @property
    def holds(self) -> bool:
        """Whether nothing is missing and nothing ended twice."""
        return not self.missing and not self.twice and self.total == sum(number for _, number in self.terms)

    @property
    def text(self) -> str:
        """``✓ prepared 11 = delivered 7 + open 1 + retry 1 + dead 2, adds up``."""
        left = f"prepared {self.prepared}" + (f" + found {self.found}" if self.found else "")
        right = " + ".join(f"{name} {number}" for name, number in self.terms)
        return f"✓ {left} = {right}, adds up" if self.holds else f"✗ {left} ≠ {right}, does not add up"

    @property
    def names(self) -> str:
        """The messages that break the balance."""
        words: list[str] = []
        if self.missing:
            words.append(f"{len(self.missing)} without an ending: {' '.join(self.missing)}")
        if self.twice:
            words.append(f"{len(self.twice)} ended twice: {' '.join(self.twice)}")
        return "; ".join(words)


class BalanceCounter:
    """Counts of messages by term after any event, and the messages that ended or were claimed twice."""

    def __init__(self) -> None:
        self._tally = Tally()
        #: repeated endings without a reopening, and claims by two processes, each with its message
        self._ended_twice = GrowingRows[tuple[int, str]](itemgetter(0))
        self._claimed_twice = GrowingRows[tuple[int, str]](itemgetter(0))
        #: message -> counted changes of state, its current term, and whether it has ended
        self._counted: dict[str, tuple[int, str, bool]] = {}
        #: messages found in the store -> the event that they are counted at
        self._found: dict[str, int] = {}

    def count(self, histories: Iterable[MessageHistory]) -> None:
        counts: list[tuple[int, tuple[str, int]]] = []
        for history in histories:
            if history.prepared is None and history.id not in self._found:
                self._found[history.id] = history.seq
                counts.append((history.seq, (FOUND, 1)))
            self._count(history, counts)
            if history.prepared is not None and history.id in self._found:
                counts.append((self._found.pop(history.id), (FOUND, -1)))
        self._tally.add(*counts)

    def _count(self, history: MessageHistory, counts: list[tuple[int, tuple[str, int]]]) -> None:
        """An ended message leaves its count only if an operator reopens it; other changes are repeats."""
        done, name, over = self._counted.get(history.id, (0, "", False))
        for step in history.steps[done:]:
            if step.entered or step.reopened or not over:
                if name and (step.reopened or not over):
                    counts.append((step.seq, (name, -1)))
                name, over = TERMS[step.state], step.ends
                counts.append((step.seq, (name, 1)))
            elif step.ends:
                self._ended_twice.add((step.seq, history.id))
                counts.append((step.seq, (TERMS[step.state], 1)))
            if step.entered:
                counts.append((step.seq, (PREPARED, 1)))
            if len(step.owners) > 1:
                self._claimed_twice.add((step.seq, history.id))
        self._counted[history.id] = len(history.steps), name, over

    def at(self, seq: int) -> Counter[str]:
        """The numbers of the terms, and of messages prepared and found, after event `seq`."""
        return Counter(self._tally.at(seq))

    def ended_twice(self, seq: int) -> tuple[str, ...]:
        """The messages with more than one ending."""
        return _names(self._ended_twice, seq)

    def claimed_twice(self, seq: int) -> tuple[str, ...]:
        """The messages that two processes worked on at the same time."""
        return _names(self._claimed_twice, seq)


def _names(rows: GrowingRows[tuple[int, str]], seq: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for _, name in rows[: rows.upto(seq)]))


#: marks between the rows: starts, ends and leases of processes
_MARKERS = (
    ProcessCrashed,
    ProcessStopped,
    ProcessFrozen,
    ProcessThawed,
    gateway.ProcessRecovered,
    leases.LeaseTaken,
    leases.LeaseGone,
    delivery.BacklogWaiting,
    leases.StorePruned,
)
_ALARMS = (ProcessCrashed, ProcessFrozen, leases.LeaseGone, delivery.BacklogWaiting)

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

    def facts(self, row: "QueueRow", seq: int, *, drawn: bool = True) -> Iterator[Fact]:
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

    def line(self, row: "QueueRow", seq: int) -> ListLine:
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
            "state": labels.LATER if later else self._state(row, step, seq),
            "id": LabelCell(clean(row.id)),
            "what": LabelCell(self._what(row)),
            "place": labels.place_cell(labels.where(self.view, row)),
            "session": LabelCell(body.mirror_key) if body and body.mirror_key else labels.EMPTY,
            "tries": labels.EMPTY if later else self._tries(row, seq),
            "owner": labels.EMPTY if later else self._owner(row, step, seq),
            "age": labels.EMPTY if later else self._age(row, step, seq),
            "due": LabelCell(seconds(step.due), tone=Tone.WARN, seq=step.seq) if step.due and until else labels.EMPTY,
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
        return f"{clean(delegation)} {labels.says(row)}" if delegation else labels.says(row)

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
            shape, word, tone = labels.NO_END
            return LabelCell(f"{shape} {word}", tone=tone, seq=step.seq)
        text, tone = labels.state_words(step)
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
        for attempt in history.tried(seq):
            shape, last = self._shape(attempt, seq)
            name = _NAMES.get(attempt.part) or str(attempt.number)
            words.append(f"{name}{shape}")
            tone = last
        return LabelCell(_last(words), " ".join(words), tone) if words else labels.EMPTY

    def _shape(self, attempt: AttemptRecord, seq: int) -> tuple[str, Tone]:
        died = self.histories.deaths.get(attempt.event.generation)
        learnt = attempt.ended is not None and attempt.ended.seq <= seq
        if attempt.part is AttemptKind.ATTEMPT and not learnt and died is not None and attempt.event.seq < died <= seq:
            return "╳", Tone.BAD
        return labels.shape_of(self.view, attempt, seq)

    def _owner(self, history: MessageHistory, step: StateChange, seq: int) -> LabelCell:
        if step.state not in (QueueState.LEASED, QueueState.ORPHANED):
            return self._owners(history, seq)
        names = "+".join(labels.process(owner) for owner in step.owners)
        held = seconds(self.view.time(seq) - step.at)
        wrong = len(step.owners) > 1 or step.state is QueueState.ORPHANED
        dead = " ╳" if step.state is QueueState.ORPHANED else ""
        tone = Tone.BAD if wrong else Tone.PLAIN
        return LabelCell(f"{names}{dead}", f"{names}{dead} {held} s", tone, step.seq)

    def _owners(self, history: MessageHistory, seq: int) -> LabelCell:
        """The owners of a message that has none now: two at once remain an error."""
        both = next((step.owners for step in history.steps if step.seq <= seq and len(step.owners) > 1), ())
        names = "+".join(labels.process(address) for address in both)
        return LabelCell(f"✗{names}", f"✗ {names} once", Tone.BAD) if both else labels.EMPTY

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
        detail = ended.body.detail if ended is not None and isinstance(ended.body, delivery.IntentSettled) else ""
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
    if isinstance(body, leases.LeaseTaken):
        return body.before is not None
    if isinstance(body, gateway.ProcessRecovered):
        return bool(body.inbounds or body.intents or body.delegations)
    return True


def _duration(span: float) -> str:
    return f"{span:.3f}" if span < 1000 else f"{span:.0f}"
