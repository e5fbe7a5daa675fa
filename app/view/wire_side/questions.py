"""The questions of people to a foreign gateway, each with its way: given, asked, answered, sent, seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from trunkline.app.text.cells import quoted, seconds
from trunkline.app.text.fact import Tone
from trunkline.app.view.index.evidence import BrokenThings
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.app.view.labels.lines import ListLine
from trunkline.app.view.labels.messages import EMPTY, LATER, LabelCell, place_cell
from trunkline.app.view.wire_side.sent import WireSends, copy_number
from trunkline.core.events import Event
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.index.answer_parts import ModelTurn
from trunkline.sim.index.bot_messages import BotMessage
from trunkline.sim.index.marks import without_marks
from trunkline.sim.index.projection import on
from trunkline.sim.index.wire_side import MarkedQuestion, RunWireSide
from trunkline.sim.invariants.base import Violation

#: the way of a question, as columns
WAY: tuple[str, ...] = ("given", "asked", "answered", "sent", "seen", "end")


class SeenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A message that shows an answer to a question, after some event."""

    message: BotMessage
    #: the event since which it shows this answer
    seq: int
    text: str
    generation: int
    #: it was changed so that it does not show the answer any more, or taken away
    gone: bool = False
    edited: bool = False


def seen_answers(wire: RunWireSide, question: MarkedQuestion, seq: int) -> list[SeenAnswer]:
    """The messages that showed an answer up to event `seq`, in the order in which they began to."""
    found: list[SeenAnswer] = []
    for message in wire.answers(question):
        spans = [one for one in message.shown(question.mark) if one[0] <= seq]
        if not spans:
            continue
        texts = [one for one in message.texts if one.event.seq <= seq]
        gone = message.deleted is not None and message.deleted.seq <= seq
        gone = gone or all(mark.question != question.mark for mark in texts[-1].marks)
        found.append(
            SeenAnswer(
                message=message,
                seq=spans[0][0],
                text=texts[-1].text,
                generation=spans[-1][2].generation,
                gone=gone,
                edited=len(texts) > 1,
            )
        )
    return sorted(found, key=lambda one: one.seq)


def notices(wire: RunWireSide, question: MarkedQuestion, seq: int) -> list[BotMessage]:
    """The known notices in the place of a question after it, up to event `seq`."""
    since, lane = question.event.seq, question.place.lane
    own = (one for one in wire.messages.all if since < one.accepted.seq <= seq and one.address.lane == lane)
    return [one for one in own if wire.notified(one.text)]


