"""The facts of a run of which only the wire is known: questions and their answers, turns, requests, troubles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from trunkline.core.events import Event
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind
from trunkline.sim.events.attach import GatewayAttached, GatewayExited, GatewayReady
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.script import FaultFired, RunPhase
from trunkline.sim.events.wire import WireCalled, WireRefused, WireResponded, WireResponseLost
from trunkline.sim.events.world import (
    PeerSaid,
    PlatformConfirmed,
    PlatformPushed,
    ThreadClosed,
    ThreadOpened,
    ThreadReopened,
)
from trunkline.sim.index.answer_parts import PART, ModelTurn, turns_of_part
from trunkline.sim.index.bot_messages import BotMessage, BotMessages, letters
from trunkline.sim.index.known_texts import KnownTexts
from trunkline.sim.index.marks import answers_in, questions_in
from trunkline.sim.index.projection import Handle, Handlers, Projection, on

Lane = tuple[str, str, str, str]
#: seconds that a gateway has to read a response and to write down what it says
TO_READ = 1.0
#: refusals after which the same request may be made again
PASSING = frozenset({Reason.RATE_LIMITED, Reason.PLATFORM_ERROR, Reason.NOT_SENT})


@dataclass(slots=True)
class MarkedQuestion:
    """A message of a person with a mark."""

    mark: str
    event: Event
    body: PeerSaid
    #: it was handed out to the gateway, or the gateway confirmed it
    handed_out: bool = False
    #: the event by which it was handed out first
    first_handed_out: int | None = None
    #: the gateway had the platform discard it, instead of reading it
    dropped: bool = False
    #: a fault lost it on its way to the gateway
    lost: bool = False
    #: nobody was connected when it was asked
    unheard: bool = False

    @property
    def place(self) -> Address:
        """The place of the question."""
        return self.body.address


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A request that the platform refused, and when the gateway has heard of it."""

    event: Event
    body: WireRefused
    called: Event
    request: WireCalled


