"""What is seen from outside of the gateway: sends, updates, questions to the model, and the lives of its processes."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from trunkline.core.events import Event
from trunkline.core.values import Address, Envelope, SendRequest
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PlatformPushed
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.run.world import World

#: the word of a question, which its answer repeats
MARK = re.compile(r"\bq[a-z]+[0-9]+\b")


class Moment(StrEnum):
    """What happens on the wire, and what a process can be killed at."""

    HANDED_OUT = "update handed out"
    CONFIRMED = "offset confirmed"
    ASKED = "model asked"
    REPLIED = "model answered"
    SENT = "send arrived"
    ACCEPTED = "send accepted"
    ANSWERED = "send answered"


@dataclass(kw_only=True)
class Question:
    """What a person said."""

    mark: str
    place: Address
    at: float


@dataclass(kw_only=True)
class Sent:
    """A send that has reached its platform."""

    mark: str
    channel: str
    arrived: float
    #: number of the process that made it
    process: int
    #: when its response was handed to a connection whose process lived; none: never
    answered: float | None = None


@dataclass(kw_only=True)
class Process:
    """One process of the gateway."""

    began: float
    killed: float | None = None


@dataclass
class Record:
    """Everything that was seen, in seconds of the world's clock."""

    questions: dict[str, Question] = field(default_factory=dict[str, Question])
    #: by mark: places and texts of the messages that people see
    accepted: dict[str, list[tuple[Address, str]]] = field(default_factory=dict[str, list[tuple[Address, str]]])
    sends: list[Sent] = field(default_factory=list[Sent])
    #: by mark: when the model had answered
    replied: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    processes: list[Process] = field(default_factory=list[Process])
    #: messages of the gateway without the mark of a question: their places and texts
    unasked: list[tuple[Address, str]] = field(default_factory=list[tuple[Address, str]])


def mark_of(text: str) -> str:
    """The newest mark in a text; empty: it has none."""
    found = MARK.findall(text)
    return found[-1] if found else ""


class Observer:
    """Watches the platforms, and calls `seen` with each moment at which a process lives."""

    def __init__(self, world: World, seen: Callable[[Moment], None]) -> None:
        self.record = Record()
        self._world = world
        self._seen = seen
        #: nobody hears the responses: they may come to a process that cannot store them any more
        self.unheard = False
        #: those who wait for the answer to a mark
        self._waiting: dict[str, asyncio.Event] = {}
        world.log.subscribe(self._event, WireAccepted, PlatformPushed)
        for platform in world.platforms.values():
            self._watch(platform)

    @property
    def alive(self) -> bool:
        """Whether a process of the gateway lives."""
        return bool(self.record.processes) and self.record.processes[-1].killed is None

    def struck(self, begins: bool) -> None:
        """A process, or what it needs, is struck, and another may go on; or it is over and somebody is served again."""
        if begins:
            self.record.processes[-1].killed = self.now()
            self.record.processes.append(Process(began=self.now()))
        self.unheard = begins

    def now(self) -> float:
        """The world's clock."""
        return self._world.now()

    def saw(self, moment: Moment) -> None:
        """Something happened on the wire."""
        if self.alive:
            self._seen(moment)

    def said(self, mark: str, place: Address) -> None:
        """A person has asked something."""
        self.record.questions[mark] = Question(mark=mark, place=place, at=self.now())

    async def answer(self, mark: str, seconds: float) -> bool:
        """Wait for the answer to a question; false: it has not come in time."""
        event = self._waiting.setdefault(mark, asyncio.Event())
        if mark in self.record.accepted:
            return True
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting.pop(mark, None)
        return True

    def model_replied(self, mark: str) -> None:
        """The model has answered, and all of it is written."""
        self.record.replied.setdefault(mark, []).append(self.now())
        self.saw(Moment.REPLIED)

    def _watch(self, platform: FakePlatform) -> None:
        receive, ack = platform.wire.receive, platform.pushes.ack

        def watched_receive(request: SendRequest, answer: asyncio.Future[Any], token: int) -> None:
            sent = Sent(
                mark=mark_of(request.text),
                channel=platform.channel,
                arrived=self.now(),
                process=len(self.record.processes) - 1,
            )
            self.record.sends.append(sent)
            receive(request, answer, token)
            answer.add_done_callback(lambda done: self._responded(sent, done))
            self.saw(Moment.SENT)

        def watched_ack(envelope: Envelope) -> None:
            ack(envelope)
            self.saw(Moment.CONFIRMED)

        platform.wire.receive = watched_receive  # type: ignore[method-assign] -- watched from outside
        platform.pushes.ack = watched_ack  # type: ignore[method-assign] -- watched from outside

    def _responded(self, sent: Sent, done: asyncio.Future[Any]) -> None:
        if self.unheard or done.cancelled() or not self.alive or sent.process != len(self.record.processes) - 1:
            return
        if done.exception() is None:
            sent.answered = self.now()
            self.saw(Moment.ANSWERED)

    def _event(self, event: Event) -> None:
        body = event.body
        if isinstance(body, PlatformPushed):
            self.saw(Moment.HANDED_OUT)
        elif isinstance(body, WireAccepted):
            mark = mark_of(body.text)
            if not mark:
                self.record.unasked.append((body.address, body.text))
            else:
                self.record.accepted.setdefault(mark, []).append((body.address, body.text))
                if mark in self._waiting:
                    self._waiting[mark].set()
            self.saw(Moment.ACCEPTED)
