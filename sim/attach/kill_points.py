"""The events of the wire at which a gateway can be killed, and one further run for each of them.

A point names an event by its question and not by a number of the whole run: another run has the same events in another
order, or further ones.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import msgspec

from trunkline.core.errors import UsageError
from trunkline.core.events import Event
from trunkline.sim.events import attach, wire, world
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.index.marks import answers_in, questions_in

#: event -> what happens there, for readers; in the order of a turn
KILLABLE = {
    "platform.pushed": "a message is handed out",
    "platform.confirming": "its confirmation has arrived and is not taken",
    "platform.confirmed": "its confirmation is taken",
    "model.asked": "the model is asked",
    "model.answered": "the model has answered",
    "wire.called": "the send has arrived and is not taken",
    "wire.accepted": "the send is accepted",
    "wire.responded": "the send is answered",
}


class KillPoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event at which the gateway is killed: the Nth of a kind about a question."""

    event: str
    #: the mark of the question; empty: about none, such as a notice
    question: str = ""
    nth: int = 1
    #: seconds after the event
    delay: float = 0.0

    @property
    def slug(self) -> str:
        """The name of a kill point as a part of a file's name: ``wire.called-m2-1``."""
        late = f"-{self.delay * 1000:g}ms" if self.delay else ""
        return f"{self.event}-{self.question or 'none'}-{self.nth}{late}"

    def __str__(self) -> str:
        about = f" of {self.question}" if self.question else " of no question"
        which = f", number {self.nth}" if self.nth > 1 else ""
        late = f", {self.delay * 1000:g} ms later" if self.delay else ""
        return f"{self.event}{about}{which}{late}"


_SLUG = re.compile(
    r"(?P<event>[a-z]+\.[a-z]+)-(?P<question>[a-z0-9]+)-(?P<nth>[1-9]\d{0,5})(?:-(?P<ms>\d+(?:\.\d+)?)ms)?"
)


def named_kill_point(slug: str) -> KillPoint:
    """The point with a name (`KillPoint.slug`). Raises `UsageError` for any other text."""
    found = _SLUG.fullmatch(slug)
    if found is None or found["event"] not in KILLABLE:
        raise UsageError(
            f"{slug}: expected EVENT-QUESTION-NUMBER, such as wire.accepted-m1-1; the events are {', '.join(KILLABLE)}"
        )
    question = "" if found["question"] == "none" else found["question"]
    late = float(found["ms"] or 0.0) / 1000
    return KillPoint(event=found["event"], question=question, nth=int(found["nth"]), delay=late)


def kill_points(events: Iterable[Event]) -> tuple[KillPoint, ...]:
    """The points of a run, in the order of its events; those before the gateway is ready do not count."""
    follow, found = _Follower(), list[KillPoint]()
    for event in events:
        for kind, question in follow.see(event):
            found.append(KillPoint(event=kind, question=question, nth=follow.count(kind, question)))
    # An event about several questions is one point, that of the first.
    return tuple(dict.fromkeys(found))


def finds(point: KillPoint) -> Callable[[Event], bool]:
    """The finder of the event of a point, which has to see all events of a run, in order."""
    follow = _Follower()

    def see(event: Event) -> bool:
        hit = False
        for kind, question in follow.see(event):
            nth = follow.count(kind, question)
            hit = hit or (kind, question, nth) == (point.event, point.question, point.nth)
        return hit

    return see


class _Follower:
    def __init__(self) -> None:
        self._ready = False
        self._counts = Counter[tuple[str, str]]()
        #: (conversation, message id) -> mark
        self._messages: dict[tuple[str, str], str] = {}

    def count(self, kind: str, question: str) -> int:
        return self._counts[kind, question]

    def see(self, event: Event) -> Iterator[tuple[str, str]]:
        """The kind and the question of an event at which a kill is possible, or None.

        An answer that grows is accepted when an edit makes it whole.
        """
        body = event.body
        if isinstance(body, attach.GatewayReady):
            self._ready = True
        elif isinstance(body, world.PeerSaid):
            for mark in questions_in(body.text)[:1]:
                self._messages[body.address.conversation, body.message_id] = mark
        question = self._question(body) if self._ready else None
        kind = wire.WireAccepted.kind if isinstance(body, wire.WireEdited) else event.kind
        if question is None or (isinstance(body, wire.WireEdited) and (not question or self._counts[kind, question])):
            return
        self._counts[kind, question] += 1
        yield kind, question

    def _question(self, body: object) -> str | None:
        """The mark of the question that an event is about, or empty; None: it is no event at which one can kill."""
        match body:
            case world.PlatformPushed() | world.PlatformConfirming() | world.PlatformConfirmed():
                return self._messages.get((body.address.conversation, body.message_id), "")
            case ModelAsked():
                return None if body.beside else next(iter(body.marks), "")
            case wire.WireCalled() if body.what not in ("send", "act"):
                return None
            case ModelAnswered() | wire.WireAccepted() | wire.WireEdited() | wire.WireCalled() | wire.WireResponded():
                marks = (*(mark.question for mark in answers_in(body.text)), *questions_in(body.text))
                return next(iter(marks), "")
            case _:
                return None
