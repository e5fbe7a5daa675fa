"""Where answers and private words appear, in which order, and requests that wait: X2, X3, X7 to X10."""

from collections.abc import Hashable, Iterator
from itertools import pairwise

from trunkline.core.events import Event
from trunkline.core.reasons import Reason
from trunkline.sim.events import model, wire, world
from trunkline.sim.events.wire import WireAccepted, WireEdited, WireRefused
from trunkline.sim.index.answer_parts import PART, ModelTurn
from trunkline.sim.index.bot_messages import BotMessage, accepted_after, accepted_at, letters
from trunkline.sim.index.marks import answers_in, nudged_mark, questions_in
from trunkline.sim.index.wire_side import PASSING, Lane, MarkedQuestion, RefusedCall, RunWireSide
from trunkline.sim.invariants.base import EvidenceKind
from trunkline.sim.invariants.wire_side.base import WireSideChecker, short, when


class AnsweredInPlace(WireSideChecker):
    """X2: In the place of its question.

    An answer is in the place of its question: chat, thread and account, or a thread on the question itself. What
    becomes of an answer whose place is gone is the business of X3.
    """

    evidence = EvidenceKind.MISPLACED

    def on_shown(self, event: Event, body: WireAccepted | WireEdited) -> None:
        message = self.wire.messages.shown_by(event)
        if message is None:
            return
        for mark in message.marks:
            question = self.wire.questions.get(mark.question)
            if question is None or mark.question in _marks_before(message):
                continue
            in_place = self.wire.hangs_on(question.body, message.address)
            if in_place or self.wire.gone_since(question.place) is None:
                self.exercised += 1
            if not in_place and self.wire.gone_since(question.place) is None:
                self._elsewhere(event, "the answer", question, message, body.text)

    def finish(self, last: Event) -> None:
        for message, question in _strays(self.wire):
            if not _was_gone(self.wire, question, message):
                self.exercised += 1
                self._elsewhere(message.accepted, "a part of the answer", question, message, message.text)

    def _elsewhere(self, event: Event, what: str, question: MarkedQuestion, message: BotMessage, text: str) -> None:
        where = self.place(message.address)
        summary, shown = f"{what} to {self.asked(question)} appears in {where}", [f"in {where}: {short(text)}"]
        self.accuse(event, summary, f"in {self.place(question.place)}", question.event, shown=shown)


class NothingNextDoor(WireSideChecker):
    """X3: Nothing of a thread next door.

    When a thread or a chat is deleted, locked or refused, neither the answers to its questions nor the questions
    themselves appear in its parent or anywhere else.
    """

    evidence = EvidenceKind.MISPLACED

    #: questions whose place was gone before they were answered
    _homeless: set[str] = set()

    def on_gone(self, event: Event, body: world.ThreadClosed | WireRefused | world.PeerSaid) -> None:
        gone = self.wire.gone_since(body.address)
        if gone is None:
            return
        for question in self.wire.open_at(body.address, event.seq + 1):
            if question.place.lane == body.address.lane and question.mark not in self._homeless:
                self._homeless.add(question.mark)
                self.exercised += 1

    def on_shown(self, event: Event, body: WireAccepted | WireEdited) -> None:
        message = self.wire.messages.shown_by(event)
        if message is None:
            return
        for mark in dict.fromkeys((*(answer_mark.question for answer_mark in message.marks), *questions_in(body.text))):
            question = self.wire.questions.get(mark)
            gone = None if question is None else self.wire.gone_since(question.place)
            if question is None or gone is None or self.wire.hangs_on(question.body, message.address):
                continue
            if mark in _marks_before(message):
                continue
            what = f"what belongs to {self.asked(question)}"
            self._next_door(event, what, (question.event, gone), message, body.text)

    def finish(self, last: Event) -> None:
        for message, question in _strays(self.wire):
            gone = _was_gone(self.wire, question, message)
            if gone is not None:
                what = f"a part of the answer to {self.asked(question)}"
                self._next_door(message.accepted, what, (question.event, gone), message, message.text)

    def _next_door(self, event: Event, what: str, since: tuple[Event, Event], message: BotMessage, text: str) -> None:
        """`since`: the question, and the event since which its place was gone."""
        where = self.place(message.address)
        summary = f"{what} appears in {where}, {event.at - since[1].at:.1f} s after its place was gone"
        expected = "nothing of it in another place; at most a notice without its content"
        self.accuse(event, summary, expected, *since, shown=[f"in {where}: {short(text)}"])


