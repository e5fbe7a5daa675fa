"""The facts of a run of which only the wire is known: questions and their answers, turns, requests, troubles."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import chain, islice
from operator import attrgetter

import msgspec

from trunkline.core.events import Event
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind
from trunkline.sim.events import attach, model, processes, script, wire, world
from trunkline.sim.index.answer_parts import CUT, PART, ModelAnswers, ModelTurn, StandingMessages
from trunkline.sim.index.asked_places import AskedPlaces, Lane, Near
from trunkline.sim.index.bot_messages import BotMessage, BotMessages, accepted_after, accepted_at, letters
from trunkline.sim.index.known_texts import KnownTexts
from trunkline.sim.index.marks import answers_in, nudged_mark, questions_in
from trunkline.sim.index.projection import Handle, Handlers, Projection, on

#: seconds that a gateway has to read a response and to write down what it says
TO_READ = 1.0
#: refusals after which the same request may be made again
PASSING = frozenset({Reason.RATE_LIMITED, Reason.PLATFORM_ERROR, Reason.NOT_SENT})
INTERRUPTIONS = (processes.ProcessCrashed, processes.ProcessStopped, processes.ProcessFrozen, attach.GatewayExited)
_seq, _number, _refused_at = attrgetter("seq"), attrgetter("number"), attrgetter("event.seq")


class MarkedQuestion(msgspec.Struct):
    """A message of a person with a mark."""

    mark: str
    event: Event
    body: world.PeerSaid
    #: its number among all questions
    number: int
    #: it was handed out to the gateway, or the gateway confirmed it
    handed_out: bool = False
    #: the event by which it was handed out first
    first_handed_out: int | None = None
    #: the event by which it was handed out or confirmed last
    last_handed_out: Event | None = None
    #: the gateway had the platform discard it, instead of reading it
    dropped: bool = False
    #: a fault lost it on its way to the gateway
    lost: bool = False
    #: nobody was connected when it was asked
    unheard: bool = False

    @property
    def place(self) -> Address:
        return self.body.address

    @property
    def reached(self) -> int:
        """When it reached the gateway: of one that the platform hands out late, that is what counts."""
        return self.first_handed_out or self.event.seq

    @property
    def near(self) -> set[Near]:
        """Keys of the places that the asker may read; see `RunWireSide.concerns`."""
        place = self.place
        ids = {place.conversation, place.parent, self.body.peer.id}
        return {(place.channel, place.account, name) for name in ids if name is not None}


def near_place(place: Address) -> set[Near]:
    """Keys of the questions that a place may concern."""
    ids = {place.conversation, place.parent}
    return {(place.channel, place.account, name) for name in ids if name is not None}


class RefusedCall(msgspec.Struct, frozen=True):
    """A request that the platform refused, and when the gateway has heard of it."""

    event: Event
    body: wire.WireRefused
    called: Event
    request: wire.WireCalled


@dataclass(slots=True)
class RunWireSide(Projection):
    """The facts that checkers of the wire side look up about the run so far."""

    attached: attach.GatewayAttached | None = None
    messages: BotMessages = field(default_factory=BotMessages)
    #: mark -> its question, in order
    questions: dict[str, MarkedQuestion] = field(default_factory=dict[str, MarkedQuestion])
    said: ModelAnswers = field(default_factory=ModelAnswers)
    refusals: list[RefusedCall] = field(default_factory=list[RefusedCall])
    #: what may keep a gateway from answering: faults, ends of processes, failures, refusals; and from when it goes on
    troubles: list[Event] = field(default_factory=list[Event])
    #: ends and freezes of processes
    interruptions: list[Event] = field(default_factory=list[Event])
    #: when the gateway was connected, or a fault struck, last
    began_again_at: float = float("-inf")
    #: the process runs, and has been connected
    connected: bool = False
    #: the gateway asked a model, or said what only a model says
    asks_model: bool = False
    #: seq of a request -> when its response was written
    responded: dict[int, Event] = field(default_factory=dict[int, Event])
    #: the run has come to rest: nothing was expected any more
    rested: bool = False
    _called: dict[int, Event] = field(default_factory=dict[int, Event])
    #: question -> the refusals of answers to it; place -> those of other texts
    _refused_answers: dict[str, list[RefusedCall]] = field(default_factory=dict[str, list[RefusedCall]])
    _refused_notices: dict[Address, list[RefusedCall]] = field(default_factory=dict[Address, list[RefusedCall]])
    #: question -> the requests with an answer to it
    _called_with: dict[str, list[Event]] = field(default_factory=dict[str, list[Event]])
    _asked: dict[int, ModelTurn] = field(default_factory=dict[int, ModelTurn])
    #: mark -> the turns that had its question in their prompt
    _turns_about: dict[str, list[ModelTurn]] = field(default_factory=dict[str, list[ModelTurn]])
    _said: dict[int, MarkedQuestion] = field(default_factory=dict[int, MarkedQuestion])
    #: the questions in order, by their places, and by their texts; and those by which an asker wrote once more
    _asked_in_order: list[MarkedQuestion] = field(default_factory=list[MarkedQuestion])
    _places: AskedPlaces = field(default_factory=AskedPlaces)
    _by_text: dict[str, list[MarkedQuestion]] = field(default_factory=dict[str, list[MarkedQuestion]])
    _nudges: list[MarkedQuestion] = field(default_factory=list[MarkedQuestion])
    #: shown questions that `_places` knows; messages of which nobody heard, and how many were looked at for that
    _shown: int = 0
    _unheard: list[BotMessage] = field(default_factory=list[BotMessage])
    _accepted: int = 0
    #: what `_find_doubted` found, and when
    _doubted: AskedPlaces = field(default_factory=AskedPlaces)
    _doubted_at: tuple[int, int, int] = (-1, -1, -1)
    #: places with messages, by what questions that they may concern have one of
    _near: dict[Near, list[Address]] = field(default_factory=dict[Near, list[Address]])
    _known_places: int = 0
    _standing: StandingMessages | None = None
    _notifying: tuple[tuple[int, int], dict[Address, list[BotMessage]]] = (-1, -1), {}
    #: the questions that are commands, and all by the ids of their messages
    _commands: list[MarkedQuestion] = field(default_factory=list[MarkedQuestion])
    _by_message: dict[str, list[MarkedQuestion]] = field(default_factory=dict[str, list[MarkedQuestion]])
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

    def notified(self, text: str) -> bool:
        """Whether a text is a known notice about the state of a question."""
        return self._notices.have(text)

    def remarked(self, text: str) -> bool:
        """Whether a text is known to say nothing about a question, such as a hint."""
        return self._remarks.have(text)

    def answers(self, question: MarkedQuestion) -> Sequence[BotMessage]:
        """The messages that showed an answer to a question at any time."""
        return self.messages.answering(question.mark)

    def nudge_for(self, question: MarkedQuestion) -> MarkedQuestion | None:
        """The message by which somebody wrote once more, because nothing came, where the asker of a question reads."""
        first = bisect_right(self._nudges, question.event.seq, key=lambda nudge: nudge.event.seq)
        for nudge in islice(self._nudges, first, None):
            waited = self.questions.get(nudged_mark(nudge.mark))
            if waited is question or (waited is not None and self.concerns(question, nudge.place)):
                return nudge
        return None

    def hangs_on(self, said: world.PeerSaid, where: Address) -> bool:
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
        return any(self.hangs_on(body, where) for body in bodies if isinstance(body, world.PeerSaid))

    def read_by(self, refusal: RefusedCall, event: Event) -> Event | None:
        """The response to a request that was refused, if the gateway has read it before an event.

        A process that is killed a moment after it may have read nothing, and the next one cannot know.
        """
        responded = self.responded.get(refusal.called.seq)
        if responded is None:
            return None
        after = between(self.interruptions, responded.seq, event.seq)
        crashes = (interruption for interruption in after if isinstance(interruption.body, processes.ProcessCrashed))
        return None if any(crash.at - responded.at < TO_READ for crash in crashes) else responded

    def refusal_by(self, event: Event) -> RefusedCall | None:
        """The refusal of a request by the newest event."""
        return self.refusals[-1] if self.refusals and self.refusals[-1].event is event else None

    def concerns(self, question: MarkedQuestion, where: Address) -> bool:
        """Whether the asker of a question reads a place: it is the place of the question.

        Of a question whose place is gone, also in the conversation of that place, or alone with the gateway.
        """
        place = question.place
        if self.hangs_on(question.body, where):
            return True
        if (where.channel, where.account) != (place.channel, place.account) or self.gone_since(place) is None:
            return False
        if where.kind is ChatKind.DIRECT:
            return where.conversation == question.body.peer.id
        return where.conversation in (place.conversation, place.parent)

    def gone_since(self, place: Address) -> Event | None:
        """The event since which a place is gone, if it is: what accepts a message is not."""
        gone = self._gone.get(place.lane)
        return None if gone is None or self.messages.accepted_since(gone, place) else gone

    def _is_gone(self, event: Event, place: Address) -> None:
        if self.gone_since(place) is None:
            self._gone[place.lane] = event

    def answered_by_model(self, question: MarkedQuestion) -> bool:
        """Whether its asker reads the answer of a turn that had it in its prompt, even if the model passed over it."""
        for turn in self.turns_about(question):
            messages = (message for mark in answers_in(turn.answer) for message in self.messages.with_mark(mark))
            for message in messages:
                later = message.accepted.seq > turn.event.seq and message.deleted is None
                if later and self.concerns(question, message.address):
                    return True
        return False

    def read_places(self, question: MarkedQuestion) -> Iterator[Address]:
        """The places with messages that the asker of a question reads."""
        known = len(self.messages.at)
        for place in islice(self.messages.at, self._known_places, known) if known > self._known_places else ():
            for key in near_place(place):
                self._near.setdefault(key, []).append(place)
        self._known_places = known
        places = dict.fromkeys(place for key in question.near for place in self._near.get(key, ()))
        return (place for place in places if self.concerns(question, place))

    def pieces(self, question: MarkedQuestion, after: int) -> Iterator[BotMessage]:
        """The messages without a mark after an event that are parts of answers to a question, where its asker reads."""
        turns = [turn for turn in self.turns_about(question) if turn.answer]
        cut = any(turn.answer.endswith(CUT) for turn in turns)
        for message in merge(*(self._unmarked(place, after) for place in self.read_places(question)), key=accepted_at):
            text, seq = letters(message.text), message.accepted.seq
            if any(text and turn.event.seq < seq and text in letters(turn.answer) for turn in turns) or (
                cut and any(question.mark in turn.body.marks for turn in self.parts_of(message))
            ):
                yield message

    def _unmarked(self, place: Address, after: int) -> Iterator[BotMessage]:
        found = accepted_after(self.messages.at[place], after)
        return (message for message in found if message.deleted is None and not message.marks)

    def turns_about(self, question: MarkedQuestion) -> Sequence[ModelTurn]:
        """The turns that had a question in their prompt, in order."""
        return self._turns_about.get(question.mark, ())

    def part_of(self, message: BotMessage) -> ModelTurn | None:
        """The turn of whose answer a message without a mark is a part, or all of it if nobody asked."""
        return next(self.parts_of(message), None)

    def parts_of(self, message: BotMessage) -> Iterator[ModelTurn]:
        """The turns of whose answers a message without a mark may be a part, in order: some have the same words."""
        return self.said.of(message, self.messages)

    def standing(self) -> StandingMessages:
        """The messages that people see now, by their words."""
        if self._standing is None or self._standing.changes != self.messages.changes:
            self._standing = StandingMessages(self.messages)
        return self._standing

    def strayed_from(self, message: BotMessage) -> MarkedQuestion | None:
        """The question of whose answer a message without a mark is a part, if no such question is of its place."""
        known = self.notified(message.text) or self.remarked(message.text)
        if known or any(shown.marks for shown in message.texts) or len(letters(message.text)) < PART:
            return None
        first: MarkedQuestion | None = None
        for mark in (mark for turn in self.parts_of(message) for mark in turn.body.marks):
            question = self.questions.get(mark)
            if question is not None and self.hangs_on(question.body, message.address):
                return None
            first = first or question
        return first

    def open_at(self, place: Address, seq: int) -> Iterator[MarkedQuestion]:
        """The questions that a place concerns, that were asked before an event, and not answered by then."""
        self._note_shown()
        questions = (self._asked_in_order[number] for number in self._places.open_near(near_place(place), seq))
        return (question for question in questions if self.concerns(question, place))

    def notifying(self, question: MarkedQuestion) -> Iterator[BotMessage]:
        """The messages that the asker reads after a question, and that may be about any: no answer and no remark."""
        now = self.messages.changes, self.said.changes
        if self._notifying[0] != now:
            found: dict[Address, list[BotMessage]] = {}
            for message in self.standing().all:
                if not message.marks and not self.remarked(message.text):
                    turn = self.part_of(message)
                    if turn is None or not turn.body.marks:
                        found.setdefault(message.address, []).append(message)
            self._notifying = now, found
        messages = (self._notifying[1].get(place, ()) for place in self.read_places(question))
        return merge(*(accepted_after(some, question.event.seq) for some in messages), key=accepted_at)

    def is_open(self, question: MarkedQuestion, place: Address, seq: int) -> bool:
        """Whether a question is one of `open_at`."""
        shown = self.messages.first_shown.get(question.mark)
        return question.event.seq < seq and (shown is None or shown >= seq) and self.concerns(question, place)

    def open_for_reply(self, message: BotMessage) -> Iterator[MarkedQuestion]:
        """The questions to whose message a message replies, if they are open then."""
        replied, seq = self._by_message.get(message.reply_to or "", ()), message.accepted.seq
        return (question for question in replied if self.is_open(question, message.address, seq))

    def open_commands(self, place: Address, seq: int) -> Iterator[MarkedQuestion]:
        """The commands among the open questions."""
        return (question for question in self._commands if self.is_open(question, place, seq))

    def open_in_trouble(self, place: Address, seq: int) -> Iterator[MarkedQuestion]:
        """The open questions that a trouble may have kept the gateway from answering."""
        return self._in_trouble(self.open_at(place, seq), seq)

    def _in_trouble(self, questions: Iterable[MarkedQuestion], seq: int) -> Iterator[MarkedQuestion]:
        for question in questions:
            if not any(True for _ in between(self.troubles, question.event.seq, seq)):
                return
            if self.trouble_for(question, seq) is not None:
                yield question

    def asked_at(self, place: Address, seq: int) -> Iterator[MarkedQuestion]:
        """The questions that a place concerns, and that were asked before an event."""
        questions = (self._asked_in_order[number] for number in self._places.asked_near(near_place(place), seq))
        return (question for question in questions if self.concerns(question, place))

    def overtaking(self, question: MarkedQuestion) -> Iterator[MarkedQuestion]:
        """The questions of the same place that reached the gateway later, and of which an answer was shown."""
        self._note_shown()
        found = self._places.shown_and_reached_after(question.place.lane, question.reached)
        return (self._asked_in_order[number] for number in found)

    def _note_shown(self) -> None:
        """Have the questions by their places know which of them an answer was shown to."""
        shown = self.messages.shown_questions
        for mark in shown[self._shown :]:
            question = self.questions.get(mark)
            if question is not None:
                self._places.show(question.number, question.near, self.messages.first_shown[mark])
                self._places.reach(question.number, question.place.lane, question.reached)
        self._shown = len(shown)

    def in_doubt_at(self, place: Address, seq: int) -> Iterator[MarkedQuestion]:
        """The questions that a place concerns, and of whose answer the gateway cannot know whether people see it.

        They were asked, and the answer was accepted, before an event, and no response to it was written.
        """
        now = self.messages.changes, len(self.responded), len(self.questions)
        if self._doubted_at != now:
            self._doubted_at, self._doubted = now, self._find_doubted()
        above = place.conversation if place.thread else place.parent
        on = (self._opened_on.get(place.lane), place.thread, place.conversation)
        hanging = ((place.channel, place.account, above or "", name) for name in on if name)
        found = self._doubted.open_near(dict.fromkeys((place.lane, *hanging, *self._gone)), seq)
        questions = (self._asked_in_order[number] for number in found)
        return (question for question in questions if self._is_in_doubt(question, place, seq))

    def in_doubt_for(self, message: BotMessage) -> Iterator[MarkedQuestion]:
        """The questions in doubt that a message may be about: by trouble, a reply, a command; all, if it is gone."""
        place, seq = message.address, message.accepted.seq
        if message.deleted is not None:
            return self.in_doubt_at(place, seq)
        named = (*self._by_message.get(message.reply_to or "", ()), *self._commands)
        doubted = (question for question in named if self._is_in_doubt(question, place, seq))
        return chain(self._in_trouble(self.in_doubt_at(place, seq), seq), doubted)

    def _is_in_doubt(self, question: MarkedQuestion, place: Address, seq: int) -> bool:
        sent = [answer for answer in self.answers(question) if accepted_at(answer) < seq]
        in_doubt = question.event.seq < seq and bool(sent) and not any(map(self._is_heard, sent))
        return in_doubt and self.concerns(question, place)

    def _find_doubted(self) -> AskedPlaces:
        """The questions that are in doubt at any time, by their places, until an answer that the gateway knows of."""
        new = self.messages.all[self._accepted :]
        self._accepted += len(new)
        self._unheard = [message for message in (*self._unheard, *new) if not self._is_heard(message)]
        marks = {mark.question for message in self._unheard for shown in message.texts for mark in shown.marks}
        places = AskedPlaces()
        for question in sorted((self.questions[mark] for mark in marks & self.questions.keys()), key=_number):
            heard = next((accepted_at(answer) for answer in self.answers(question) if self._is_heard(answer)), None)
            place, seq = question.place, question.event.seq
            keys = {place.lane, (place.channel, place.account, place.conversation, question.body.message_id)}
            places.ask(question.number, seq, keys, place.lane, heard)
        return places

    def _is_heard(self, message: BotMessage) -> bool:
        return (message.accepted.cause or 0) in self.responded

    def trouble_for(self, question: MarkedQuestion, before: int) -> Event | None:
        """The trouble after a question and before an event that may have kept the gateway from answering.

        A request refused for good, a lost response and a closed thread count in the places that concern it. Faults,
        ends of processes, failures of the model and limits may strike every place.
        """
        return next(self.troubles_of(question, before), None)

    def troubles_of(self, question: MarkedQuestion, before: int) -> Iterator[Event]:
        """All such troubles, in order."""
        troubles = between(self.troubles, question.event.seq, before)
        return (trouble for trouble in troubles if self.strikes(trouble, question))

    def refused_answers(self, question: MarkedQuestion, before: int) -> list[RefusedCall]:
        """The refusals of answers to a question between it and another event, in order."""
        return _refused_between(self._refused_answers.get(question.mark, []), question.event.seq, before)

    def refused_notices(self, question: MarkedQuestion, before: int) -> list[RefusedCall]:
        """The refusals of other texts where the asker of a question reads, between it and another event, in order."""
        places = (refusals for place, refusals in self._refused_notices.items() if self.concerns(question, place))
        return list(merge(*(_refused_between(some, question.event.seq, before) for some in places), key=_refused_at))

    def called_with_answer(self, question: MarkedQuestion, before: int) -> Iterator[Event]:
        """The requests with an answer to a question between it and another event, in order."""
        return between(self._called_with.get(question.mark, ()), question.event.seq, before)

    def strikes(self, trouble: Event, question: MarkedQuestion) -> bool:
        """Whether a trouble may have kept the gateway from answering a question; see `trouble_for`."""
        body = trouble.body
        if isinstance(body, wire.WireRefused) and body.reason in PASSING:
            return True
        if not isinstance(body, wire.WireRefused | wire.WireResponseLost | world.ThreadClosed):
            return True
        called = self._called.get(trouble.cause or 0)
        text = called.body.text if called is not None and isinstance(called.body, wire.WireCalled) else ""
        answers_it = any(mark.question == question.mark for mark in answers_in(text))
        return answers_it or self.concerns(question, body.address)

    def on_attached(self, _event: Event, body: attach.GatewayAttached) -> None:
        self.attached = body
        self._notices, self._remarks = KnownTexts(body.notices), KnownTexts(body.remarks)

    def on_peer_said(self, event: Event, body: world.PeerSaid) -> None:
        if body.secret:
            self.secrets.setdefault(body.secret, []).append(event)
        if body.echo_of is not None:
            return
        for mark in questions_in(body.text):
            if mark not in self.questions:
                number = len(self.questions)
                asked = MarkedQuestion(mark, event, body, number, unheard=not self.connected)
                self.questions[mark] = self._said[event.seq] = asked
                self._keep_question(asked)

    def _keep_question(self, asked: MarkedQuestion) -> None:
        self._asked_in_order.append(asked)
        self._by_text.setdefault(asked.body.text, []).append(asked)
        self._by_message.setdefault(asked.body.message_id, []).append(asked)
        if asked.body.text.startswith("/"):
            self._commands.append(asked)
        shown = self.messages.first_shown.get(asked.mark)
        self._places.ask(asked.number, asked.event.seq, asked.near, asked.place.lane, shown)
        if nudged_mark(asked.mark):
            self._nudges.append(asked)

    def on_handed_out(self, event: Event, body: world.PlatformPushed | world.PlatformConfirmed) -> None:
        question = self._said.get(event.cause or 0)
        if question is not None and isinstance(body, world.PlatformConfirmed) and body.dropped:
            # Whatever was handed out of it before was never confirmed.
            question.dropped, question.handed_out = True, False
        elif question is not None:
            question.dropped, question.handed_out = False, True
            question.last_handed_out = event
            if question.first_handed_out is None:
                question.first_handed_out = event.seq
                if question.mark in self.messages.first_shown:
                    self._places.reach(question.number, question.place.lane, event.seq)

    def on_arrived(self, event: Event, body: wire.WireCalled) -> None:
        self._called[event.seq] = event
        marks = answers_in(body.text)
        self.asks_model = self.asks_model or bool(marks)
        for name in dict.fromkeys(mark.question for mark in marks):
            self._called_with.setdefault(name, []).append(event)

    def on_response(self, event: Event, _body: wire.WireResponded) -> None:
        if event.cause is not None:
            self.responded[event.cause] = event

    def on_refused(self, event: Event, body: wire.WireRefused) -> None:
        self.troubles.append(event)
        if body.reason in wire.NO_PLACE:
            self._is_gone(event, body.address)
        called = self._called.get(event.cause or 0)
        if called is not None and isinstance(called.body, wire.WireCalled):
            refusal = RefusedCall(event, body, called, called.body)
            self.refusals.append(refusal)
            marks = answers_in(called.body.text)
            for name in dict.fromkeys(mark.question for mark in marks):
                self._refused_answers.setdefault(name, []).append(refusal)
            if called.body.what == "send" and not marks:
                self._refused_notices.setdefault(body.address, []).append(refusal)

    def on_model_asked(self, event: Event, body: model.ModelAsked) -> None:
        self.asks_model = True
        if not body.beside:
            self._asked[event.seq] = turn = ModelTurn(event, body)
            self.said.ask(turn)
            for mark in dict.fromkeys(body.marks):
                self._turns_about.setdefault(mark, []).append(turn)

    def on_model_answered(self, event: Event, body: model.ModelAnswered) -> None:
        turn = self._asked.get(event.cause or 0)
        if turn is not None:
            turn.answered = event
            self.said.answer(turn)
            asked = turn.body.marks
            self.messages.misled |= {mark for mark in answers_in(body.text) if mark.question not in asked}
        if body.status != 200:
            self.troubles.append(event)

    def on_struck(self, event: Event, body: script.FaultFired | wire.WireResponseLost) -> None:
        self.troubles.append(event)
        if isinstance(body, script.FaultFired):
            self.began_again_at = max(self.began_again_at, event.at)
            said = reversed(self._by_text.get(body.detail, ())) if body.fault == "push/drop" else ()
            question = next((question for question in said if not question.handed_out), None)
            if question is not None:
                question.lost = True

    @on(*INTERRUPTIONS)
    def _interrupted(
        self,
        event: Event,
        _body: processes.ProcessCrashed | processes.ProcessStopped | processes.ProcessFrozen | attach.GatewayExited,
    ) -> None:
        self.troubles.append(event)
        self.interruptions.append(event)
        self.connected = False

    def on_goes_on(self, event: Event, _body: attach.GatewayReady | processes.ProcessThawed) -> None:
        self.began_again_at = max(self.began_again_at, event.at)
        self.connected = True

    def on_closed(self, event: Event, body: world.ThreadClosed) -> None:
        self._is_gone(event, body.address)
        self.troubles.append(event)

    def on_reopened(self, _event: Event, body: world.ThreadReopened) -> None:
        self._gone.pop(body.address.lane, None)

    def on_opened(self, _event: Event, body: world.ThreadOpened) -> None:
        if body.on_message is not None:
            self._opened_on[body.address.lane] = body.on_message

    def on_phase(self, _event: Event, body: script.RunPhase) -> None:
        self.rested = self.rested or body.phase == "rest"


def _refused_between(refusals: list[RefusedCall], first: int, end: int) -> list[RefusedCall]:
    return refusals[bisect_right(refusals, first, key=_refused_at) : bisect_left(refusals, end, key=_refused_at)]


def between(events: Sequence[Event], first: int, end: int) -> Iterator[Event]:
    """The events of a list in order that come after an event and before another."""
    return islice(events, bisect_right(events, first, key=_seq), bisect_left(events, end, key=_seq))
