"""A row for each message, with the stages as columns; below an opened message, a row for each attempt.

A repeat has an extra row: a second accepted attempt, or the same text of another intent.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from trunkline.app.text.cells import seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.bindings.lifetime_bar import column
from trunkline.app.view.index.messages import (
    OPEN,
    AttemptKind,
    AttemptRecord,
    MessageHistories,
    MessageHistory,
    QueueState,
    state_of,
)
from trunkline.app.view.index.places import title
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.labels import messages as labels
from trunkline.app.view.labels.messages import LabelCell, ListLine
from trunkline.core.events import Body, Event, delivery, hands
from trunkline.core.events.gateway import InboundAdmitted
from trunkline.sim.events.wire import WireAccepted, WireResponseLost

# The attempts of a message over time, by process, and its chunks as a strip, so that overlaps and repeats show.
#
# A span is one attempt of one process, from its start until the process knew the outcome, or died.

#: cells of the bars, and how many bars are shown
BAR, MOST = 24, 6
#: an altered trace may claim any number of chunks, and each has a sign
MOST_CHUNKS = 10_000
#: a chunk with a receipt, one that people saw without a receipt, one that was not seen
ACKED, SEEN, UNSENT = "■", "?", "□"


class AttemptSpan(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt of one process. `until` is none while it runs; `died`: it ended with its process."""

    attempt: AttemptRecord
    until: float | None
    died: bool
    #: overlaps the attempt of another process
    overlaps: bool = False

    @property
    def owner(self) -> int:
        return self.attempt.event.generation

    @property
    def since(self) -> float:
        return self.attempt.event.at


def attempt_spans(view: RunView, histories: MessageHistories, history: MessageHistory, seq: int) -> list[AttemptSpan]:
    """Every span that had begun by event `seq`, in order."""
    found = [
        _claim(view, histories, attempt, seq) for attempt in history.tried(seq) if attempt.part is AttemptKind.ATTEMPT
    ]
    now = view.time(seq)
    return [
        msgspec.structs.replace(claim, overlaps=True) if any(_meet(claim, other, now) for other in found) else claim
        for claim in found
    ]


def _claim(view: RunView, histories: MessageHistories, attempt: AttemptRecord, seq: int) -> AttemptSpan:
    owner = attempt.event.generation
    ends = [event.seq for event in (attempt.ended, attempt.settled) if event is not None and event.generation == owner]
    died = histories.deaths.get(owner, 0)
    end = min(ends, default=0)
    dead = attempt.event.seq < died and not 0 < end < died
    end = died if dead else end
    until = view.time(end) if attempt.event.seq < end <= seq else None
    return AttemptSpan(attempt=attempt, until=until, died=dead and end <= seq)


def _meet(claim: AttemptSpan, other: AttemptSpan, now: float) -> bool:
    if claim.owner == other.owner:
        return False
    return claim.since < (now if other.until is None else other.until) and other.since < (
        now if claim.until is None else claim.until
    )


def span_facts(
    view: RunView, histories: MessageHistories, history: MessageHistory, seq: int, *, drawn: bool = True
) -> Iterator[Fact]:
    """A line a claim; none where there was but one. `drawn`: with its bar, on a scale of the time of all of them."""
    found = attempt_spans(view, histories, history, seq)
    if len(found) < 2 and not any(claim.died for claim in found):
        return
    span = (
        (history.prepared or history.first).at,
        max(view.time(seq) if attempt.until is None else attempt.until for attempt in found),
    )
    for index, claim in enumerate(found[:MOST]):
        bar = f"{_bar(view, claim, span, seq)} " if drawn else ""
        yield _span_fact(view, claim, seq, bar, "claims" if not index else "")
    if len(found) > MOST:
        yield Fact("", f"and {len(found) - MOST} more", tone=Tone.DIM)


def _bar(view: RunView, claim: AttemptSpan, span: tuple[float, float], seq: int) -> str:
    until = view.time(seq) if claim.until is None else claim.until
    start, end = column(claim.since, span, BAR), column(until, span, BAR)
    last = "▸" if claim.until is None else "╳" if claim.died else "┤"
    return "·" * start + "├" + "─" * (end - start - 1) + (last if end > start else "") + "·" * (BAR - end - 1)


