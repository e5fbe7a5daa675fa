"""The event, the numbering log of events, and the recorder of a node."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

import msgspec

from trunkline.core.events import Body


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """An event. `at` is in seconds: virtual in a simulation, wall clock otherwise."""

    #: position in the log, from 1
    seq: int
    at: float
    #: who recorded it: ``gateway``, ``discord``, ``sim``, ``hand:<id>``
    node: str
    #: incarnation of the process that recorded it; 0 where there are none
    generation: int = 0
    #: seq of the event that caused this event
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
    """Records the events of a part of the system. Safe to call from any thread."""

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
        """Append an event and return the seq."""
        ...


class EventLog:
    """The ordered list of all events of a run, with subscribers, which see each event in order when recorded.

    Durable facts are recorded from the thread that committed them, so recording takes a lock. `start` continues the
    numbers of an earlier process. `keep=False` only numbers and forwards: for long-lived gateways that write a file.
    Recorders write directly here.
    """

    __slots__ = ("by_body", "clock", "delivering", "events", "keep", "lock", "pending", "seq", "subscribers")

    def __init__(self, clock: Callable[[], float], *, start: int = 0, keep: bool = True) -> None:
        self.clock = clock
        self.lock = threading.RLock()
        #: the seq of the newest event; `start` before the first
        self.seq = start
        self.keep = keep
        self.events: list[Event] = []
        #: subscribers in order, with their bodies; empty for all
        self.subscribers: list[tuple[tuple[type[Body], ...], Callable[[Event], None]]] = []
        self.by_body: dict[type[Body], tuple[Callable[[Event], None], ...]] = {}
        self.delivering = False
        self.pending: deque[Event] = deque()

    def deliver_pending(self) -> None:
        """Deliver events recorded by subscribers during a delivery, until there are none."""
        while self.pending:
            event = self.pending.popleft()
            for see in self.subscribers_of(type(event.body)):
                see(event)

    def subscribers_of(self, body: type[Body]) -> tuple[Callable[[Event], None], ...]:
        """The subscribers of a body, in the order of subscription."""
        found = self.by_body.get(body)
        if found is None:
            found = tuple(see for bodies, see in self.subscribers if not bodies or body in bodies)
            self.by_body[body] = found
        return found

    def subscribe(self, see: Callable[[Event], None], *bodies: type[Body]) -> None:
        """Call `see` with every later event, in order, during the recording; optionally only for some bodies."""
        with self.lock:
            self.subscribers.append((bodies, see))
            self.by_body.clear()

    def resubscribe(self, see: Callable[[Event], None], instead: Callable[[Event], None]) -> None:
        """Call `instead` with every event from now on, where `see` was called until now."""
        with self.lock:
            self.subscribers[:] = [(bodies, instead if known == see else known) for bodies, known in self.subscribers]
            self.by_body.clear()

    def recorder(self, node: str, generation: int = 0) -> "Recorder":
        """A sink for the events of `node`."""
        return Recorder(self, node, generation)


class Recorder:
    """An `EventSink` for an incarnation of a node."""

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
        """Number an event and deliver to the subscribers."""
        # One call per event: passing all this on would cost a third of it.
        log = self._log
        with log.lock:
            log.seq = seq = log.seq + 1
            event = Event(
                seq=seq,
                # Rounds to microseconds; `round` would take longer than everything else here.
                at=int(log.clock() * 1e6 + 0.5) / 1e6,
                node=self.node,
                generation=self.generation,
                cause=cause,
                inbound=inbound,
                turn=turn,
                intent=intent,
                delegation=delegation,
                binding=binding,
                body=body,
            )
            if log.keep:
                log.events.append(event)
            if log.delivering:
                log.pending.append(event)
                return seq
            subscribers = log.by_body.get(type(body))
            if subscribers is None:
                subscribers = log.subscribers_of(type(body))
            if not subscribers:
                return seq
            # Events that the subscribers record are delivered after this one.
            log.delivering = True
            try:
                for see in subscribers:
                    see(event)
                if log.pending:
                    log.deliver_pending()
            finally:
                log.delivering = False
                if log.pending:
                    log.pending.clear()
        return seq
