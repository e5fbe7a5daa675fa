"""The part of the store for heartbeats and the schedule: timers, system events, and what heartbeats have said."""

import msgspec

from trunkline.core.records.heartbeat import SystemEvent
from trunkline.core.records.rows import Admission
from trunkline.core.store.commands import Admit, Write
from trunkline.core.store.queries import Read
from trunkline.core.values import Address, Peer

#: system events that one run takes; the others have a run after it
MOST_EVENTS = 50


class Timer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A schedule: when it fires next, on the wall clock, and when it fired last."""

    #: ``heartbeat/<agent>`` or ``cron/<id>``
    name: str
    #: the schedule as text: another one has to be planned again
    spec: str
    #: none: never
    next_at: float | None
    last_at: float | None = None


class NewSystemEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    identity: str
    agent: str
    text: str
    source: str
    #: the heartbeat does not wait for its time
    wakes: bool = True


class LastRoute(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where the last message of a person to an agent is answered, and its author."""

    address: Address
    peer: Peer


class SaidBefore(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A heartbeat said a text before. `at`: when it was accepted; none: it is still queued, or in doubt."""

    at: float | None


class SetTimer(Write[None], frozen=True, kw_only=True):
    """Store when a timer fires next."""

    timer: Timer


class Fire(Write[Admission | None], frozen=True, kw_only=True):
    """A timer has fired, or something else woke an agent: store what that starts, once, with the timer's next time."""

    #: none: no timer fired
    timer: Timer | None
    #: the work that begins; its answer is the answer of the command
    admit: Admit | None = None
    #: the system events up to this number are in the work, and are dealt with
    taken: int = 0
    #: an event for the next heartbeat
    event: NewSystemEvent | None = None
    now: float


class AddSystemEvent(Write[bool], frozen=True, kw_only=True):
    """Store a system event. Answers whether it is new."""

    event: NewSystemEvent
    now: float


class ListTimers(Read[tuple[Timer, ...]], frozen=True, kw_only=True):
    """Every timer, by name."""


class ListSystemEvents(Read[tuple[SystemEvent, ...]], frozen=True, kw_only=True):
    """The system events of an agent that no heartbeat has taken, in order."""

    agent: str
    limit: int = MOST_EVENTS


class ListWaitingAgents(Read[tuple[tuple[str, str], ...]], frozen=True, kw_only=True):
    """The agents with system events that do not wait for the heartbeat's time, with the source of the first one."""


class FindLastRoute(Read[LastRoute | None], frozen=True, kw_only=True):
    """Where the last message of a person to an agent is answered; of one session, if its key is given."""

    agent: str
    session_key: str | None = None


class FindSaid(Read[SaidBefore | None], frozen=True, kw_only=True):
    """Whether a heartbeat of an agent has said a text in a place, or is about to."""

    agent: str
    address: Address
    text: str