def _span_fact(view: RunView, claim: AttemptSpan, seq: int, bar: str, label: str) -> Fact:
    shape, tone = ("╳" if bar else "", Tone.BAD) if claim.died else labels.shape_of(view, claim.attempt, seq)
    chunk = f"part {claim.attempt.chunk + 1} " if claim.attempt.chunk else ""
    when = f"{seconds(claim.since)} – {'now' if claim.until is None else seconds(claim.until)}"
    words = ", its process died" if claim.died else ""
    words += ", while another process had it too" if claim.overlaps else ""
    text = f"{labels.process(claim.owner)} {bar}{when}  {chunk}try {claim.attempt.number} {shape}".rstrip() + words
    tone = Tone.BAD if claim.overlaps else Tone.WARN if tone is Tone.BAD else Tone.PLAIN
    return Fact(label, text, claim.attempt.event.seq, tone)


class ChunkStrip(msgspec.Struct, frozen=True, kw_only=True):
    """The chunks of a message: a sign for each, and the numbers of wrong ones."""

    signs: str
    acked: int
    seen: int
    #: numbers of chunks, from 1, that people saw more than once; and of those left out before one they saw
    repeated: tuple[int, ...] = ()
    holes: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        return len(self.signs)

    @property
    def tone(self) -> Tone:
        """A repeat or a hole is an error; a missing receipt is a warning."""
        if self.repeated or self.holes:
            return Tone.BAD
        return Tone.WARN if self.seen else Tone.PLAIN

    def strip(self, room: int) -> str:
        """``■■□■■``; ``■12/15`` where that is too long."""
        return self.signs if self.total <= room else f"{ACKED}{self.acked}/{self.total}"

    @property
    def words(self) -> str:
        words = [f"{self.acked} of {self.total} delivered with a receipt"]
        words += [f"{self.seen} seen by people, without a receipt"] if self.seen else []
        unsent = self.signs.count(UNSENT)
        words += [f"{unsent} not seen"] if unsent else []
        words += [f"✗ part {number} seen more than once" for number in self.repeated]
        words += [f"✗ part {number} is left out" for number in self.holes]
        return ", ".join(words)


def chunks(history: MessageHistory, seq: int) -> ChunkStrip | None:
    """The chunks after event `seq`; none for a single chunk and for impossible numbers."""
    if history.body is None or not 2 <= history.body.chunks <= MOST_CHUNKS:
        return None
    total = history.body.chunks
    accepted = [event.body for event in history.accepted if event.seq <= seq]
    seen = Counter(body.chunk for body in accepted if isinstance(body, WireAccepted))
    receipts = (event.body for event in history.acked if event.seq <= seq)
    acked = {body.chunk for body in receipts if isinstance(body, delivery.ChunkAcked)}
    signs = [_sign(seen[chunk], acked=chunk in acked) for chunk in range(total)]
    reached = max((*seen, *acked), default=-1)
    return ChunkStrip(
        signs="".join(signs),
        acked=len(acked),
        seen=signs.count(SEEN),
        repeated=tuple(chunk + 1 for chunk in range(total) if seen[chunk] > 1),
        holes=tuple(chunk + 1 for chunk in range(min(reached, total)) if signs[chunk] == UNSENT),
    )


def _sign(seen: int, *, acked: bool) -> str:
    if seen > 1:
        return str(min(seen, 9))
    return ACKED if acked else SEEN if seen else UNSENT


STAGES: tuple[str, ...] = ("admitted", "routed", "prepared", "tried", "wire", "acked", "mirrored", "terminal")
#: stages of an attempt
_OF_TRY = frozenset({"tried", "wire", "acked", "mirrored", "terminal"})
_BLANK = LabelCell("")
#: bodies that a message can originate from
_SOURCES = (delivery.SendRequested, InboundAdmitted, hands.DelegationFinished)
_SOURCE_WORDS: dict[type[Body], str] = {delivery.SendRequested: "client", hands.DelegationFinished: "hand"}


