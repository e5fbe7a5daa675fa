"""One ordered story: the event, the log that numbers events, and the recorder that each node writes with."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from operator import itemgetter
from typing import Protocol

import msgspec

from trunkline.core.events import Body


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Something that happened. `at` is in seconds (virtual in a simulation, wall clock otherwise)."""

    #: position in the story, from 1
    seq: int
    at: float
    #: who recorded it: ``gateway``, ``discord``, ``sim``, ``hand:<id>``
    node: str
    #: incarnation of the process that recorded it; 0 where there are none
    generation: int = 0
    #: seq of the event that made this one happen
    cause: int | None = None
    inbound: str | None = None
    turn: str | None = None
    intent: str | None = None
    delegation: str | None = None
    binding: str | None = None
    body: Body

    @property
    def kind(self) -> str:
        """Dotted name of the body, e.g. ``wire.accepted``."""
        return self.body.kind


class EventSink(Protocol):
    """Where a part of the system tells what it did. Safe to call from any thread."""

    def record(
        self,
        body: Body,
        cause: int | None = None,
        *,
        inbound: str | None = None,
        turn: str | None = None,
        intent: str | None = None,
        delegation: str | None = None,
        binding: str | None = None,
    ) -> int:
        """Append an event and return its seq."""
        ...


class EventLog:
    """The ordered list of all events of a run, with subscribers that see each event, in order, as it is appended.

    Durable facts are recorded from the thread that committed them, so appending takes a lock. `start` continues the
    numbers of an earlier process. `keep=False` only numbers and forwards: for long-lived gateways that write a file.
    """

    def __init__(self, clock: Callable[[], float], *, start: int = 0, keep: bool = True) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._seq = start
        self._keep = keep
        self.events: list[Event] = []
        self._subscriptions = 0
        #: body, or none for all -> who wants to see it, by number of subscription
        self._subscribers: dict[type[Body] | None, list[tuple[int, Callable[[Event], None]]]] = {}
        self._by_body: dict[type[Body], tuple[Callable[[Event], None], ...]] = {}
        self._telling = False
        self._untold: deque[Event] = deque()

    def subscribe(self, see: Callable[[Event], None], *bodies: type[Body]) -> None:
        """Call `see` with every event from now on, in order, inside the append; or only with such bodies."""
        with self._lock:
            self._subscriptions += 1
            for body in dict.fromkeys(bodies or (None,)):
                self._subscribers.setdefault(body, []).append((self._subscriptions, see))
            self._by_body.clear()

    def recorder(self, node: str, generation: int = 0) -> Recorder:
        """A sink that writes as `node`."""
        return Recorder(self, node, generation)

    def append(self, node: str, generation: int, body: Body, cause: int | None, ids: tuple[str | None, ...]) -> int:
        """Number an event and show it to the subscribers. `ids`: inbound, turn, intent, delegation, binding."""
        inbound, turn, intent, delegation, binding = ids
        with self._lock:
            self._seq = seq = self._seq + 1
            event = Event(
                seq=seq,
                # Microseconds; `round` would take longer than all the rest.
                at=int(self._clock() * 1e6 + 0.5) / 1e6,
                node=node,
                generation=generation,
                cause=cause,
                inbound=inbound,
                turn=turn,
                intent=intent,
                delegation=delegation,
                binding=binding,
                body=body,
            )
            if self._keep:
                self.events.append(event)
            if self._telling:
                self._untold.append(event)
                return seq
            told = self._by_body.get(type(body))
            if told is None:
                told = self._wanted_by(type(body))
            if told:
                self._tell(event, told)
        return seq

    def _tell(self, event: Event, told: tuple[Callable[[Event], None], ...]) -> None:
        """Show an event to its subscribers; what they append meanwhile comes after it, for all of them."""
        self._telling = True
        try:
            while True:
                for see in told:
                    see(event)
                if not self._untold:
                    return
                event = self._untold.popleft()
                told = self._wanted_by(type(event.body))
        finally:
            self._telling = False
            if self._untold:
                self._untold.clear()

    def _wanted_by(self, body: type[Body]) -> tuple[Callable[[Event], None], ...]:
        """Who wants to see events with such a body, in the order of subscription."""
        found = self._by_body.get(body)
        if found is None:
            wanted = (*self._subscribers.get(None, ()), *self._subscribers.get(body, ()))
            found = tuple(see for _, see in sorted(wanted, key=itemgetter(0)))
            self._by_body[body] = found
        return found


class Recorder:
    """An `EventSink` for one node and one incarnation of it."""

    __slots__ = ("_log", "generation", "node")

    def __init__(self, log: EventLog, node: str, generation: int = 0) -> None:
        self._log = log
        self.node = node
        self.generation = generation

    def record(
        self,
        body: Body,
        cause: int | None = None,
        *,
        inbound: str | None = None,
        turn: str | None = None,
        intent: str | None = None,
        delegation: str | None = None,
        binding: str | None = None,
    ) -> int:
        """Append an event and return its seq."""
        return self._log.append(self.node, self.generation, body, cause, (inbound, turn, intent, delegation, binding))