@dataclass(slots=True)
class RunWireSide(Projection):
    """The facts that checkers of the wire side look up about the run so far."""

    attached: GatewayAttached | None = None
    messages: BotMessages = field(default_factory=BotMessages)
    #: mark -> its question, in order
    questions: dict[str, MarkedQuestion] = field(default_factory=dict[str, MarkedQuestion])
    turns: list[ModelTurn] = field(default_factory=list[ModelTurn])
    refusals: list[RefusedCall] = field(default_factory=list[RefusedCall])
    #: what may keep a gateway from answering: faults, ends of processes, failures, refusals; and from when it goes on
    troubles: list[Event] = field(default_factory=list[Event])
    #: ends and freezes of processes
    interruptions: list[Event] = field(default_factory=list[Event])
    ready: list[Event] = field(default_factory=list[Event])
    #: the process runs, and has been connected
    connected: bool = False
    #: seq of a request -> when its response was written
    responded: dict[int, Event] = field(default_factory=dict[int, Event])
    #: the run has come to rest: nothing was expected any more
    rested: bool = False
    _called: dict[int, Event] = field(default_factory=dict[int, Event])
    _asked: dict[int, ModelTurn] = field(default_factory=dict[int, ModelTurn])
    #: mark -> the turns that had its question in their prompt
    _turns_about: dict[str, list[ModelTurn]] = field(default_factory=dict[str, list[ModelTurn]])
    _said: dict[int, MarkedQuestion] = field(default_factory=dict[int, MarkedQuestion])
    #: place -> the event since which it is gone
    _gone: dict[Lane, Event] = field(default_factory=dict[Lane, Event])
    #: secret words -> the messages with them
    secrets: dict[str, list[Event]] = field(default_factory=dict[str, list[Event]])
    #: thread -> the message on which it was opened
    _opened_on: dict[Lane, str] = field(default_factory=dict[Lane, str])
    _notices: KnownTexts = field(default_factory=KnownTexts)
    _remarks: KnownTexts = field(default_factory=KnownTexts)

    def handlers(self) -> Handlers:
        """The handlers of the wire side and of its messages."""
        own: dict[type, Handle] = dict(Projection.handlers(self))
        return {**own, **self.messages.handlers()}

    # ------------------------------------------------------------ questions

    def notified(self, text: str) -> bool:
        """Whether a text is a known notice about the state of a question."""
        return self._notices.have(text)

    def remarked(self, text: str) -> bool:
        """Whether a text is known to say nothing about a question, such as a hint."""
        return self._remarks.have(text)

    def answers(self, question: MarkedQuestion) -> Sequence[BotMessage]:
        """The messages that showed an answer to a question at any time."""
        return self.messages.answering(question.mark)

    def in_place(self, question: MarkedQuestion, where: Address) -> bool:
        """Whether a place is that of a question, or a thread that hangs on its message."""
        return self.hangs_on(question.body, where)

    def hangs_on(self, said: PeerSaid, where: Address) -> bool:
        """Whether a place is that of a message of a person, or a thread that hangs on the message."""
        place = said.address
        if where.lane == place.lane:
            return True
        if (where.channel, where.account) != (place.channel, place.account):
            return False
        above = where.conversation if where.thread else where.parent
        on = self._opened_on.get(where.lane)
        return above == place.conversation and said.message_id in (on, where.thread, where.conversation)

    def shares(self, secret: str, where: Address) -> bool:
        """Whether who reads a place has read secret words: they were said there, or in the message that it hangs on."""
        bodies = (said.body for said in self.secrets[secret])
        return any(self.hangs_on(body, where) for body in bodies if isinstance(body, PeerSaid))

    def read_by(self, refusal: RefusedCall, event: Event) -> Event | None:
        """The response to a request that was refused, if the gateway has read it before an event.

        A process that is killed a moment after it may have read nothing, and the next one cannot know.
        """
        responded = self.responded.get(refusal.called.seq)
        if responded is None:
            return None
        killed = (interruption for interruption in self.interruptions if isinstance(interruption.body, ProcessCrashed))
        unread = any(responded.seq < crash.seq < event.seq and crash.at - responded.at < TO_READ for crash in killed)
        return None if unread else responded

    def concerns(self, question: MarkedQuestion, where: Address) -> bool:
        """Whether the asker of a question reads a place: it is the place of the question.

        Of a question whose place is gone, also in the conversation of that place, or alone with the gateway.
        """
        place = question.place
        if self.in_place(question, where):
            return True
        if (where.channel, where.account) != (place.channel, place.account) or self.gone_since(place) is None:
            return False
        if where.kind is ChatKind.DIRECT:
            return where.conversation == question.body.peer.id
        return where.conversation in (place.conversation, place.parent)

    def gone_since(self, place: Address) -> Event | None:
        """The event since which a place is gone, if it is: what accepts a message is not."""
        gone = self._gone.get(place.lane)
        accepts = (message.accepted.seq for message in self.messages.all if message.address.lane == place.lane)
        return None if gone is None or any(gone.seq < seq for seq in accepts) else gone

    def _is_gone(self, event: Event, place: Address) -> None:
        if self.gone_since(place) is None:
            self._gone[place.lane] = event

    def answered_by_model(self, question: MarkedQuestion) -> bool:
        """Whether its asker reads the answer of a turn that had it in its prompt, even if the model passed over it."""
        for turn in self.turns_about(question):
            marks = set(answers_in(turn.answer))
            for message in self.messages.after(turn.event.seq) if marks else ():
                if (
                    message.deleted is None
                    and marks & set(answers_in(message.text))
                    and self.concerns(question, message.address)
                ):
                    return True
        return False

    def turns_about(self, question: MarkedQuestion) -> Sequence[ModelTurn]:
        """The turns that had a question in their prompt, in order."""
        return self._turns_about.get(question.mark, ())

    def part_of(self, message: BotMessage) -> ModelTurn | None:
        """The turn of whose answer a message without a mark is a part, or all of it if nobody asked."""
        return next(self.parts_of(message), None)

    def parts_of(self, message: BotMessage) -> Iterator[ModelTurn]:
        """The turns of whose answers a message without a mark may be a part, in order: some have the same words."""
        return turns_of_part(self.turns, self.messages.all, message)

    def strayed_from(self, message: BotMessage) -> MarkedQuestion | None:
        """The question of whose answer a message without a mark is a part, if no such question is of its place."""
        known = self.notified(message.text) or self.remarked(message.text)
        if known or any(shown.marks for shown in message.texts) or len(letters(message.text)) < PART:
            return None
        marks = dict.fromkeys(mark for turn in self.parts_of(message) for mark in turn.body.marks)
        asked = [self.questions[mark] for mark in marks if mark in self.questions]
        return None if any(self.in_place(question, message.address) for question in asked) else next(iter(asked), None)

    def open_at(self, place: Address, seq: int) -> Iterator[MarkedQuestion]:
        """The questions that a place concerns, that were asked before an event, and not answered by then."""
        first_shown = self.messages.first_shown
        for question in self.questions.values():
            if question.event.seq >= seq:
                break
            shown = first_shown.get(question.mark)
            if (shown is None or shown >= seq) and self.concerns(question, place):
                yield question

    def in_doubt_at(self, place: Address, seq: int) -> Iterator[MarkedQuestion]:
        """The questions that a place concerns, and of whose answer the gateway cannot know whether people see it.

        It was accepted before an event, and no response to it was written.
        """
        for question in self.questions.values():
            sent = [accept.accepted for accept in self.answers(question) if accept.accepted.seq < seq]
            if (
                sent
                and not any((accept.cause or 0) in self.responded for accept in sent)
                and self.concerns(question, place)
            ):
                yield question

    def trouble_for(self, question: MarkedQuestion, before: int) -> Event | None:
        """The trouble after a question and before an event that may have kept the gateway from answering.

        A request refused for good, a lost response and a closed thread count in the places that concern it. Faults,
        ends of processes, failures of the model and limits may strike every place.
        """
        after = question.event.seq
        return next(
            (trouble for trouble in self.troubles if after < trouble.seq < before and self._strikes(trouble, question)),
            None,
        )

    def _strikes(self, trouble: Event, question: MarkedQuestion) -> bool:
        body = trouble.body
        if isinstance(body, WireRefused) and body.reason in PASSING:
            return True
        if not isinstance(body, WireRefused | WireResponseLost | ThreadClosed):
            return True
        called = self._called.get(trouble.cause or 0)
        text = called.body.text if called is not None and isinstance(called.body, WireCalled) else ""
        answers_it = any(mark.question == question.mark for mark in answers_in(text))
        return answers_it or self.concerns(question, body.address)

    # ------------------------------------------------------------ what happens

    @on(GatewayAttached)
    def _attached(self, _event: Event, body: GatewayAttached) -> None:
        self.attached = body
        self._notices, self._remarks = KnownTexts(body.notices), KnownTexts(body.remarks)

    @on(PeerSaid)
    def _peer_said(self, event: Event, body: PeerSaid) -> None:
        if body.secret:
            self.secrets.setdefault(body.secret, []).append(event)
        if body.echo_of is not None:
            return
        for mark in questions_in(body.text):
            if mark not in self.questions:
                asked = MarkedQuestion(mark, event, body, unheard=not self.connected)
                self.questions[mark] = self._said[event.seq] = asked

    @on(PlatformPushed, PlatformConfirmed)
    def _handed_out(self, event: Event, body: PlatformPushed | PlatformConfirmed) -> None:
        question = self._said.get(event.cause or 0)
        if question is not None and isinstance(body, PlatformConfirmed) and body.dropped:
            # Whatever was handed out of it before was never confirmed.
            question.dropped, question.handed_out = True, False
        elif question is not None:
            question.dropped, question.handed_out = False, True
            if question.first_handed_out is None:
                question.first_handed_out = event.seq

    @on(WireCalled)
    def _arrived(self, event: Event, _body: WireCalled) -> None:
        self._called[event.seq] = event

    @on(WireResponded)
    def _response(self, event: Event, _body: WireResponded) -> None:
        if event.cause is not None:
            self.responded[event.cause] = event

    @on(WireRefused)
    def _refused(self, event: Event, body: WireRefused) -> None:
        self.troubles.append(event)
        if body.reason is Reason.PLACE_GONE:
            self._is_gone(event, body.address)
        called = self._called.get(event.cause or 0)
        if called is not None and isinstance(called.body, WireCalled):
            self.refusals.append(RefusedCall(event, body, called, called.body))

    @on(ModelAsked)
    def _model_asked(self, event: Event, body: ModelAsked) -> None:
        if not body.beside:
            self._asked[event.seq] = turn = ModelTurn(event, body)
            self.turns.append(turn)
            for mark in dict.fromkeys(body.marks):
                self._turns_about.setdefault(mark, []).append(turn)

    @on(ModelAnswered)
    def _model_answered(self, event: Event, body: ModelAnswered) -> None:
        turn = self._asked.get(event.cause or 0)
        if turn is not None:
            turn.answered = event
            asked = turn.body.marks
            self.messages.misled |= {mark for mark in answers_in(body.text) if mark.question not in asked}
        if body.status != 200:
            self.troubles.append(event)

    @on(FaultFired, WireResponseLost)
    def _struck(self, event: Event, body: FaultFired | WireResponseLost) -> None:
        self.troubles.append(event)
        if isinstance(body, FaultFired) and body.fault == "push/drop":
            asked = self.questions.values()
            struck = [lost for lost in asked if lost.body.text == body.detail and not lost.handed_out]
            for question in struck[-1:]:
                question.lost = True

    @on(ProcessCrashed, ProcessStopped, ProcessFrozen, GatewayExited)
    def _interrupted(
        self, event: Event, _body: ProcessCrashed | ProcessStopped | ProcessFrozen | GatewayExited
    ) -> None:
        self.troubles.append(event)
        self.interruptions.append(event)
        self.connected = False

    @on(GatewayReady, ProcessThawed)
    def _goes_on(self, event: Event, _body: GatewayReady | ProcessThawed) -> None:
        self.ready.append(event)
        self.connected = True

    @on(ThreadClosed)
    def _closed(self, event: Event, body: ThreadClosed) -> None:
        self._is_gone(event, body.address)
        self.troubles.append(event)

    @on(ThreadReopened)
    def _reopened(self, _event: Event, body: ThreadReopened) -> None:
        self._gone.pop(body.address.lane, None)

    @on(ThreadOpened)
    def _opened(self, _event: Event, body: ThreadOpened) -> None:
        if body.on_message is not None:
            self._opened_on[body.address.lane] = body.on_message

    @on(RunPhase)
    def _phase(self, _event: Event, body: RunPhase) -> None:
        self.rested = self.rested or body.phase == "rest"