class InOrder(WireSideChecker):
    """X9: Answers in order.

    The answers in a place come in the order in which their questions reached the gateway.
    """

    def _counts(self, mark: str) -> bool:
        """Whether a question has a place in the order: what an asker wrote because nothing came has none."""
        return nudged_mark(mark) not in self.wire.questions

    def on_said(self, event: Event, body: world.PeerSaid) -> None:
        waiting = (
            earlier for earlier in self.wire.open_at(body.address, event.seq) if earlier.place.lane == body.address.lane
        )
        if any(map(self._counts, questions_in(body.text))) and any(waiting):
            self.exercised += 1

    def on_shown(self, event: Event, body: WireAccepted | WireEdited) -> None:
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
                summary = f"{self.asked(question)} is answered after {other.mark}, which came after it"
                expected = f"the answer to {question.mark} before that to {other.mark}"
                causes, shown = (question.event, other.event), [f"{when(answered)}, then {when(message)}"]
                above = answered.accepted
                self.accuse(event, summary, expected, *causes, above, shown=shown, first_wrong=above.seq)

    def _answered_before(self, question: MarkedQuestion, event: Event) -> bool:
        shown = (text for message in self.wire.answers(question) for text in message.ever(question.mark))
        return any(text.event.seq < event.seq for text in shown)

    def _later_answer(
        self, question: MarkedQuestion, event: Event, message: BotMessage
    ) -> tuple[MarkedQuestion, BotMessage] | None:
        """A question of the same place that was asked later and is answered already, further up in the place."""
        for other in self.wire.overtaking(question):
            for answer in self.wire.answers(other) if self._counts(other.mark) else ():
                first, above = next(answer.ever(other.mark)), answer.accepted.seq < message.accepted.seq
                if first.event.seq < event.seq and above and answer.address.lane == question.place.lane:
                    return other, answer
        return None

    def finish(self, last: Event) -> None:
        for turn in self.wire.said.turns:
            question = self.wire.questions.get(turn.last)
            if question is not None:
                self._judge_parts(question, turn)

    def _judge_parts(self, question: MarkedQuestion, turn: ModelTurn) -> None:
        """Whether the parts of an answer stand in its order."""
        whole, own = letters(turn.answer), set(answers_in(turn.answer))
        found: list[tuple[BotMessage, str, int]] = []
        for text, messages in self.wire.standing().parts_of(turn, question.place.lane).items():
            later = accepted_after(messages, turn.event.seq)
            belonging = (message for message in later if len(text) >= PART or own & set(message.marks))
            first = next(belonging, None)
            if first is not None and whole.count(text) == 1:
                found.append((first, text, whole.find(text)))
        for (above, _, at), (below, text, position) in pairwise(sorted(found, key=lambda part: accepted_at(part[0]))):
            if position + len(text) <= at:
                summary = f"the parts of the answer to {self.asked(question)} are in another order"
                expected = f"{short(below.text)} before {short(above.text)}"
                shown = f"{when(above)}, then {when(below)}"
                causes, wrong = (question.event, above.accepted), above.accepted.seq
                self.accuse(below.accepted, summary, expected, *causes, shown=[shown], first_wrong=wrong)


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


class SecretsStay(WireSideChecker):
    """X8: Words stay in their place.

    Private words of one place are never in the prompt of a turn of another place, nor in a message elsewhere.
    """

    def on_asked(self, event: Event, body: model.ModelAsked) -> None:
        question = self.wire.questions.get(body.marks[-1]) if body.marks else None
        if question is None:
            return
        for secret, said in self.wire.secrets.items():
            if self.wire.shares(secret, question.place):
                continue
            self.exercised += 1
            if secret in body.secrets:
                first = said[0]
                summary = f"private words of #{first.seq} are in the prompt for {self.asked(question)}"
                expected = "nothing in the prompt that was said in private elsewhere"
                shown = [f"words of #{first.seq} in the prompt of #{event.seq}"]
                self.accuse(event, summary, expected, first, question.event, shown=shown)

    def on_shown(self, event: Event, body: WireAccepted | WireEdited) -> None:
        message = self.wire.messages.changed_by(event)
        # An edit on Telegram names no topic: the message has its place from its acceptance.
        where = body.address if message is None else message.address
        for secret, said in self.wire.secrets.items():
            if secret in body.text.replace("\\", "") and not self.wire.shares(secret, where):
                first = said[0]
                self.exercised += 1
                summary = f"private words of #{first.seq} appear in {self.place(where)}"
                shown = [f"a message with words of #{first.seq} in {self.place(where)}"]
                self.accuse(event, summary, "nothing of them in another place", first, shown=shown)


#: seconds for requests that were on their way when the refusal was written, and for clocks that differ
_ON_THE_WAY, _CLOCK = 0.1, 0.05
#: refusals that another token, or nothing at all, may follow
_NOT_FOR_GOOD = PASSING | {Reason.UNAUTHORIZED, Reason.PLACE_CLOSED}
#: platforms that limit each method by itself
_EACH_METHOD = frozenset({"discord", "slack"})
#: the sign of a limit that holds for the whole account
_GLOBAL = "global"


