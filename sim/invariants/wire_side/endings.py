"""The outcome of each question, and turns that nobody asked for: X4 and X6."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.core.events import Body, Event
from trunkline.core.values import ChatKind
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid, PlatformConfirmed, PlatformPushed
from trunkline.sim.index.answer_parts import PART, ModelTurn, is_part_missing
from trunkline.sim.index.bot_messages import BotMessage, letters
from trunkline.sim.index.marks import answers_in, questions_in
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.index.wire_side import MarkedQuestion, RunWireSide
from trunkline.sim.invariants.wire_side.base import ANYTHING, WholeRunChecker, marked, short, when

#: platforms that hand out nothing that was said while nobody was connected
_KEEP_NOTHING = frozenset({"discord"})


#: messages, the newest, of which a run that goes on says whether anybody asked for them
_NEWEST = 5


class NothingLostInSilence(WholeRunChecker):
    """X4: each question is answered, or its asker gets a notice."""

    id = "X4"
    title = "Nothing is lost in silence"
    sentence = (
        "Each question ends: it is answered, or its asker gets a notice in its place, within the patience of the run "
        "after the last of the question, a restart and a fault."
    )
    only_at_the_end = "judged at the end: an answer may still come, and a restart or a fault begins the wait again"

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: mark -> the last event of its way so far
        self._last: dict[str, Event] = {}
        self._marks: dict[int, tuple[str, ...]] = {}
        #: the last event so far
        self._now: Event | None = None

    @on(*ANYTHING)
    def _goes_on(self, event: Event, body: Body) -> None:
        self._now = event
        if isinstance(body, PeerSaid):
            self._marks[event.seq] = questions_in(body.text)
        elif isinstance(body, ModelAsked):
            self._marks[event.seq] = body.marks
        elif not isinstance(body, PlatformPushed | PlatformConfirmed | ModelAnswered):
            return
        for mark in self._marks.get(event.seq if event.seq in self._marks else event.cause or 0, ()):
            self._last[mark] = event

    def so_far(self) -> str:
        if self._now is None:
            return ""
        patience = 0.0 if self.wire.attached is None else self.wire.attached.patience
        for question in self.wire.questions.values():
            waited = self._now.at - self._since(question)
            if waited < patience or self.wire.answers(question) or self._is_left_out(question):
                continue
            if not is_notified(self.wire, question) and not self.wire.answered_by_model(question):
                return f"{self.asked(question)} has waited for {waited:.0f} s, and the patience is {patience:g} s"
        return ""

    def finish(self, last: Event) -> None:
        super().finish(last)
        attached, unjudged = self.wire.attached, 0
        patience = 0.0 if attached is None else attached.patience
        for question in self.wire.questions.values():
            if self._is_left_out(question):
                continue
            answered = self._is_answered(question)
            ended = (answered and not self._is_cut(question)) or is_notified(self.wire, question)
            waited = last.at - self._since(question)
            if not ended and not self.wire.rested and waited < patience:
                unjudged += 1
                continue
            self.exercised += 1
            if answered and not ended:
                self._lost_in_part(question)
            elif not ended:
                self._report_loss(question, last, None if waited < patience else patience)
        if unjudged:
            which = "1 question is" if unjudged == 1 else f"{unjudged} questions are"
            self._note = f"{which} not judged: the run ended before its patience of {patience:g} s was over"

    def _is_cut(self, question: MarkedQuestion) -> bool:
        """Whether a part of the answer that people see is in no message. A file may have it."""
        for turn in self.wire.turns_about(question):
            if len(letters(turn.answer)) >= PART:
                own = set(answers_in(turn.answer))
                if any(answer.deleted is None and own & set(answer.marks) for answer in self.wire.answers(question)):
                    shown = [message for message in self.wire.messages.all if message.accepted.seq > turn.event.seq]
                    return self._is_part_missing(turn, [message for message in shown if message.deleted is None])
        return False

    def _is_part_missing(self, turn: ModelTurn, shown: Sequence[BotMessage]) -> bool:
        files = any(
            isinstance(message.accepted.body, WireAccepted) and message.accepted.body.media for message in shown
        )
        return not files and is_part_missing(turn.answer, (message.text for message in shown))

    def _lost_in_part(self, question: MarkedQuestion) -> None:
        answers = self.wire.answers(question)
        self.violate(
            at=answers[-1].accepted.seq,
            summary=f"a part of the answer to {self.asked(question)} is lost in silence",
            expected=["the whole answer, or a notice to its asker"],
            actual=[f"{when(answer)} has the end of it, and nothing has the rest" for answer in answers],
            evidence=[question.event.seq, *(answer.accepted.seq for answer in answers)],
        )

    def _is_left_out(self, question: MarkedQuestion) -> bool:
        return question.body.bot or self._never_came(question) or self._nobody_there(question)

    def _never_came(self, question: MarkedQuestion) -> bool:
        """Whether the platform, not the gateway, lost a question: by a fault, or as it keeps nothing for later."""
        lost = question.lost or (question.unheard and question.place.channel in _KEEP_NOTHING)
        return lost and not question.handed_out

    def _nobody_there(self, question: MarkedQuestion) -> bool:
        """Whether the asker of a question is out of reach: the chat is gone, and no thread or channel of a server."""
        place = question.place
        whole = place.kind is not ChatKind.CHANNEL and place.thread is None
        return whole and self.wire.gone_since(place) is not None

    def _is_answered(self, question: MarkedQuestion) -> bool:
        if self.wire.answered_by_model(question):
            return True
        return any(end is None for answer in self.wire.answers(question) for _, end, _ in answer.shown(question.mark))

    def _since(self, question: MarkedQuestion) -> float:
        """The time from which the answer to a question is awaited."""
        struck = (trouble.at for trouble in self.wire.troubles if isinstance(trouble.body, FaultFired))
        return max(question.event.at, *(ready.at for ready in self.wire.ready), *struck)

    def _report_loss(self, question: MarkedQuestion, last: Event, waited: float | None) -> None:
        answers = self.wire.answers(question)
        if answers:
            # It was shown, and taken away.
            gone = next(
                (answer.deleted for answer in answers if answer.deleted is not None), answers[-1].texts[-1].event
            )
            self.violate(
                at=gone.seq,
                summary=f"the answer to {self.asked(question)} is taken away, and nothing takes its place",
                expected=["an answer that stays, or a notice to its asker"],
                actual=[f"{when(answer)} is gone" for answer in answers],
                evidence=[question.event.seq, *(answer.accepted.seq for answer in answers), gone.seq],
            )
            return
        way = self._last.get(question.mark, question.event)
        how_long = "not until the run came to rest" if waited is None else f"not within {waited:g} s"
        self.violate(
            at=last.seq,
            summary=f"{self.asked(question)} is lost in silence: {how_long}" + self._how_far(question),
            expected=["an answer, or a notice to its asker"],
            actual=[f"nothing after {way.kind} of #{way.seq}"],
            evidence=[question.event.seq, way.seq],
            missing_after=way.seq,
        )

    def _how_far(self, question: MarkedQuestion) -> str:
        if question.dropped:
            return ": the gateway had the platform discard it"
        if not question.handed_out:
            return ", and it was never handed out"
        turns = self.wire.turns_about(question)
        if not turns:
            return ", and the model was never asked"
        return ", although the model answered" if any(turn.answer for turn in turns) else ""


def is_notified(wire: RunWireSide, question: MarkedQuestion) -> bool:
    """Whether the asker of a question reads anything that may be about it: no answer, and no mere remark.

    A gateway that never got the question says nothing about it, whatever it says.
    """
    if not question.handed_out:
        return False
    for message in wire.messages.all:
        if message.accepted.seq < question.event.seq or message.deleted is not None or message.marks:
            continue
        if not wire.concerns(question, message.address) or wire.remarked(message.text):
            continue
        if replies_to_another(wire, question, message):
            continue
        turn = wire.part_of(message)
        if turn is None or (not turn.body.marks and was_taken_up(wire, question, before=turn.event.seq)):
            return True
    return False


def replies_to_another(wire: RunWireSide, question: MarkedQuestion, message: BotMessage) -> bool:
    """Whether a message replies to another question that waits, and that no turn had in its prompt with this one."""
    waiting = [other for other in wire.open_at(message.address, message.accepted.seq) if other is not question]
    replied = [other.mark for other in waiting if other.body.message_id == message.reply_to]
    return bool(replied) and not any({question.mark, *replied} <= set(turn.body.marks) for turn in wire.turns)


def was_taken_up(wire: RunWireSide, question: MarkedQuestion, before: int) -> bool:
    """Whether the model was asked for a question before an event.

    What a model says in a turn of its own notifies nobody of a question that the gateway never had: one that drops what
    waits, and then resumes an older session with such a turn, does not know that there is a question.
    """
    return any(turn.event.seq < before for turn in wire.turns_about(question))


class NothingUnasked(WholeRunChecker):
    """X6: nothing is said that nobody asked for."""

    id = "X6"
    title = "Nothing unasked"
    sentence = (
        "Each message of the gateway answers a question of the run, notifies an asker of what became of one, or is "
        "among the texts that its profile names; no turn that nobody asked for is shown."
    )
    only_at_the_end = "judged at the end: a message may still be edited into an answer"

    @on(WireAccepted)
    def _accepted(self, _event: Event, _body: WireAccepted) -> None:
        self.exercised += 1

    def so_far(self) -> str:
        for message in self.wire.messages.all[: -_NEWEST - 1 : -1]:
            marks = {mark.question for shown in message.texts for mark in shown.marks}
            if not marks & self.wire.questions.keys() and not self._is_asked_for(message):
                return f"nobody has asked for {short(message.text)} in {self.place(message.address)}"
        return ""

    def finish(self, last: Event) -> None:
        super().finish(last)
        for message in self.wire.messages.all:
            marks = [mark for shown in message.texts for mark in shown.marks]
            if any(mark.question in self.wire.questions for mark in marks):
                continue
            if marks:
                what = f"{marked(marks[0])} answers a question that nobody asked in this run"
                self._report(message, what)
            elif not self._is_asked_for(message):
                turn = self.wire.part_of(message)
                what = "nobody asked for it" if turn is None else "it is the answer of a turn that nobody asked for"
                self._report(message, what)

    def _is_asked_for(self, message: BotMessage) -> bool:
        """Whether a message without a mark may be there."""
        seq, turn = message.accepted.seq, self.wire.part_of(message)
        if turn is not None and turn.body.marks:
            return True
        waiting = [*self.wire.open_at(message.address, seq), *self.wire.in_doubt_at(message.address, seq)]
        if turn is None or waiting:
            known = self.wire.remarked(message.text) or any(self.wire.notified(shown.text) for shown in message.texts)
            if known:
                return True
        return any(self._is_about(message, question) for question in waiting)

    def _is_about(self, message: BotMessage, question: MarkedQuestion) -> bool:
        """Whether a message is about a question that waits: as a reply, after trouble, or shown for a while."""
        turn = self.wire.part_of(message)
        if turn is not None and not was_taken_up(self.wire, question, before=turn.event.seq):
            return False
        command = question.body.text.startswith("/")
        replies = message.reply_to == question.body.message_id
        struck = self.wire.trouble_for(question, before=message.accepted.seq) is not None
        return command or replies or struck or message.deleted is not None

    def _report(self, message: BotMessage, what: str) -> None:
        turn = self.wire.part_of(message)
        asked = () if turn is None else (turn.event.seq,)
        self.violate(
            at=message.accepted.seq,
            summary=f"{short(message.text)} appears in {self.place(message.address)}: {what}",
            expected=["an answer to a question of this run, or a known notice"],
            actual=[f"{when(message)}: {short(message.text)}"],
            evidence=[*asked, message.accepted.seq],
        )
