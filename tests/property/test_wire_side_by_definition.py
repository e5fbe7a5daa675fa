"""The index of the wire side finds what a look at everything finds: the same verdicts on stories of any kind."""

from collections.abc import Iterator, Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.random_wire_story import RandomStory
from trunkline.core.events import Event
from trunkline.core.values import Address
from trunkline.sim.index.answer_parts import CUT, PART, ModelAnswers, ModelTurn, StandingMessages
from trunkline.sim.index.asked_places import Lane
from trunkline.sim.index.bot_messages import BotMessage, BotMessages, letters
from trunkline.sim.index.marks import answers_in, nudged_mark
from trunkline.sim.index.wire_side import MarkedQuestion, RefusedCall, RunWireSide
from trunkline.sim.invariants import Verdict, judge


class PlainMessages(BotMessages):
    """Looks at all messages."""

    def accepted_since(self, gone: Event, place: Address) -> bool:
        return any(m.address.lane == place.lane and m.accepted.seq > gone.seq for m in self.all)


class PlainAnswers(ModelAnswers):
    """Looks at all turns."""

    def with_part(self, part: str) -> Iterator[ModelTurn]:
        return (turn for turn in self.turns if part in letters(turn.answer))

    def of(self, message: BotMessage, messages: BotMessages) -> Iterator[ModelTurn]:
        text, found = letters(message.text), False
        for turn in self.turns:
            answer = letters(turn.answer)
            begins = bool(answer) and turn.answer.endswith(CUT) and text.startswith(answer)
            if text and turn.event.seq < message.accepted.seq and (text in answer or begins):
                found = True
                yield turn
        if text and not found:
            yield from self._rest(message, messages)

    def _rest(self, message: BotMessage, messages: BotMessages) -> Iterator[ModelTurn]:
        for before in reversed(messages.all):
            marks = {mark.question for mark in before.marks}
            if marks and before.accepted.seq < message.accepted.seq and before.address == message.address:
                yield from [turn for turn in self.turns if turn.answer.endswith(CUT) and turn.last in marks][:1]
                return


class PlainStanding(StandingMessages):
    """Looks at all that stand."""

    def with_part(self, part: str, lane: Lane) -> list[BotMessage]:
        return [m for m in self.all if m.address.lane == lane and part in letters(m.text)]

    def parts_of(self, turn: ModelTurn, lane: Lane) -> Mapping[str, list[BotMessage]]:
        found: dict[str, list[BotMessage]] = {}
        for m in self.all:
            if m.address.lane == lane and letters(m.text) and letters(m.text) in letters(turn.answer):
                found.setdefault(letters(m.text), []).append(m)
        return found

    def lacks_part_of(self, turn: ModelTurn) -> bool:
        whole, missing = letters(turn.answer), 0
        seen = "".join(letters(m.text) for m in self.all if m.accepted.seq > turn.event.seq)
        for at in range(0, len(whole) - PART + 1, PART):
            missing = 0 if whole[at : at + PART] in seen else missing + 1
            if missing == 3:
                return True
        return False


