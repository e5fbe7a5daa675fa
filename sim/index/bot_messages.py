"""The messages of a gateway that people see, with every text that each had: of runs known by their wire only."""

import html
import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

import msgspec

from trunkline.core.events import Event
from trunkline.core.values import Address
from trunkline.sim.events import attach, model, wire
from trunkline.sim.index.marks import AnswerMark, answers_in, questions_in
from trunkline.sim.index.projection import Projection

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_NO_LETTER = re.compile(r"[\W_]+")
#: the language of a block of code, which each part of the block has again
_FENCE = re.compile(r"```[\w+#.-]*(?=\s|$)")
#: links, of which some platforms show the words alone
_LINK, _SLACK_LINK = re.compile(r"\[([^\[\]]+)\]\([^()\s]+\)"), re.compile(r"<https?:[^<>|\s]+\|([^<>]+)>")
#: the number of a part: ``(2/3)``
_PART = re.compile(r"[(\[]?\b\d+\s*/\s*\d+\b[)\]]?\s*$|^\s*[(\[]?\b\d+\s*/\s*\d+\b[)\]]?")


@lru_cache(maxsize=8192)
def letters(text: str) -> str:
    """A text without markup, spaces and punctuation, for comparing what was said with what is shown."""
    plain = _LINK.sub(r"\1", _FENCE.sub("", _SLACK_LINK.sub(r"\1", _PART.sub("", text))))
    return _NO_LETTER.sub("", html.unescape(_TAG.sub("", plain))).casefold()


def asks_no_model(events: Iterable[Event]) -> bool:
    """Whether a run of which only the wire is known has no model asked: an echo, a bridge, a desk of tickets."""
    attached = False
    for event in events:
        if isinstance(event.body, model.ModelAsked):
            return False
        if isinstance(event.body, wire.WireAccepted | wire.WireEdited) and answers_in(event.body.text):
            return False
        attached = attached or isinstance(event.body, attach.GatewayAttached)
    return attached


def has_own_words(events: Sequence[Event]) -> bool:
    """Whether a gateway asks no model, and shows the marks of questions in other words."""
    bodies = (event.body for event in events)
    said = (body.text for body in bodies if isinstance(body, wire.WireAccepted | wire.WireEdited))
    return any(map(questions_in, said)) and asks_no_model(events)


class ShownText(msgspec.Struct, frozen=True):
    """A text that a message shows from one event on."""

    event: Event
    text: str
    marks: tuple[AnswerMark, ...]


class BotMessage(msgspec.Struct):
    """A message of the gateway."""

    address: Address
    message_id: str
    accepted: Event
    reply_to: str | None
    texts: list[ShownText] = []
    #: the event that took it away
    deleted: Event | None = None

    @property
    def text(self) -> str:
        """The last text of the message."""
        return self.texts[-1].text

    @property
    def marks(self) -> tuple[AnswerMark, ...]:
        """The marks of the message's last text."""
        return self.texts[-1].marks

    def ever(self, question: str) -> Iterator[ShownText]:
        """The texts in which the message answered a question."""
        return (shown for shown in self.texts if any(mark.question == question for mark in shown.marks))

    def shown(self, question: str) -> Iterator[tuple[int, int | None, AnswerMark]]:
        """The spans, between two events, in which the message showed an answer to a question; None: to the end."""
        ends = [*(shown.event.seq for shown in self.texts[1:]), None if self.deleted is None else self.deleted.seq]
        for shown, end in zip(self.texts, ends, strict=True):
            for mark in shown.marks:
                if mark.question == question:
                    yield shown.event.seq, end, mark


def accepted_at(message: BotMessage) -> int:
    """The number of the event by which a message was accepted."""
    return message.accepted.seq


def accepted_after(messages: Sequence[BotMessage], seq: int) -> Iterator[BotMessage]:
    """The messages of a list in order that were accepted after an event."""
    return islice(messages, bisect_right(messages, seq, key=accepted_at), None)


