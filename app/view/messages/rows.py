"""One row for each message, with its stages as columns; below an opened message, one row for each attempt.

A repeat has an extra row: a second accepted attempt, or the same text of another intent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from trunkline.app.text.cells import seconds
from trunkline.app.text.fact import Tone
from trunkline.app.view.index.message import OPEN, AttemptKind, AttemptRecord, MessageHistory, QueueState, state_of
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.labels.lines import ListLine
from trunkline.app.view.labels.messages import (
    EMPTY,
    LATER,
    NO_END,
    NOTHING,
    LabelCell,
    place_cell,
    process,
    says,
    state_words,
    where,
    wire_word,
)
from trunkline.app.view.labels.place_title import title
from trunkline.core.events import Body, Event
from trunkline.core.events.delivery import (
    AttemptEnded,
    IntentSettled,
    MirrorAppended,
    OperatorActed,
    RecoveryDecided,
    SendRequested,
)
from trunkline.core.events.gateway import InboundAdmitted
from trunkline.core.events.hands import DelegationFinished
from trunkline.sim.events.wire import WireAccepted, WireResponseLost

STAGES: tuple[str, ...] = ("admitted", "routed", "prepared", "tried", "wire", "acked", "mirrored", "terminal")
#: stages of an attempt
_OF_TRY = frozenset({"tried", "wire", "acked", "mirrored", "terminal"})
_BLANK = LabelCell("")
#: bodies that a message can originate from
_SOURCES = (SendRequested, InboundAdmitted, DelegationFinished)
_SOURCE_WORDS: dict[type[Body], str] = {SendRequested: "client", DelegationFinished: "hand"}


class MessageRows:
    """Every message of a run, as it was after any event."""

    def __init__(self, view: RunView, histories: MessageHistories) -> None:
        self._view = view
        self.histories = histories
        self._admitted: dict[tuple[str, int], LabelCell] = {}

    def __len__(self) -> int:
        return len(self.histories)

    def begun(self, seq: int) -> int:
        """The number of messages that had begun by event `seq`."""
        return self.histories.all.upto(seq)

    def broken(self, history: MessageHistory, seq: int) -> str:
        """The invariants that a message had broken after event `seq`."""
        return " ".join(self.histories.broken.names(history.id, seq))

    def wrong(self, seq: int) -> list[int]:
        """Numbers of the messages that had broken something after event `seq`, in order."""
        histories = map(self.histories.of, self.histories.broken.upto(seq))
        return sorted(self.histories.place(history) for history in histories if history is not None)

    # ------------------------------------------------------------ a message

    def head(self, history: MessageHistory, seq: int) -> ListLine:
        """A message after event `seq`. Later stages are shown too, marked as later."""
        later = history.seq > seq
        cells = self._cells(history, self._view.last if later else seq)
        if later:
            cells["terminal"] = LATER
        else:
            ahead = self._cells(history, self._view.last)
            cells = {name: _ahead(cell, ahead[name]) for name, cell in cells.items()}
        cells |= {
            "id": LabelCell(history.id),
            "message": LabelCell(says(history)),
            "broken": LabelCell(self.broken(history, seq), tone=Tone.BAD),
        }
        shown = self.histories.evidence(history, seq) or history.seq
        return ListLine(seq=shown, cells=cells, tag=self._tag(history, seq), later=later)

    def _cells(self, history: MessageHistory, seq: int) -> dict[str, LabelCell]:
        return {
            "admitted": self._source(history),
            "routed": self._routed(history, seq),
            "prepared": _event_cell(history.prepared, seq, at=True),
            "tried": _tried(history, seq),
            "wire": self._wire(history, seq),
            "acked": _acked(history, seq),
            "mirrored": self._mirrored(history.mirrored, history.accepted, seq),
            "terminal": self._terminal(history, seq),
        }

    def _source(self, history: MessageHistory) -> LabelCell:
        """The origin of a message: an inbound message, a callback, a client, or a hand."""
        known = self._admitted.get((history.id, history.seq))
        if known is None:
            source = self._view.nearest(history.seq, *_SOURCES)
            known = EMPTY
            if source is not None:
                body = source.body
                word = str(body.work) if isinstance(body, InboundAdmitted) else _SOURCE_WORDS.get(type(body), "")
                known = LabelCell(f"#{source.seq}", f"#{source.seq} {word}", seq=source.seq)
            self._admitted[history.id, history.seq] = known
        return known

    def _routed(self, history: MessageHistory, seq: int) -> LabelCell:
        place = where(self._view, history)
        if place == NOTHING:
            return EMPTY
        reason = f"  {history.body.reason}" if history.body else ""
        if any(event.seq <= seq for event in history.fallbacks):
            return LabelCell(f"FB {place}", f"FB {place}{reason}", Tone.WARN, history.seq)
        return msgspec.structs.replace(place_cell(place), more=f"{place}{reason}", seq=history.seq)

    def _wire(self, history: MessageHistory, seq: int) -> LabelCell:
        accepted = [event for event in history.accepted if event.seq <= seq]
        if not accepted:
            wire = [event for one in history.tries for event in one.wire if event.seq <= seq]
            return self._wire_cell(wire[-1]) if wire else EMPTY
        marks = self._view.marks
        wrong = any(event.seq in marks.misplaced and self._seen(event.seq, seq) for event in accepted)
        chunks = history.body.chunks if history.body else 1
        many = f" {len(accepted)}" + (f"/{chunks}" if chunks > 1 else "") if len(accepted) > 1 or chunks > 1 else ""
        last = accepted[-1]
        assert isinstance(last.body, WireAccepted)
        text = ("!!" if wrong else "✓") + many
        twice = len({getattr(event.body, "chunk", 0) for event in accepted}) < len(accepted)
        tone = Tone.BAD if wrong or twice else Tone.GOOD
        place = place_cell(title(self._view.places, last.body.address)).text
        return LabelCell(text, f"{text} {place} #{last.seq}", tone, last.seq)

    def _wire_cell(self, event: Event) -> LabelCell:
        shape, words, tone = wire_word(self._view, event)
        words = place_cell(words).text
        return LabelCell(f"{shape} #{event.seq}", f"{shape} {words} #{event.seq}", tone, event.seq)

    def _mirrored(self, mirrored: Sequence[Event], accepted: Iterable[Event], seq: int) -> LabelCell:
        marks = self._view.marks.mirrors
        for event in (*mirrored, *accepted):
            if event.seq <= seq and event.seq in marks and self._seen(event.seq, seq):
                text = f"m{marks[event.seq]}"
                return LabelCell(text, f"{text} #{event.seq}", Tone.BAD, event.seq)
        done = [event for event in mirrored if event.seq <= seq]
        if not done:
            return EMPTY
        part = isinstance(done[-1].body, MirrorAppended) and done[-1].body.partial
        shape = "½" if part else "✓"
        return LabelCell(shape, f"{shape} #{done[-1].seq}", Tone.GOOD, done[-1].seq)

    def _terminal(self, history: MessageHistory, seq: int) -> LabelCell:
        step = history.step(seq)
        if step.state in OPEN and self._view.over <= seq and not history.endings(seq):
            shape, word, tone = NO_END
            return LabelCell(f"{shape} {word}", tone=tone, seq=step.seq)
        text, tone = state_words(step)
        return LabelCell(text, f"{text}  {step.why}" if step.why else "", tone, step.seq)

    def _seen(self, evidence: int, seq: int) -> bool:
        """Whether a violation with this evidence was detected by then."""
        return any(violation.at <= seq for violation in self._view.marks.of(evidence))

    def _tag(self, history: MessageHistory, seq: int) -> str:
        numbers = [self._copy(event, seq) for event in history.accepted]
        if any(numbers):
            return f"{max(numbers)}×"
        if any(event.seq in self._view.marks.misplaced and self._seen(event.seq, seq) for event in history.accepted):
            return "!!"
        return "✗" if self.broken(history, seq) else ""

    def _copy(self, event: Event, seq: int) -> int:
        """The number of a message among its copies after event `seq`; 0 if it has none."""
        copy = self._view.marks.copies.get(event.seq)
        if copy is None or event.seq > seq or self._view.marks.groups[copy.group][1] > seq:
            return 0
        return copy.number

    # ------------------------------------------------------------ opened

    def parts(self, history: MessageHistory) -> list[AttemptRecord | Event]:
        """The rows below an opened message: its attempts, and copies of other intents."""
        own = {event.seq for event in history.accepted}
        copies = self._view.marks.copies
        groups = dict.fromkeys(copies[seq].group for seq in own if seq in copies)
        others = sorted({seq for group in groups for seq in self._view.marks.groups[group]} - own)
        return [*history.tries, *(self._view.event(seq) for seq in others)]

    def part(self, history: MessageHistory, part: AttemptRecord | Event, seq: int) -> ListLine:
        """A row below an opened message, after event `seq`."""
        return self._try(history, part, seq) if isinstance(part, AttemptRecord) else self._twin(part, seq)

    def _try(self, history: MessageHistory, one: AttemptRecord, seq: int) -> ListLine:
        later = one.event.seq > seq
        cells = self._try_cells(one, self._view.last if later else seq)
        if not later:
            ahead = self._try_cells(one, self._view.last)
            cells = {name: _ahead(cell, ahead[name]) for name, cell in cells.items()}
        number = max((self._copy(event, seq) for event in one.wire), default=0)
        cells["message"] = _try_words(history, one)
        return ListLine(seq=_target(one), cells=cells, tag=f"{number}×" if number else "", later=later)

    def _try_cells(self, one: AttemptRecord, seq: int) -> dict[str, LabelCell]:
        wire = [event for event in one.wire if event.seq <= seq]
        accepted = [event for event in wire if isinstance(event.body, WireAccepted)]
        shown = (accepted or wire)[-1:]
        cells = {name: EMPTY if name in _OF_TRY else _BLANK for name in STAGES}
        cells["tried"] = _event_cell(one.event, seq, at=True)
        if shown:
            cell = self._wire_cell(shown[0])
            wrong = shown[0].seq in self._view.marks.misplaced and self._seen(shown[0].seq, seq)
            lost = bool(accepted) and any(isinstance(event.body, WireResponseLost) for event in wire)
            if wrong or max(self._copy(event, seq) for event in shown) > 1:
                cell = msgspec.structs.replace(cell, tone=Tone.BAD)
            if lost:
                cell = msgspec.structs.replace(cell, text=f"{cell.text}?", more=f"{cell.more}, answer lost")
            cells["wire"] = cell
        cells["acked"] = _event_cell(one.acked, seq)
        cells["mirrored"] = self._mirrored(one.mirrored, accepted, seq)
        cells["terminal"] = _decided(one, seq)
        return cells

    def _twin(self, event: Event, seq: int) -> ListLine:
        history = self.histories.of_event(event)
        name = history.id if history is not None else ""
        cells = dict.fromkeys(STAGES, _BLANK)
        number = self._copy(event, seq)
        tone = Tone.BAD if number > 1 else Tone.PLAIN
        cells["message"] = LabelCell("└ copy", f"└ copy by {name or 'an unknown intent'}", Tone.DIM)
        cells["wire"] = msgspec.structs.replace(self._wire_cell(event), tone=tone)
        cells["terminal"] = LabelCell("◀ a copy", f"◀ the same thing, by {name}", tone)
        if history is not None and history.body is not None:
            cells["routed"] = self._routed(history, seq)
        tag = f"{number}×" if number else ""
        return ListLine(seq=event.seq, cells=cells, tag=tag, later=event.seq > seq)


def _ahead(cell: LabelCell, end: LabelCell) -> LabelCell:
    """A cell that is still empty shows its later content, marked as later."""
    return msgspec.structs.replace(end, later=True) if cell.empty and not end.empty else cell


def _event_cell(event: Event | None, seq: int, *, at: bool = False) -> LabelCell:
    if event is None or event.seq > seq:
        return EMPTY
    more = f"#{event.seq} {seconds(event.at)}" if at else ""
    return LabelCell(f"#{event.seq}", more, seq=event.seq)


def _tried(history: MessageHistory, seq: int) -> LabelCell:
    tries = [one for one in history.tried(seq) if one.part is AttemptKind.ATTEMPT]
    if not tries:
        return EMPTY
    chunks = history.body.chunks if history.body else 1
    tone = Tone.WARN if len(tries) > chunks else Tone.PLAIN
    text = str(len(tries))
    return LabelCell(text, f"{text} from #{tries[0].event.seq}", tone, tries[0].event.seq)


def _acked(history: MessageHistory, seq: int) -> LabelCell:
    acked = [event for event in history.acked if event.seq <= seq]
    if not acked:
        return EMPTY
    chunks = history.body.chunks if history.body else 1
    text = f"{len(acked)}/{chunks}"
    tone = Tone.GOOD if len(acked) == chunks else Tone.WARN
    return LabelCell(text, f"{text} #{acked[-1].seq}", tone, acked[-1].seq)


def _decided(one: AttemptRecord, seq: int) -> LabelCell:
    """The decision after an attempt: the end, another attempt, or a look-up."""
    if one.settled is not None and one.settled.seq <= seq and isinstance(one.settled.body, IntentSettled):
        state = state_of(one.settled.body.state)
        word = "DELIVERED" if state is QueueState.DELIVERED else state.upper()
        more = f"{word}  {one.settled.body.reason}"
        tone = Tone.GOOD if state is QueueState.DELIVERED else Tone.WARN
        return LabelCell(word, more, tone, one.settled.seq)
    if one.ended is not None and one.ended.seq <= seq and isinstance(one.ended.body, AttemptEnded):
        body = one.ended.body
        due = f" at {seconds(body.retry_at)}" if body.retry_at is not None else ""
        text = str(body.reason if body.decision == "settle" else body.decision)
        return LabelCell(text, f"{body.decision}{due}  {body.reason}", seq=one.ended.seq)
    return EMPTY


def _target(one: AttemptRecord) -> int:
    """The target of Enter: the accepted message, else the attempt."""
    accepted = next((event.seq for event in one.wire if isinstance(event.body, WireAccepted)), None)
    return accepted or one.event.seq


def _try_words(history: MessageHistory, one: AttemptRecord) -> LabelCell:
    body, owner = one.event.body, process(one.event.generation)
    if isinstance(body, RecoveryDecided):
        return LabelCell(f"└ {owner} {body.decision}", f"└ {owner} recovers: {body.decision}", Tone.DIM)
    if isinstance(body, OperatorActed):
        return LabelCell(f"└ {body.verb}", f"└ operator: {body.verb}", Tone.DIM)
    if history.body is None or history.body.chunks < 2:
        return LabelCell(f"└ try {one.number} {owner}", tone=Tone.DIM)
    part, total = one.chunk + 1, history.body.chunks
    more = f"└ part {part} of {total}, try {one.number} {owner}"
    again = f" ↻{one.number}" if one.number > 1 else ""
    return LabelCell(f"└ {part}/{total}{again}", more, Tone.DIM)