class PlainWireSide(RunWireSide):
    """Looks at all questions, messages, refusals and troubles."""

    def __init__(self) -> None:
        super().__init__(messages=PlainMessages(), said=PlainAnswers())

    def standing(self) -> StandingMessages:
        return PlainStanding(self.messages)

    def nudge_for(self, question: MarkedQuestion) -> MarkedQuestion | None:
        for nudge in self.questions.values():
            waited = self.questions.get(nudged_mark(nudge.mark))
            later = waited is not None and question.event.seq < nudge.event.seq
            if later and (waited is question or self.concerns(question, nudge.place)):
                return nudge
        return None

    def answered_by_model(self, question: MarkedQuestion) -> bool:
        for turn in self.turns_about(question):
            marks = set(answers_in(turn.answer))
            for m in self.messages.all:
                shows = m.deleted is None and marks & set(answers_in(m.text))
                if m.accepted.seq > turn.event.seq and shows and self.concerns(question, m.address):
                    return True
        return False

    def pieces(self, question: MarkedQuestion, after: int) -> Iterator[BotMessage]:
        for m in self.messages.all:
            free = m.deleted is None and not m.marks and m.accepted.seq > after
            its = any(question.mark in turn.body.marks for turn in self.parts_of(m))
            if free and its and self.concerns(question, m.address):
                yield m

    def open_at(self, place: Address, seq: int) -> Iterator[MarkedQuestion]:
        return (question for question in self.questions.values() if self.is_open(question, place, seq))

    def open_for_reply(self, message: BotMessage) -> Iterator[MarkedQuestion]:
        waiting = self.open_at(message.address, message.accepted.seq)
        return (question for question in waiting if question.body.message_id == message.reply_to)

    def open_commands(self, place: Address, seq: int) -> Iterator[MarkedQuestion]:
        return (question for question in self.open_at(place, seq) if question.body.text.startswith("/"))

    def open_in_trouble(self, place: Address, seq: int) -> Iterator[MarkedQuestion]:
        return (question for question in self.open_at(place, seq) if self.trouble_for(question, seq) is not None)

    def notifying(self, question: MarkedQuestion) -> Iterator[BotMessage]:
        for m in self.messages.all:
            free = m.deleted is None and not m.marks and m.accepted.seq > question.event.seq
            if free and self.concerns(question, m.address) and not self.remarked(m.text):
                turn = self.part_of(m)
                if turn is None or not turn.body.marks:
                    yield m

    def asked_at(self, place: Address, seq: int) -> Iterator[MarkedQuestion]:
        return (q for q in self.questions.values() if q.event.seq < seq and self.concerns(q, place))

    def overtaking(self, question: MarkedQuestion) -> Iterator[MarkedQuestion]:
        here = (other for other in self.questions.values() if other.place.lane == question.place.lane)
        return (other for other in here if other.reached > question.reached)

    def in_doubt_at(self, place: Address, seq: int) -> Iterator[MarkedQuestion]:
        for question in self.questions.values():
            sent = [answer.accepted for answer in self.answers(question) if answer.accepted.seq < seq]
            heard = any((accepted.cause or 0) in self.responded for accepted in sent)
            asked = question.event.seq < seq
            if asked and sent and not heard and self.concerns(question, place):
                yield question

    def in_doubt_for(self, message: BotMessage) -> Iterator[MarkedQuestion]:
        seq = message.accepted.seq
        for question in self.in_doubt_at(message.address, seq):
            named = question.body.text.startswith("/") or message.reply_to == question.body.message_id
            if named or message.deleted is not None or self.trouble_for(question, seq) is not None:
                yield question

    def troubles_of(self, question: MarkedQuestion, before: int) -> Iterator[Event]:
        after = question.event.seq
        return (t for t in self.troubles if after < t.seq < before and self.strikes(t, question))

    def refused_answers(self, question: MarkedQuestion, before: int) -> list[RefusedCall]:
        return [
            refusal
            for refusal in self.refusals
            if question.event.seq < refusal.event.seq < before
            and any(mark.question == question.mark for mark in answers_in(refusal.request.text))
        ]

    def refused_notices(self, question: MarkedQuestion, before: int) -> list[RefusedCall]:
        return [
            refusal
            for refusal in self.refusals
            if question.event.seq < refusal.event.seq < before
            and refusal.request.what == "send"
            and not answers_in(refusal.request.text)
            and self.concerns(question, refusal.body.address)
        ]


def plainly(events: list[Event]) -> tuple[Verdict, ...]:
    """The verdicts of a judge that looks at everything."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trunkline.sim.index.run_facts.RunWireSide", PlainWireSide)
        return judge(events)


@given(st.randoms(use_true_random=False), st.sampled_from((10, 30, 80)))
def test_an_index_changes_no_verdict(dice: Random, steps: int) -> None:
    story = RandomStory(dice).tell(steps)
    assert plainly(story.events) == judge(story.events)


def test_the_stories_break_every_promise_of_the_wire_that_is_judged_by_an_index() -> None:
    broken = {name for seed in range(40) for name in RandomStory(Random(seed)).tell(80).broken}
    assert broken >= {"X1", "X2", "X3", "X4", "X5", "X6", "X7", "X9", "X10"}
