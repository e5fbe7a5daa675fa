"""The outcome of each question, and turns that nobody asked for: X4 and X6."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice

import msgspec

from trunkline.core.events import Body, Event
from trunkline.core.values import ChatKind
from trunkline.sim.events import model, processes, script
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.index.answer_parts import PART, ModelTurn
from trunkline.sim.index.bot_messages import BotMessage, letters
from trunkline.sim.index.marks import answers_in, nudged_mark
from trunkline.sim.index.projection import on
from trunkline.sim.index.wire_side import MarkedQuestion, RefusedCall, RunWireSide
from trunkline.sim.invariants.wire_side.base import ANYTHING, WholeRunChecker, marked, short, when

# The way of a lost question: how far the gateway came, what was tried, and what was in the way.

#: troubles that a path names; a gateway that tries for ever has thousands
_MOST = 6


class LostWay(msgspec.Struct, frozen=True):
    """The way of a question, in the order of a turn. `end`: events from there on do not count."""

    wire: RunWireSide
    question: MarkedQuestion
    end: int

    @property
    def turns(self) -> Sequence[ModelTurn]:
        """The turns with the question in the prompt."""
        return [turn for turn in self.wire.turns_about(self.question) if turn.event.seq < self.end]

    @property
    def refused(self) -> list[RefusedCall]:
        """The refused sends of the answer."""
        return self.wire.refused_answers(self.question, self.end)

    @property
    def refused_notices(self) -> list[RefusedCall]:
        """The refused sends of other texts where the asker reads, after the model had been asked."""
        asked = next((turn.event.seq for turn in self.turns), self.end)
        refused = self.wire.refused_notices(self.question, self.end)
        return [refusal for refusal in refused if asked < refusal.called.seq]

    @property
    def sent(self) -> list[Event]:
        """The sends of the answer, refused or not."""
        return list(self.wire.called_with_answer(self.question, self.end))

    @property
    def pieces(self) -> list[BotMessage]:
        """The messages without a mark that are parts of the answer, where the asker reads."""
        first = next((turn.event.seq for turn in self.turns if turn.answer), None)
        return [] if first is None else list(self.wire.pieces(self.question, first))

    @property
    def last(self) -> Event:
        """The last event in the order of a turn; confirmations of what was read come at any time."""
        refusals = [refusal.event for refusal in (*self.refused, *self.refused_notices)]
        answered = [turn.answered for turn in self.turns if turn.answered is not None and turn.answered.seq < self.end]
        for found in (refusals, self.sent, answered, [turn.event for turn in self.turns], self._handed_out):
            if found:
                return max(found, key=lambda event: event.seq)
        return self.question.event

    @property
    def _handed_out(self) -> list[Event]:
        handed = self.question.last_handed_out
        return [] if handed is None or handed.seq >= self.end else [handed]

    @property
    def path(self) -> list[int]:
        """The steps from question to loss: the turn, what was tried, and what struck meanwhile."""
        asked = [seq for turn in self.turns[-1:] for seq in (turn.event.seq, turn.answered.seq if turn.answered else 0)]
        tried = [refusal.called.seq for refusal in (*self.refused, *self.refused_notices)]
        calls = [*tried, *(call.seq for call in self.sent)][:_MOST]
        return sorted(
            {
                self.last.seq,
                self.question.event.seq,
                *filter(None, asked),
                *calls,
                *(event.seq for event in self.causes),
            }
        )

    @property
    def causes(self) -> list[Event]:
        """The troubles between question and loss: faults, ends of the process, refusals, failures."""
        return list(islice(self.wire.troubles_of(self.question, self.end), _MOST))

    @property
    def how_far(self) -> str:
        """The end of a sentence about the loss."""
        if self.question.dropped:
            return "; the gateway had the platform discard it"
        if not self.question.handed_out:
            return ", and it was never handed out"
        if not self.turns:
            return "" if self.wire.messages.own_words else ", and the model was never asked"
        return self._tried or (", although the model answered" if any(turn.answer for turn in self.turns) else "")

    @property
    def _tried(self) -> str:
        refused, notices, sent = len(self.refused), len(self.refused_notices), len(self.sent)
        if refused and notices:
            return f"; the answer was tried {_times(refused)}, and a notice {_times(notices)}: all were refused"
        waits = [refusal for refusal in self.refused if refusal.body.retry_after is not None]
        if refused == len(waits) == 1:
            return f"; its answer was refused with a wait of {waits[0].body.retry_after:g} s, and not sent again"
        if refused:
            again = ", and not sent again" if refused == 1 else ""
            return f"; its answer was tried {_times(refused)} and refused{again}"
        if notices:
            return f"; a notice was tried {_times(notices)} and refused"
        return f"; its answer was sent {_times(sent)}, and was not taken" if sent else ""

    @property
    def killed(self) -> Event | None:
        """The last kill of the gateway between question and loss."""
        kills = (event for event in reversed(self.causes) if isinstance(event.body, processes.ProcessCrashed))
        return next(kills, None)

    def actual(self) -> list[str]:
        """The events instead of an answer, a line each."""
        lines = [f"nothing after {self.last.kind} of #{self.last.seq}{_detail(self.last)}"]
        if self.killed is not None:
            lines.append(f"the gateway was killed at #{self.killed.seq}")
        struck = [(event, event.body) for event in self.causes if isinstance(event.body, script.FaultFired)]
        lines += [f"the fault {body.fault} at #{event.seq}" for event, body in struck if body.fault != "crash"]
        return lines


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _detail(event: Event) -> str:
    body = event.body
    if isinstance(body, WireRefused):
        return f" ({body.detail or body.reason.value})"
    if isinstance(body, model.ModelAnswered) and body.status != 200:
        return f" (the model failed with {body.status})"
    return ""


#: platforms that hand out nothing that was said while nobody was connected
_KEEP_NOTHING = frozenset({"discord"})


#: pieces of an answer that a violation quotes
_PIECES = 5
#: messages, the newest, of which a run that goes on says whether anybody asked for them
_NEWEST = 5


class NothingLostInSilence(WholeRunChecker):
    """X4: Nothing is lost in silence.

    Each question ends: it is answered, or its asker gets a notice in its place, within the patience of the run after
    the last of the question, a restart and a fault.
    """

    only_at_the_end = "judged at the end: an answer may still come, and a restart or a fault begins the wait again"

    #: the last event so far
    _now: Event | None = None

    @on(*ANYTHING)
    def _goes_on(self, event: Event, _body: Body) -> None:
        self._now = event

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
            nudge = self.wire.nudge_for(question)
            if ended and nudge is not None and not self._ended_before(question, nudge):
                self.remark(f"{self.asked(question)}: notified only when its asker wrote again (#{nudge.event.seq})")
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
                    return self.wire.standing().lacks_part_of(turn)
        return False

    def _lost_in_part(self, question: MarkedQuestion) -> None:
        answers = self.wire.answers(question)
        causes = question.event, *(answer.accepted for answer in answers)
        summary = f"a part of the answer to {self.asked(question)} is lost in silence"
        shown = [f"{when(answer)} has the end of it, and nothing has the rest" for answer in answers]
        self.accuse(answers[-1].accepted, summary, "the whole answer, or a notice to its asker", *causes, shown=shown)

    def _is_left_out(self, question: MarkedQuestion) -> bool:
        nudges = nudged_mark(question.mark) in self.wire.questions
        return question.body.bot or nudges or self._never_came(question) or self._nobody_there(question)

    def _never_came(self, question: MarkedQuestion) -> bool:
        """Whether the platform, not the gateway, lost a question: by a fault, or as it keeps nothing for later."""
        lost = question.lost or (question.unheard and question.place.channel in _KEEP_NOTHING)
        return lost and not question.handed_out

    def _nobody_there(self, question: MarkedQuestion) -> bool:
        """Whether the asker of a question is out of reach: the chat is gone, and no thread or channel of a server."""
        place = question.place
        whole = place.kind is not ChatKind.CHANNEL and place.thread is None
        return whole and self.wire.gone_since(place) is not None

    def _ended_before(self, question: MarkedQuestion, nudge: MarkedQuestion) -> bool:
        """Whether a question had ended before the asker wrote once more."""
        before = nudge.event.seq
        if any(shown.event.seq < before for answer in self.wire.answers(question) for shown in answer.texts):
            return True
        return is_notified(self.wire, question, before=before)

    def _is_answered(self, question: MarkedQuestion) -> bool:
        if self.wire.answered_by_model(question):
            return True
        return any(end is None for answer in self.wire.answers(question) for _, end, _ in answer.shown(question.mark))

    def _since(self, question: MarkedQuestion) -> float:
        """The time from which the answer to a question is awaited."""
        return max(question.event.at, self.wire.began_again_at)

    def _report_loss(self, question: MarkedQuestion, last: Event, waited: float | None) -> None:
        answers = self.wire.answers(question)
        if answers:
            # It was shown, and taken away.
            deleted = (answer.deleted for answer in answers if answer.deleted is not None)
            gone, causes = next(deleted, answers[-1].texts[-1].event), (answer.accepted for answer in answers)
            summary = f"the answer to {self.asked(question)} is taken away, and nothing takes its place"
            expected, shown = "an answer that stays, or a notice to its asker", [f"{when(a)} is gone" for a in answers]
            self.accuse(gone, summary, expected, question.event, *causes, shown=shown)
            return
        nudge = self.wire.nudge_for(question)
        way = LostWay(self.wire, question, last.seq if nudge is None else nudge.event.seq)
        if pieces := way.pieces:
            self._report_pieces(question, pieces)
            return
        how_long = "not until the run came to rest" if waited is None else f"not within {waited:g} s"
        never = ", nor when its asker wrote again" if nudge is not None and nudge.handed_out else ""
        self.violate(
            at=last.seq,
            summary=f"{self.asked(question)} is lost in silence: {how_long}{never}{way.how_far}",
            expected=["an answer, or a notice to its asker"],
            actual=way.actual(),
            evidence=way.path,
            missing_after=way.path[-1],
            path=way.path,
        )

    def _report_pieces(self, question: MarkedQuestion, pieces: Sequence[BotMessage]) -> None:
        first, end = pieces[0], pieces[-1]
        many = f"{len(pieces)} messages" if len(pieces) > 1 else "1 message"
        more = [f"and {len(pieces) - _PIECES} more"] if len(pieces) > _PIECES else []
        shown = [*(f"{when(piece)}: {short(piece.text)}" for piece in pieces[:_PIECES]), *more]
        what = f"is answered in pieces: {many} with parts of its answer, and none with its end"
        expected = "the whole answer in as many messages as the limit of the platform needs, or a notice"
        causes, wrong = (question.event, first.accepted), first.accepted.seq
        self.accuse(end.accepted, f"{self.asked(question)} {what}", expected, *causes, shown=shown, first_wrong=wrong)


def is_notified(wire: RunWireSide, question: MarkedQuestion, before: int | None = None) -> bool:
    """Whether the asker of a question reads anything that may be about it: no answer, and no mere remark.

    A gateway that never got the question says nothing about it, whatever it says. `before`: up to this event only.
    """
    if not question.handed_out:
        return False
    for message in wire.notifying(question):
        if before is not None and message.accepted.seq >= before:
            break
        turn = wire.part_of(message)
        about = turn is None or was_taken_up(wire, question, before=turn.event.seq)
        if about and not replies_to_another(wire, question, message):
            return True
    return False


def replies_to_another(wire: RunWireSide, question: MarkedQuestion, message: BotMessage) -> bool:
    """Whether a message replies to another question that waits, and that no turn had in its prompt with this one."""
    replied = [other.mark for other in wire.open_for_reply(message) if other is not question]
    return bool(replied) and not any({*replied} <= set(turn.body.marks) for turn in wire.turns_about(question))


def was_taken_up(wire: RunWireSide, question: MarkedQuestion, before: int) -> bool:
    """Whether the model was asked for a question before an event.

    What a model says in a turn of its own notifies nobody of a question that the gateway never had: one that drops what
    waits, and then resumes an older session with such a turn, does not know that there is a question.
    """
    return any(turn.event.seq < before for turn in wire.turns_about(question))


class NothingUnasked(WholeRunChecker):
    """X6: Nothing unasked.

    Each message of the gateway answers a question of the run, notifies an asker of what became of one, or is among the
    texts that its profile names; no turn that nobody asked for is shown.
    """

    only_at_the_end = "judged at the end: a message may still be edited into an answer"

    def on_accepted(self, _event: Event, _body: WireAccepted) -> None:
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
        waiting = chain(self.wire.in_doubt_at(message.address, seq), self.wire.open_at(message.address, seq))
        if turn is None or any(True for _ in waiting):
            known = self.wire.remarked(message.text) or any(self.wire.notified(shown.text) for shown in message.texts)
            if known:
                return True
        if self.wire.messages.own_words:
            # What it says by rules of its own, without the mark: somebody has to have asked something there.
            return any(True for _ in self.wire.asked_at(message.address, seq))
        about = chain(self._asked_about(message), self.wire.in_doubt_for(message))
        return any(turn is None or was_taken_up(self.wire, question, before=turn.event.seq) for question in about)

    def _asked_about(self, message: BotMessage) -> Iterator[MarkedQuestion]:
        """The open questions that a message is about: as a reply, of a command, after trouble, or shown for a while."""
        place, seq = message.address, message.accepted.seq
        if message.deleted is not None:
            return self.wire.open_at(place, seq)
        commands, struck = self.wire.open_commands(place, seq), self.wire.open_in_trouble(place, seq)
        return chain(self.wire.open_for_reply(message), commands, struck)

    def _report(self, message: BotMessage, what: str) -> None:
        turn = self.wire.part_of(message)
        asked = () if turn is None else (turn.event,)
        summary = f"{short(message.text)} appears in {self.place(message.address)}: {what}"
        expected, shown = "an answer to a question of this run, or a known notice", short(message.text)
        self.accuse(message.accepted, summary, expected, *asked, shown=[f"{when(message)}: {shown}"])
