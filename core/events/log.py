"""The event, the log that numbers events, and the recorder that a node writes with."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

import msgspec

from trunkline.core.events import Body


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One event. `at` is in seconds: virtual in a simulation, wall clock otherwise."""

    #: position in the log, from 1
    seq: int
    at: float
    #: who recorded it: ``gateway``, ``discord``, ``sim``, ``hand:<id>``
    node: str
    #: incarnation of the process that recorded it; 0 where there are none
    generation: int = 0
    #: seq of the event that caused this one
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
    """Records the events of one part of the system. Safe to call from any thread."""

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
        #: subscribers in order, with their bodies; empty for all
        self._subscribers: list[tuple[tuple[type[Body], ...], Callable[[Event], None]]] = []
        self._by_body: dict[type[Body], tuple[Callable[[Event], None], ...]] = {}
        self._delivering = False
        self._pending: deque[Event] = deque()

    def subscribe(self, see: Callable[[Event], None], *bodies: type[Body]) -> None:
        """Call `see` with every later event, in order, within the append; optionally only for some bodies."""
        with self._lock:
            self._subscribers.append((bodies, see))
            self._by_body.clear()

    def recorder(self, node: str, generation: int = 0) -> Recorder:
        """A sink that writes as `node`."""
        return Recorder(self, node, generation)

    def append(self, node: str, generation: int, body: Body, cause: int | None, ids: tuple[str | None, ...]) -> int:
        """Number an event and deliver it to the subscribers. `ids`: inbound, turn, intent, delegation, binding."""
        inbound, turn, intent, delegation, binding = ids
        with self._lock:
            self._seq = seq = self._seq + 1
            event = Event(
                seq=seq,
                # Rounds to microseconds; `round` would take longer than everything else here.
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
            if self._delivering:
                self._pending.append(event)
                return seq
            subscribers = self._by_body.get(type(body))
            if subscribers is None:
                subscribers = self._subscribers_of(type(body))
            if subscribers:
                self._deliver(event, subscribers)
        return seq

    def _deliver(self, event: Event, subscribers: tuple[Callable[[Event], None], ...]) -> None:
        """Deliver an event to its subscribers; events that they append are delivered after it."""
        self._delivering = True
        try:
            while True:
                for see in subscribers:
                    see(event)
                if not self._pending:
                    return
                event = self._pending.popleft()
                subscribers = self._subscribers_of(type(event.body))
        finally:
            self._delivering = False
            if self._pending:
                self._pending.clear()

    def _subscribers_of(self, body: type[Body]) -> tuple[Callable[[Event], None], ...]:
        """The subscribers of a body, in the order of subscription."""
        found = self._by_body.get(body)
        if found is None:
            found = tuple(see for bodies, see in self._subscribers if not bodies or body in bodies)
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
        return self._log.append(self.node, self.generation, body, cause, (inbound, turn, intent, delegation, binding))
