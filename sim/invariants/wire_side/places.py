"""Where answers appear, and in which order: X2, X3 and X9."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.core.events import Event
from trunkline.sim.events.wire import WireAccepted, WireEdited, WireRefused
from trunkline.sim.events.world import PeerSaid, ThreadClosed
from trunkline.sim.index.answer_parts import PART, ModelTurn
from trunkline.sim.index.bot_messages import BotMessage, letters
from trunkline.sim.index.marks import answers_in, questions_in
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.index.wire_side import MarkedQuestion, RunWireSide
from trunkline.sim.invariants.base import EvidenceKind
from trunkline.sim.invariants.wire_side.base import WireSideChecker, short, when


class AnsweredInPlace(WireSideChecker):
    """X2: an answer is where its question is."""

    id = "X2"
    title = "In the place of its question"
    sentence = (
        "An answer is in the place of its question: chat, thread and account, or a thread on the question itself. "
        "What becomes of an answer whose place is gone is the business of X3."
    )
    evidence = EvidenceKind.MISPLACED

    @on(WireAccepted, WireEdited)
    def _shown(self, event: Event, body: WireAccepted | WireEdited) -> None:
        message = self.wire.messages.shown_by(event)
        if message is None:
            return
        for mark in message.marks:
            question = self.wire.questions.get(mark.question)
            if question is None or mark.question in _marks_before(message):
                continue
            in_place = self.wire.in_place(question, message.address)
            if in_place or self.wire.gone_since(question.place) is None:
                self.exercised += 1
            if not in_place and self.wire.gone_since(question.place) is None:
                self.violate(
                    at=event.seq,
                    summary=f"the answer to {self.asked(question)} appears in {self.place(message.address)}",
                    expected=[f"in {self.place(question.place)}"],
                    actual=[f"in {self.place(message.address)}: {short(body.text)}"],
                    evidence=[question.event.seq, event.seq],
                )

    def finish(self, last: Event) -> None:
        for message, question in _strays(self.wire):
            if not _was_gone(self.wire, question, message):
                self.exercised += 1
                self.violate(
                    at=message.accepted.seq,
                    summary=f"a part of the answer to {self.asked(question)} appears in {self.place(message.address)}",
                    expected=[f"in {self.place(question.place)}"],
                    actual=[f"in {self.place(message.address)}: {short(message.text)}"],
                    evidence=[question.event.seq, message.accepted.seq],
                )


class NothingNextDoor(WireSideChecker):
    """X3: what belongs to a place that is gone appears nowhere else."""

    id = "X3"
    title = "Nothing of a thread next door"
    sentence = (
        "When a thread or a chat is deleted, locked or refused, neither the answers to its questions nor the questions "
        "themselves appear in its parent or anywhere else."
    )
    evidence = EvidenceKind.MISPLACED

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: questions whose place was gone before they were answered
        self._homeless: set[str] = set()

    @on(ThreadClosed, WireRefused, PeerSaid)
    def _gone(self, event: Event, body: ThreadClosed | WireRefused | PeerSaid) -> None:
        gone = self.wire.gone_since(body.address)
        if gone is None:
            return
        for question in self.wire.open_at(body.address, event.seq + 1):
            if question.place.lane == body.address.lane and question.mark not in self._homeless:
                self._homeless.add(question.mark)
                self.exercised += 1

    @on(WireAccepted, WireEdited)
    def _shown(self, event: Event, body: WireAccepted | WireEdited) -> None:
        message = self.wire.messages.shown_by(event)
        if message is None:
            return
        for mark in dict.fromkeys((*(answer_mark.question for answer_mark in message.marks), *questions_in(body.text))):
            question = self.wire.questions.get(mark)
            gone = None if question is None else self.wire.gone_since(question.place)
            if question is None or gone is None or self.wire.in_place(question, message.address):
                continue
            if mark in _marks_before(message):
                continue
            self.violate(
                at=event.seq,
                summary=(
                    f"what belongs to {self.asked(question)} appears in {self.place(message.address)}, "
                    f"{event.at - gone.at:.1f} s after its place was gone"
                ),
                expected=["nothing of it in another place; at most a notice without its content"],
                actual=[f"in {self.place(message.address)}: {short(body.text)}"],
                evidence=[question.event.seq, gone.seq, event.seq],
            )

    def finish(self, last: Event) -> None:
        for message, question in _strays(self.wire):
            gone = _was_gone(self.wire, question, message)
            if gone is not None:
                self.violate(
                    at=message.accepted.seq,
                    summary=(
                        f"a part of the answer to {self.asked(question)} appears in {self.place(message.address)}, "
                        f"{message.accepted.at - gone.at:.1f} s after its place was gone"
                    ),
                    expected=["nothing of it in another place; at most a notice without its content"],
                    actual=[f"in {self.place(message.address)}: {short(message.text)}"],
                    evidence=[question.event.seq, gone.seq, message.accepted.seq],
                )


class InOrder(WireSideChecker):
    """X9: answers come in the order of the questions."""

    id = "X9"
    title = "Answers in order"
    sentence = "The answers in a place come in the order in which their questions reached the gateway."

    @on(PeerSaid)
    def _said(self, event: Event, body: PeerSaid) -> None:
        waiting = (
            earlier for earlier in self.wire.open_at(body.address, event.seq) if earlier.place.lane == body.address.lane
        )
        if questions_in(body.text) and any(waiting):
            self.exercised += 1

    @on(WireAccepted, WireEdited)
    def _shown(self, event: Event, body: WireAccepted | WireEdited) -> None:
        message = self.wire.messages.shown_by(event)
        if message is None:
            return
        for mark in dict.fromkeys(answer_mark.question for answer_mark in message.marks):
            question = self.wire.questions.get(mark)
            if (
                question is None
                or self._answered_before(question, event)
                or message.address.lane != question.place.lane
            ):
                continue
            later = self._later_answer(question, event, message)
            if later is not None:
                other, answered = later
                self.violate(
                    at=event.seq,
                    summary=f"{self.asked(question)} is answered after {other.mark}, which came after it",
                    expected=[f"the answer to {question.mark} before that to {other.mark}"],
                    actual=[f"{when(answered)}, then {when(message)}"],
                    evidence=[question.event.seq, other.event.seq, answered.accepted.seq, event.seq],
                    first_wrong=answered.accepted.seq,
                )

    def _answered_before(self, question: MarkedQuestion, event: Event) -> bool:
        shown = (text for message in self.wire.answers(question) for text in message.ever(question.mark))
        return any(text.event.seq < event.seq for text in shown)

    def _later_answer(
        self, question: MarkedQuestion, event: Event, message: BotMessage
    ) -> tuple[MarkedQuestion, BotMessage] | None:
        """A question of the same place that was asked later and is answered already, further up in the place."""
        for other in self.wire.questions.values():
            if other.place.lane == question.place.lane and _reached(other) > _reached(question):
                for answer in self.wire.answers(other):
                    first, above = next(answer.ever(other.mark)), answer.accepted.seq < message.accepted.seq
                    if first.event.seq < event.seq and above and answer.address.lane == question.place.lane:
                        return other, answer
        return None

    def finish(self, last: Event) -> None:
        for turn in self.wire.turns:
            question = self.wire.questions.get(turn.last)
            if question is not None:
                self._judge_parts(question, turn)

    def _judge_parts(self, question: MarkedQuestion, turn: ModelTurn) -> None:
        """Whether the parts of an answer stand in its order."""
        whole, own = letters(turn.answer), set(answers_in(turn.answer))
        found: dict[str, tuple[int, BotMessage]] = {}
        lane = question.place.lane
        for message in self.wire.messages.after(turn.event.seq):
            if message.deleted is None and message.address.lane == lane:
                text = letters(message.text)
                belongs = len(text) >= PART or bool(own & set(message.marks))
                if belongs and whole.count(text) == 1:
                    found.setdefault(text, (whole.find(text), message))
        for (at, above), (text, (position, below)) in zip(found.values(), list(found.items())[1:], strict=False):
            if position + len(text) <= at:
                self.violate(
                    at=below.accepted.seq,
                    summary=f"the parts of the answer to {self.asked(question)} are in another order",
                    expected=[f"{short(below.text)} before {short(above.text)}"],
                    actual=[f"{when(above)}, then {when(below)}"],
                    evidence=[question.event.seq, above.accepted.seq, below.accepted.seq],
                    first_wrong=above.accepted.seq,
                )


def _reached(question: MarkedQuestion) -> int:
    """When a question reached the gateway: of one that the platform hands out late, that is what counts."""
    return question.first_handed_out or question.event.seq


def _strays(wire: RunWireSide) -> Iterator[tuple[BotMessage, MarkedQuestion]]:
    """The messages without a mark that show a part of an answer in a wrong place, each with its question."""
    for message in wire.messages.all:
        question = wire.strayed_from(message)
        if question is not None:
            yield message, question


def _was_gone(wire: RunWireSide, question: MarkedQuestion, message: BotMessage) -> Event | None:
    """The event since which the place of a question was gone when a message appeared, if it was."""
    gone = wire.gone_since(question.place)
    return gone if gone is not None and gone.seq < message.accepted.seq else None


def _marks_before(message: BotMessage) -> set[str]:
    """The questions that a message answered before its last text."""
    return {mark.question for shown in message.texts[:-1] for mark in shown.marks}