class BotMessages(Projection):
    """Every message of the gateway, in order of acceptance."""

    all: list[BotMessage] = []
    #: the gateway asks no model in the whole run: the mark of a question in a text makes the text its answer
    own_words = False
    #: a text has the mark of a question
    quoted = False
    #: marks that the model gave although it was not asked for them: they answer nothing
    misled: set[AnswerMark] = set()
    #: question -> seq of the event by which an answer to it was shown first
    first_shown: dict[str, int] = {}
    #: how many changes there were: a finding holds while their number stays
    changes = 0
    #: the questions of which an answer was shown, in the order of the first
    shown_questions: list[str] = []
    #: place -> its messages, in order of acceptance
    at: dict[Address, list[BotMessage]] = {}
    _by_id: dict[tuple[str, str, str], BotMessage] = {}
    #: place -> its messages that have a mark now, in order of acceptance
    _marked: dict[Address, list[BotMessage]] = {}
    #: mark -> the messages that had it in a text, also where it answers nothing
    _with_mark: dict[AnswerMark, list[BotMessage]] = {}
    #: lane -> the number of the event by which its last message was accepted
    _last_accepted: dict[tuple[str, str, str, str], int] = {}
    #: question -> the messages that showed an answer to it; each checker asks for each question, of long runs too
    _answering: dict[str, list[BotMessage]] = {}

    def answering(self, question: str) -> Sequence[BotMessage]:
        """The messages that showed an answer to a question at any time, in order of acceptance."""
        return self._answering.get(question, ())

    def after(self, seq: int) -> Iterator[BotMessage]:
        """The messages that were accepted after an event, in order."""
        return accepted_after(self.all, seq)

    def with_mark(self, mark: AnswerMark) -> Iterator[BotMessage]:
        """The messages that have a mark in their text, also if it answers nothing."""
        return (message for message in self._with_mark.get(mark, ()) if mark in answers_in(message.text))

    def marked_before(self, message: BotMessage) -> BotMessage | None:
        """The last message with a mark that was accepted before another one in its place."""
        marked = self._marked.get(message.address, ())
        at = bisect_left(marked, message.accepted.seq, key=accepted_at)
        return marked[at - 1] if at else None

    def accepted_since(self, gone: Event, place: Address) -> bool:
        """Whether a place has accepted a message after an event."""
        return self._last_accepted.get(place.lane, -1) > gone.seq

    def changed_by(self, event: Event) -> BotMessage | None:
        """The message that an event created, edited or deleted."""
        body = event.body
        if isinstance(body, wire.WireAccepted):
            return self._by_id.get((body.address.channel, body.address.conversation, body.provider_id))
        if isinstance(body, wire.WireEdited | wire.WireDeleted):
            return self._by_id.get((body.address.channel, body.address.conversation, body.message_id))
        return None

    def shown_by(self, event: Event) -> BotMessage | None:
        """The message that has its newest text by an event; None: the event changed no text."""
        message = self.changed_by(event)
        return message if message is not None and message.texts[-1].event is event else None

    def on_accepted(self, event: Event, body: wire.WireAccepted) -> None:
        message = BotMessage(body.address, body.provider_id, event, body.reply_to)
        self._show(message, event, body.text)
        self.all.append(message)
        self.at.setdefault(body.address, []).append(message)
        self._last_accepted[body.address.lane] = event.seq
        self._by_id[body.address.channel, body.address.conversation, body.provider_id] = message

    def on_edited(self, event: Event, body: wire.WireEdited) -> None:
        message = self.changed_by(event)
        if message is not None and message.deleted is None and not body.repeated:
            self._show(message, event, body.text)

    def _show(self, message: BotMessage, event: Event, text: str) -> None:
        self.changes += 1
        found = answers_in(text)
        for mark in found:
            holders = self._with_mark.setdefault(mark, [])
            if not holders or holders[-1] is not message:
                holders.append(message)
        marks = tuple(mark for mark in found if mark not in self.misled)
        quoted = questions_in(text.replace("\\", ""))
        self.quoted = self.quoted or bool(quoted)
        if self.own_words:
            marks = tuple(AnswerMark(question, 1) for question in quoted)
        if marks or message.texts:
            self._keep_if_marked(message, marks)
        message.texts.append(ShownText(event, text, marks))
        for question in {mark.question: None for mark in marks}:
            if question not in self.first_shown:
                self.first_shown[question] = event.seq
                self.shown_questions.append(question)
            known = self._answering.setdefault(question, [])
            if message not in known:
                insort(known, message, key=accepted_at)

    def _keep_if_marked(self, message: BotMessage, marks: tuple[AnswerMark, ...]) -> None:
        kept = self._marked.setdefault(message.address, [])
        at = bisect_left(kept, message.accepted.seq, key=accepted_at)
        known = at < len(kept) and kept[at] is message
        if marks and not known:
            kept.insert(at, message)
        elif known and not marks:
            del kept[at]

    def on_deleted(self, event: Event, _body: wire.WireDeleted) -> None:
        message = self.changed_by(event)
        if message is not None and message.deleted is None:
            message.deleted = event
            self.changes += 1