class QuestionRows(GrowingView):
    """Every question of a run, as it was after any event."""

    def __init__(self, view: RunView, sends: WireSends) -> None:
        super().__init__(view)
        self.wire = view.wire if view.wire is not None else RunWireSide()
        self.sends = sends
        self._all: list[MarkedQuestion] = []
        self._index: dict[str, int] = {}
        self._by_said: dict[int, MarkedQuestion] = {}
        self._broken = BrokenThings()
        self.grow()

    @on(PeerSaid)
    def _asked(self, _event: Event, _body: PeerSaid) -> None:
        if len(self._all) < len(self.wire.questions):
            for question in islice(self.wire.questions.values(), len(self._all), None):
                self._index[question.mark] = len(self._all)
                self._all.append(question)
                self._by_said[question.event.seq] = question

    def judge(self, violation: Violation, event: Event) -> None:
        question = self.of(event.seq)
        if question is not None:
            self._broken.add(question.mark, violation, event.seq)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[MarkedQuestion]:
        return iter(self._all)

    def of(self, seq: int) -> MarkedQuestion | None:
        """The question that an event comes from."""
        if not 0 < seq <= self.view.last:
            return None
        said = self.view.nearest(seq, PeerSaid)
        return self._by_said.get(said.seq) if said is not None else None

    def place(self, event: Event) -> int | None:
        """The number of the question that an event comes from."""
        question = self.of(event.seq)
        return None if question is None else self._index[question.mark]

    def seqs(self, index: int) -> frozenset[int]:
        """A question with all its effects."""
        seq = self._all[index].event.seq
        return frozenset((seq, *self.view.causes.effects(seq)))

    def wrong(self, seq: int) -> tuple[int, ...]:
        """Numbers of the questions that had broken something after event `seq`."""
        return tuple(sorted(self._index[mark] for mark in self._broken.upto(seq)))

    def broken(self, question: MarkedQuestion, seq: int) -> str:
        """The invariants that a question had broken after event `seq`."""
        return " ".join(self._broken.names(question.mark, seq))

    def turns(self, question: MarkedQuestion, seq: int) -> list[ModelTurn]:
        """The requests to the model that ask it, up to event `seq`."""
        return [one for one in self.wire.turns if question.mark in one.body.marks and one.event.seq <= seq]

    # ------------------------------------------------------------ a row

    def line(self, index: int, seq: int) -> ListLine:
        """A question after event `seq`; what comes later is shown as later."""
        question = self._all[index]
        later = question.event.seq > seq
        cells = self._cells(question, self.view.last if later else seq)
        if later:
            cells["end"] = LATER
        else:
            ahead = self._cells(question, self.view.last)
            cells = {
                name: msgspec.structs.replace(ahead[name], later=True) if cell.empty and not ahead[name].empty else cell
                for name, cell in cells.items()
            }
        broken = self.broken(question, seq)
        copies = [copy_number(self.view, one.message.accepted.seq) for one in self._seen(question, seq)]
        tag = f"{max(copies)}×" if any(copies) else "✗" if broken else ""
        cells["broken"] = LabelCell(broken, tone=Tone.BAD)
        return ListLine(seq=question.event.seq, cells=cells, tag=tag, later=later)

    def _seen(self, question: MarkedQuestion, seq: int) -> list[SeenAnswer]:
        return seen_answers(self.wire, question, seq)

    def _cells(self, question: MarkedQuestion, seq: int) -> dict[str, LabelCell]:
        view, body = self.view, question.body
        who = view.places.person(body.address.channel, body.peer.id, body.peer.name)
        turns = self.turns(question, seq)
        answered = [one.answered for one in turns if one.answered is not None and one.answered.seq <= seq]
        sent = [one for one in self.sends.of_question(question.mark) if one.seq <= seq]
        return {
            "question": LabelCell(quoted(without_marks(body.text)), seq=question.event.seq),
            "who": LabelCell(who),
            "place": place_cell(view.places.label(body.address)),
            "given": self._given(question, seq),
            "asked": _numbered([one.event for one in turns], warn=len(turns) > 1),
            "answered": _numbered(answered),
            "sent": _numbered([one.called for one in sent], warn=len(sent) > len(turns)),
            "seen": self._seen_cell(question, seq),
            "end": self._end(question, seq),
        }

    def _given(self, question: MarkedQuestion, seq: int) -> LabelCell:
        """When the platform handed it out, or the gateway confirmed it."""
        children = (self.view.event(one) for one in self.view.causes.children(question.event.seq))
        handed = [one for one in children if one.kind.startswith("platform.") and one.seq <= seq]
        if question.lost and not handed:
            return LabelCell("lost", "lost by a fault", Tone.WARN)
        return _numbered(handed[:1])

    def _seen_cell(self, question: MarkedQuestion, seq: int) -> LabelCell:
        found = self._seen(question, seq)
        if not found:
            return EMPTY
        shown = [one for one in found if not one.gone]
        elsewhere = [one for one in found if not self.wire.in_place(question, one.message.address)]
        number = f"{len(found)}× " if len(found) > 1 else ""
        where = f" {self.view.places.label(elsewhere[0].message.address)}" if elsewhere else ""
        gone = "" if shown else " gone"
        sign = "!!" if elsewhere else "✓" if shown else "–"
        tone = Tone.BAD if elsewhere or len(found) > 1 else Tone.GOOD if shown else Tone.WARN
        last = found[-1].seq
        text = f"{sign} {number}#{last}{gone}"
        return LabelCell(text, f"{sign} {number}#{last}{where}{gone}", tone, last)

    def _end(self, question: MarkedQuestion, seq: int) -> LabelCell:
        """Answered, or open; whether it was lost is the judge's to say."""
        found = self._seen(question, seq)
        if any(not one.gone for one in found):
            first = found[0]
            after = first.message.accepted.at - question.event.at
            return LabelCell("✓ ANSWERED", f"✓ ANSWERED after {seconds(max(after, 0))} s", Tone.GOOD)
        if found:
            return LabelCell("– TAKEN BACK", tone=Tone.WARN)
        if notices(self.wire, question, seq):
            return LabelCell("– NOTIFIED", "– NOTIFIED, not answered", Tone.WARN)
        broken = self.broken(question, seq)
        over = self.view.over <= seq
        text = "✗ NO ANSWER" if over else "○ OPEN"
        return LabelCell(text, tone=Tone.BAD if over and broken else Tone.WARN if over else Tone.PLAIN)


def _numbered(events: Sequence[Event], *, warn: bool = False) -> LabelCell:
    """The first of some events, and how many there are."""
    if not events:
        return EMPTY
    many = f"{len(events)}× " if len(events) > 1 else ""
    text = f"{many}#{events[0].seq}"
    tone = Tone.WARN if warn else Tone.PLAIN
    return LabelCell(text, f"{text} {seconds(events[0].at)}", tone, events[0].seq)
