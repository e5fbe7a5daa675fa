"""The places of a run of which only the wire is known: what the model was asked and said, beside what people saw.

Sessions and transcripts of a foreign gateway are its own business. What its model was asked and what it answered is on
the wire, and stands where the transcript of a session would be.
"""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.app.text.cells import count
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.index.transcripts import TranscriptEntry
from trunkline.app.view.index.visible_messages import VisibleMessage
from trunkline.app.view.sessions.alignment_index import AlignedPair, AlignmentIndex, TranscriptDifference
from trunkline.app.view.sessions.transcripts import SessionListRow, Sessions
from trunkline.core.events import Event
from trunkline.core.values import Address
from trunkline.sim.events.wire import WireAccepted, WireDeleted
from trunkline.sim.index.answer_parts import ModelTurn
from trunkline.sim.index.marks import AnswerMark, answers_in, questions_in
from trunkline.sim.index.wire_side import MarkedQuestion, RunWireSide

_AGAIN = TranscriptDifference.COPY


class WirePlaces(Sessions):
    """The places of a run, at any event, with the same questions to ask as sessions have."""

    def __init__(self, view: RunView, *, slowly: bool = False) -> None:
        self._wire = view.wire if view.wire is not None else RunWireSide()
        #: question -> the turns that ask it, and those in which it is the one to be answered; answer -> its turn
        self._asking: dict[str, list[ModelTurn]] = {}
        self._answering: dict[str, list[ModelTurn]] = {}
        self._saying: dict[AnswerMark, ModelTurn] = {}
        for turn in self._wire.turns:
            self._take_turn(turn)
        super().__init__(view, slowly=slowly)

    def _take_turn(self, turn: ModelTurn) -> None:
        for mark in dict.fromkeys(turn.body.marks):
            self._asking.setdefault(mark, []).append(turn)
        self._answering.setdefault(turn.last, []).append(turn)
        for answer in answers_in(turn.answer):
            self._saying.setdefault(answer, turn)

    def _align_slowly(self, owner: str | PlaceKey) -> Iterator[None]:
        assert not isinstance(owner, str)
        pairs: list[AlignedPair] = []
        for pair in self._beside(owner):
            pairs.append(pair)
            yield
        self._pairs[owner] = sorted(pairs, key=lambda pair: pair.seq)
        self._indexes[owner] = AlignmentIndex(self._pairs[owner], self.view.marks)
        yield

    def _beside(self, place: PlaceKey) -> Iterator[AlignedPair]:
        """The questions to the model and its answers, each beside what people saw of it."""
        shown: set[AnswerMark] = set()
        for one in self.view.visible.of(place):
            if one.who:
                yield from self._posted(one)
            else:
                yield from self._sent(place, one, shown)
        for question in self._wire.questions.values():
            if question.place.lane == place:
                yield from self._never_seen(question, shown)

    def _posted(self, seen: VisibleMessage) -> Iterator[AlignedPair]:
        """The message of a person, and each request to the model that asks it."""
        marks = questions_in(seen.text)
        asking = {one.event.seq: one for mark in marks for one in self._asking.get(mark, ())}
        turns = [asking[seq] for seq in sorted(asking)]
        if not turns:
            waits = self.view.growing
            unheard = TranscriptDifference.UNHEARD if marks and not waits else TranscriptDifference.NONE
            note = "" if not marks else "the model is not asked yet" if waits else "the model was never asked"
            yield AlignedPair(seen=seen, difference=unheard, note=note)
        for number, turn in enumerate(turns):
            line = _line(turn.event, "asked", seen.text)
            yield AlignedPair(line=line, seen=None if number else seen, note="asked again" if number else "")

    def _sent(self, place: PlaceKey, seen: VisibleMessage, shown: set[AnswerMark]) -> Iterator[AlignedPair]:
        """The message of the gateway: an answer beside the model's, the same answer again, or words of its own."""
        marks = answers_in(seen.text)
        if not marks:
            yield AlignedPair(seen=seen, note=self._words_of(seen))
            return
        again = all(mark in shown for mark in marks)
        asked = self._asked(marks)
        if asked and not any(self._wire.in_place(one, self._address(place)) for one in asked):
            note = f"answers a question of {self.view.places.label(asked[0].place)}"
            yield AlignedPair(seen=seen, difference=TranscriptDifference.FOREIGN_MIRROR, note=note)
        elif again:
            # An edit that leaves the answer as it is shows it no second time.
            copied = isinstance(self.view.event(seen.seq).body, WireAccepted)
            yield AlignedPair(seen=seen, difference=_AGAIN if copied else TranscriptDifference.NONE)
        else:
            said = next((self._saying[mark] for mark in marks if mark in self._saying), None)
            line = _line(said.answered, "model", said.answer) if said and said.answered else None
            yield AlignedPair(line=line, seen=seen)
        shown.update(marks)

    def _words_of(self, seen: VisibleMessage) -> str:
        """The origin of a text without a mark."""
        event = self.view.event(seen.seq)
        if self._wire.notified(seen.text) or self._wire.remarked(seen.text):
            return "a notice of the gateway"
        message = self._wire.messages.changed_by(event)
        if message is None or isinstance(event.body, WireDeleted):
            return ""
        if any(text.marks for text in message.texts):
            return "while the answer grows"
        turn = self._wire.part_of(message)
        if turn is None:
            return "the gateway's own words"
        return "a part of an answer" if turn.last else "said by the model, to no question"

    def _never_seen(self, question: MarkedQuestion, shown: set[AnswerMark]) -> Iterator[AlignedPair]:
        """Answers of the model that people never saw in the place of their question."""
        for turn in self._answering.get(question.mark, ()):
            own = [mark for mark in answers_in(turn.answer) if mark.question == question.mark]
            if turn.answered is None or any(mark in shown for mark in own):
                continue
            where = [one.address for one in self._wire.answers(question)]
            note = f"seen in {self.view.places.label(where[0])}" if where else ""
            line = _line(turn.answered, "model", turn.answer)
            if self.view.growing and not where:
                yield AlignedPair(line=line, note="not seen yet")
            else:
                yield AlignedPair(line=line, difference=TranscriptDifference.UNDELIVERED, note=note)

    def _asked(self, marks: tuple[AnswerMark, ...]) -> list[MarkedQuestion]:
        return [self._wire.questions[mark.question] for mark in marks if mark.question in self._wire.questions]

    def _address(self, place: PlaceKey) -> Address:
        return self.view.places.at(place).address

    def rows(self, seq: int) -> list[SessionListRow]:
        """Every place with its counts after event `seq`."""
        return [self._counted(place, seq) for place in self.orphans]

    def _counted(self, place: PlaceKey, seq: int) -> SessionListRow:
        index = self.index(place)
        seen = [one for one in self.view.visible.of(place) if one.seq <= seq]
        heard = sum(bool(one.who) for one in seen)
        questions = [one for one in self._wire.questions.values() if one.place.lane == place]
        own = {one.mark for one in questions}
        turns = [one for one in self._wire.turns if one.event.seq <= seq and own & {*one.body.marks}]
        answered = sum(one.answered is not None and one.answered.seq <= seq for one in turns)
        return SessionListRow(
            key="",
            name=f"{count(len(turns), 'turn')}, {answered} answered",
            place=self._label(place),
            heard=heard,
            said=sum(isinstance(self.view.event(one.seq).body, WireAccepted) for one in seen),
            copies=index.copies(seq),
            differences=index.differences(seq),
            last=index.last(seq),
            since=self.pairs(place)[0].seq,
            orphan=place,
        )


def _line(event: Event, role: str, text: str) -> TranscriptEntry:
    return TranscriptEntry(seq=event.seq, at=event.at, role=role, text=text)
