"""The places of a run of which only the wire is known: what the model was asked and said, beside what people saw.

Sessions and transcripts of a foreign gateway are its own business. What its model was asked and what it answered is on
the wire, and stands where the transcript of a session would be.
"""

from collections.abc import Iterator

import msgspec

from trunkline.app.text.cells import count
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.index.transcripts import TranscriptEntry, VisibleMessage
from trunkline.app.view.sessions.alignment_index import AlignedPair, TranscriptDifference
from trunkline.app.view.sessions.transcripts import SessionListRow, Sessions
from trunkline.core.events import Event
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
        for turn in self._wire.said.turns:
            for mark in dict.fromkeys(turn.body.marks):
                self._asking.setdefault(mark, []).append(turn)
            self._answering.setdefault(turn.last, []).append(turn)
            for answer in answers_in(turn.answer):
                self._saying.setdefault(answer, turn)
        super().__init__(view, slowly=slowly)

    def _aligned(self, owner: str | PlaceKey) -> Iterator[AlignedPair]:
        """The questions to the model and its answers, each beside what people saw of it."""
        assert not isinstance(owner, str)
        shown: set[AnswerMark] = set()
        for message in self.view.visible.of(owner):
            if message.who:
                yield from self._posted(message)
            else:
                yield from self._sent(owner, message, shown)
        for question in self._wire.questions.values():
            if question.place.lane == owner:
                yield from self._never_seen(question, shown)

    def _posted(self, seen: VisibleMessage) -> Iterator[AlignedPair]:
        """The message of a person, and each request to the model that asks it."""
        marks = questions_in(seen.text)
        asking = {question.event.seq: question for mark in marks for question in self._asking.get(mark, ())}
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
        asked = [self._wire.questions[mark.question] for mark in marks if mark.question in self._wire.questions]
        here = self.view.places.at(place).address
        if asked and not any(self._wire.hangs_on(question.body, here) for question in asked):
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
            where = [answer.address for answer in self._wire.answers(question)]
            note = f"seen in {self.view.places.label(where[0])}" if where else ""
            line = _line(turn.answered, "model", turn.answer)
            if self.view.growing and not where:
                yield AlignedPair(line=line, note="not seen yet")
            else:
                yield AlignedPair(line=line, difference=TranscriptDifference.UNDELIVERED, note=note)

    def rows(self, seq: int) -> list[SessionListRow]:
        """Every place with its counts after event `seq`."""
        return [self._orphan(place, seq) for place in self.orphans]

    def _orphan(self, place: PlaceKey, seq: int) -> SessionListRow:
        seen = [message for message in self.view.visible.of(place) if message.seq <= seq]
        heard = sum(bool(message.who) for message in seen)
        questions = [question for question in self._wire.questions.values() if question.place.lane == place]
        own = {question.mark for question in questions}
        turns = [turn for turn in self._wire.said.turns if turn.event.seq <= seq and own & {*turn.body.marks}]
        answered = sum(turn.answered is not None and turn.answered.seq <= seq for turn in turns)
        said = sum(isinstance(self.view.event(message.seq).body, WireAccepted) for message in seen)
        name = f"{count(len(turns), 'turn')}, {answered} answered"
        return msgspec.structs.replace(super()._orphan(place, seq), name=name, heard=heard, said=said)


def _line(event: Event, role: str, text: str) -> TranscriptEntry:
    return TranscriptEntry(seq=event.seq, at=event.at, role=role, text=text)