class MessageRows:
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

    def head(self, history: MessageHistory, seq: int) -> ListLine:
        """A message after event `seq`. Later stages are shown too, marked as later."""
        later = history.seq > seq
        cells = self._cells(history, self._view.last if later else seq)
        if later:
            cells["terminal"] = labels.LATER
        else:
            cells = labels.with_ahead(cells, self._cells(history, self._view.last))
        cells |= {
            "id": LabelCell(history.id),
            "message": LabelCell(labels.says(history)),
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
            known = labels.EMPTY
            if source is not None:
                body = source.body
                word = str(body.work) if isinstance(body, InboundAdmitted) else _SOURCE_WORDS.get(type(body), "")
                known = LabelCell(f"#{source.seq}", f"#{source.seq} {word}", seq=source.seq)
            self._admitted[history.id, history.seq] = known
        return known

    def _routed(self, history: MessageHistory, seq: int) -> LabelCell:
        place = labels.where(self._view, history)
        if place == labels.NOTHING:
            return labels.EMPTY
        reason = f"  {history.body.reason}" if history.body else ""
        if any(event.seq <= seq for event in history.fallbacks):
            return LabelCell(f"FB {place}", f"FB {place}{reason}", Tone.WARN, history.seq)
        return msgspec.structs.replace(labels.place_cell(place), more=f"{place}{reason}", seq=history.seq)

    def _wire(self, history: MessageHistory, seq: int) -> LabelCell:
        accepted = [event for event in history.accepted if event.seq <= seq]
        if not accepted:
            wire = [event for attempt in history.tries for event in attempt.wire if event.seq <= seq]
            return self._wire_cell(wire[-1]) if wire else labels.EMPTY
        marks = self._view.marks
        wrong = any(event.seq in marks.misplaced and self._seen(event.seq, seq) for event in accepted)
        chunks = history.body.chunks if history.body else 1
        many = f" {len(accepted)}" + (f"/{chunks}" if chunks > 1 else "") if len(accepted) > 1 or chunks > 1 else ""
        last = accepted[-1]
        assert isinstance(last.body, WireAccepted)
        text = ("!!" if wrong else "✓") + many
        twice = len({getattr(event.body, "chunk", 0) for event in accepted}) < len(accepted)
        tone = Tone.BAD if wrong or twice else Tone.GOOD
        place = labels.place_cell(title(self._view.places, last.body.address)).text
        return LabelCell(text, f"{text} {place} #{last.seq}", tone, last.seq)

    def _wire_cell(self, event: Event) -> LabelCell:
        shape, words, tone = labels.wire_word(self._view, event)
        words = labels.place_cell(words).text
        return LabelCell(f"{shape} #{event.seq}", f"{shape} {words} #{event.seq}", tone, event.seq)

    def _mirrored(self, mirrored: Sequence[Event], accepted: Iterable[Event], seq: int) -> LabelCell:
        marks = self._view.marks.mirrors
        for event in (*mirrored, *accepted):
            if event.seq <= seq and event.seq in marks and self._seen(event.seq, seq):
                text = f"m{marks[event.seq]}"
                return LabelCell(text, f"{text} #{event.seq}", Tone.BAD, event.seq)
        done = [event for event in mirrored if event.seq <= seq]
        if not done:
            return labels.EMPTY
        part = isinstance(done[-1].body, delivery.MirrorAppended) and done[-1].body.partial
        shape = "½" if part else "✓"
        return LabelCell(shape, f"{shape} #{done[-1].seq}", Tone.GOOD, done[-1].seq)

    def _terminal(self, history: MessageHistory, seq: int) -> LabelCell:
        step = history.step(seq)
        if step.state in OPEN and self._view.over <= seq and not history.endings(seq):
            shape, word, tone = labels.NO_END
            return LabelCell(f"{shape} {word}", tone=tone, seq=step.seq)
        text, tone = labels.state_words(step)
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

    def _try(self, history: MessageHistory, attempt: AttemptRecord, seq: int) -> ListLine:
        later = attempt.event.seq > seq
        cells = self._try_cells(attempt, self._view.last if later else seq)
        if not later:
            cells = labels.with_ahead(cells, self._try_cells(attempt, self._view.last))
        number = max((self._copy(event, seq) for event in attempt.wire), default=0)
        cells["message"] = _try_words(history, attempt)
        # Enter leads to the accepted message, else to the attempt.
        seq_shown = next(
            (event.seq for event in attempt.wire if isinstance(event.body, WireAccepted)), attempt.event.seq
        )
        return ListLine(seq=seq_shown, cells=cells, tag=f"{number}×" if number else "", later=later)

    def _try_cells(self, attempt: AttemptRecord, seq: int) -> dict[str, LabelCell]:
        wire = [event for event in attempt.wire if event.seq <= seq]
        accepted = [event for event in wire if isinstance(event.body, WireAccepted)]
        shown = (accepted or wire)[-1:]
        cells = {name: labels.EMPTY if name in _OF_TRY else _BLANK for name in STAGES}
        cells["tried"] = _event_cell(attempt.event, seq, at=True)
        if shown:
            cell = self._wire_cell(shown[0])
            wrong = shown[0].seq in self._view.marks.misplaced and self._seen(shown[0].seq, seq)
            lost = bool(accepted) and any(isinstance(event.body, WireResponseLost) for event in wire)
            if wrong or max(self._copy(event, seq) for event in shown) > 1:
                cell = msgspec.structs.replace(cell, tone=Tone.BAD)
            if lost:
                cell = msgspec.structs.replace(cell, text=f"{cell.text}?", more=f"{cell.more}, answer lost")
            cells["wire"] = cell
        cells["acked"] = _event_cell(attempt.acked, seq)
        cells["mirrored"] = self._mirrored(attempt.mirrored, accepted, seq)
        cells["terminal"] = _decided(attempt, seq)
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


def _event_cell(event: Event | None, seq: int, *, at: bool = False) -> LabelCell:
    if event is None or event.seq > seq:
        return labels.EMPTY
    more = f"#{event.seq} {seconds(event.at)}" if at else ""
    return LabelCell(f"#{event.seq}", more, seq=event.seq)


def _tried(history: MessageHistory, seq: int) -> LabelCell:
    tries = [attempt for attempt in history.tried(seq) if attempt.part is AttemptKind.ATTEMPT]
    if not tries:
        return labels.EMPTY
    chunks = history.body.chunks if history.body else 1
    tone = Tone.WARN if len(tries) > chunks else Tone.PLAIN
    text = str(len(tries))
    return LabelCell(text, f"{text} from #{tries[0].event.seq}", tone, tries[0].event.seq)


def _acked(history: MessageHistory, seq: int) -> LabelCell:
    acked = [event for event in history.acked if event.seq <= seq]
    if not acked:
        return labels.EMPTY
    chunks = history.body.chunks if history.body else 1
    text = f"{len(acked)}/{chunks}"
    tone = Tone.GOOD if len(acked) == chunks else Tone.WARN
    return LabelCell(text, f"{text} #{acked[-1].seq}", tone, acked[-1].seq)


def _decided(attempt: AttemptRecord, seq: int) -> LabelCell:
    """The decision after an attempt: the end, another attempt, or a look-up."""
    if (
        attempt.settled is not None
        and attempt.settled.seq <= seq
        and isinstance(attempt.settled.body, delivery.IntentSettled)
    ):
        state = state_of(attempt.settled.body.state)
        word = "DELIVERED" if state is QueueState.DELIVERED else state.upper()
        more = f"{word}  {attempt.settled.body.reason}"
        tone = Tone.GOOD if state is QueueState.DELIVERED else Tone.WARN
        return LabelCell(word, more, tone, attempt.settled.seq)
    if attempt.ended is not None and attempt.ended.seq <= seq and isinstance(attempt.ended.body, delivery.AttemptEnded):
        body = attempt.ended.body
        due = f" at {seconds(body.retry_at)}" if body.retry_at is not None else ""
        text = str(body.reason if body.decision == "settle" else body.decision)
        return LabelCell(text, f"{body.decision}{due}  {body.reason}", seq=attempt.ended.seq)
    return labels.EMPTY


def _try_words(history: MessageHistory, attempt: AttemptRecord) -> LabelCell:
    body, owner = attempt.event.body, labels.process(attempt.event.generation)
    if isinstance(body, delivery.RecoveryDecided):
        return LabelCell(f"└ {owner} {body.decision}", f"└ {owner} recovers: {body.decision}", Tone.DIM)
    if isinstance(body, delivery.OperatorActed):
        return LabelCell(f"└ {body.verb}", f"└ operator: {body.verb}", Tone.DIM)
    if history.body is None or history.body.chunks < 2:
        return LabelCell(f"└ try {attempt.number} {owner}", tone=Tone.DIM)
    part, total = attempt.chunk + 1, history.body.chunks
    more = f"└ part {part} of {total}, try {attempt.number} {owner}"
    again = f" ↻{attempt.number}" if attempt.number > 1 else ""
    return LabelCell(f"└ {part}/{total}{again}", more, Tone.DIM)
