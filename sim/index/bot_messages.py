"""The messages of a gateway that people see, with every text that each had: of runs known by their wire only."""

from __future__ import annotations

import html
import re
from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from trunkline.core.events import Event
from trunkline.core.values import Address
from trunkline.sim.events.wire import WireAccepted, WireDeleted, WireEdited
from trunkline.sim.index.marks import AnswerMark, answers_in
from trunkline.sim.index.projection import Projection, on

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


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text that a message shows from one event on."""

    event: Event
    text: str
    marks: tuple[AnswerMark, ...]


@dataclass(slots=True)
class BotMessage:
    """A message of the gateway."""

    address: Address
    message_id: str
    accepted: Event
    reply_to: str | None
    texts: list[ShownText] = field(default_factory=list[ShownText])
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


def _accepted_at(message: BotMessage) -> int:
    return message.accepted.seq


class BotMessages(Projection):
    """Every message of the gateway, in order of acceptance."""

    def __init__(self) -> None:
        self.all: list[BotMessage] = []
        #: marks that the model gave although it was not asked for them: they answer nothing
        self.misled: set[AnswerMark] = set()
        #: question -> seq of the event by which an answer to it was shown first
        self.first_shown: dict[str, int] = {}
        self._by_id: dict[tuple[str, str, str], BotMessage] = {}
        #: question -> the messages that showed an answer to it; each checker asks for each question, of long runs too
        self._answering: dict[str, list[BotMessage]] = {}

    def answering(self, question: str) -> Sequence[BotMessage]:
        """The messages that showed an answer to a question at any time, in order of acceptance."""
        return self._answering.get(question, ())

    def after(self, seq: int) -> Iterator[BotMessage]:
        """The messages that were accepted after an event, in order."""
        return islice(self.all, bisect_right(self.all, seq, key=_accepted_at), None)

    def changed_by(self, event: Event) -> BotMessage | None:
        """The message that an event created, edited or deleted."""
        body = event.body
        if isinstance(body, WireAccepted):
            return self._by_id.get((body.address.channel, body.address.conversation, body.provider_id))
        if isinstance(body, WireEdited | WireDeleted):
            return self._by_id.get((body.address.channel, body.address.conversation, body.message_id))
        return None

    def shown_by(self, event: Event) -> BotMessage | None:
        """The message that has its newest text by an event; None: the event changed no text."""
        message = self.changed_by(event)
        return message if message is not None and message.texts[-1].event is event else None

    @on(WireAccepted)
    def _accepted(self, event: Event, body: WireAccepted) -> None:
        message = BotMessage(body.address, body.provider_id, event, body.reply_to)
        self._show(message, event, body.text)
        self.all.append(message)
        self._by_id[body.address.channel, body.address.conversation, body.provider_id] = message

    @on(WireEdited)
    def _edited(self, event: Event, body: WireEdited) -> None:
        message = self.changed_by(event)
        if message is not None and message.deleted is None and not body.repeated:
            self._show(message, event, body.text)

    def _show(self, message: BotMessage, event: Event, text: str) -> None:
        marks = tuple(mark for mark in answers_in(text) if mark not in self.misled)
        message.texts.append(ShownText(event, text, marks))
        for question in {mark.question: None for mark in marks}:
            self.first_shown.setdefault(question, event.seq)
            known = self._answering.setdefault(question, [])
            if message not in known:
                insort(known, message, key=_accepted_at)

    @on(WireDeleted)
    def _deleted(self, event: Event, _body: WireDeleted) -> None:
        message = self.changed_by(event)
        if message is not None and message.deleted is None:
            message.deleted = event