class WaitsHonoured(WireSideChecker):
    """X7: Waits are honoured.

    After a refusal that asks for a wait, no send and no change goes to that chat, or for a limit of the account to any
    of its chats, before the wait is over.
    """

    #: refusals that ask for a wait which is not known to be over
    _waits: list[RefusedCall] = []

    def on_refused(self, event: Event, body: wire.WireRefused) -> None:
        self.exercised += body.retry_after is not None
        refusal = self.wire.refusal_by(event)
        if refusal is not None and body.retry_after is not None:
            self._waits.append(refusal)

    def _is_over(self, refusal: RefusedCall, at: float) -> bool:
        responded = self.wire.responded.get(refusal.called.seq)
        return responded is not None and at >= responded.at + (refusal.body.retry_after or 0.0)

    def on_called(self, event: Event, body: wire.WireCalled) -> None:
        if body.address is None or body.what not in ("send", "act"):
            return
        self._waits = [refusal for refusal in self._waits if not self._is_over(refusal, event.at)]
        for refusal in self._waits:
            wait, read = refusal.body.retry_after, self.wire.read_by(refusal, event)
            if wait is None or read is None or not self._holds_for(refusal, body):
                continue
            # The refused request itself, made again, was not on its way.
            heard, on_its_way = read.at, 0.0 if _content(refusal.request) == _content(body) else _ON_THE_WAY
            if heard + on_its_way <= event.at < heard + wait - _CLOCK:
                after = f"{event.at - heard:.1f} s after a refusal that asks to wait for {wait:g} s"
                summary = f"{self.place(body.address)} is sent to {after}"
                expected = f"nothing before {heard + wait:.1f} s"
                shown = [f"{body.method} at {event.at:.1f} s: {short(body.text)}"]
                self.accuse(event, summary, expected, refusal.called, refusal.event, shown=shown)
                return

    def _holds_for(self, refusal: RefusedCall, body: wire.WireCalled) -> bool:
        there, here = refusal.body.address, body.address
        if here is None or (there.channel, there.account) != (here.channel, here.account):
            return False
        if _GLOBAL in refusal.body.detail.casefold():
            return True
        limited = there.channel not in _EACH_METHOD or refusal.request.method == body.method
        return limited and there.conversation == here.conversation


class RefusedIsNotRepeated(WireSideChecker):
    """X10: Refused for good is final.

    What a platform refused for good is not sent again unchanged to the same place.
    """

    #: refusals for good that still hold, by what was asked for
    _final: dict[Hashable, list[RefusedCall]] = {}
    #: the same by their places; apart: those of answers
    _at: dict[tuple[Lane, bool], list[RefusedCall]] = {}

    def on_refused(self, event: Event, body: wire.WireRefused) -> None:
        refusal = self.wire.refusal_by(event)
        if refusal is None or refusal.request.what != "send" or body.reason in _NOT_FOR_GOOD:
            return
        self.exercised += 1
        self._final.setdefault(_content(refusal.request), []).append(refusal)
        self._at.setdefault((body.address.lane, bool(answers_in(refusal.request.text))), []).append(refusal)

    def on_there_again(self, _event: Event, body: world.ThreadReopened | world.ThreadOpened) -> None:
        self._forget(body.address.lane, answer=True)
        self._forget(body.address.lane, answer=False)

    def on_said(self, _event: Event, body: world.PeerSaid) -> None:
        """The same notice about another message is no repeat."""
        self._forget(body.address.lane, answer=False)

    def _forget(self, lane: Lane, *, answer: bool) -> None:
        for refusal in self._at.pop((lane, answer), ()):
            self._final[_content(refusal.request)].remove(refusal)

    def on_called(self, event: Event, body: wire.WireCalled) -> None:
        if body.what != "send" or body.address is None:
            return
        for refusal in self._final.get(_content(body), ()):
            responded = self.wire.read_by(refusal, event)
            if responded is not None:
                after = f"{event.at - responded.at:.1f} s after it was refused for good"
                summary = f"{short(body.text)} is sent to {self.place(body.address)} again, {after}"
                why = refusal.body.detail or refusal.body.reason.value
                shown = [f"refused at #{refusal.event.seq} ({why}), sent again at #{event.seq}"]
                self.accuse(event, summary, "no repeat of it", refusal.called, refusal.event, shown=shown)
                return


def _content(body: wire.WireCalled) -> Hashable:
    """Place, method and words of a request."""
    return None if body.address is None else body.address.lane, body.method, body.text, body.digest
