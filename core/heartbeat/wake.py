"""Requests to wake an agent: which of several counts, when they run, and how many may."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from trunkline.core.reasons import Reason

#: seconds; requests that come within this time become one run
COALESCE = 0.25
#: seconds until a run that found the agent busy is tried again
BUSY_RETRY = 1.0
#: seconds between the starts of two runs that events ask for
MIN_SPACING = 30.0
#: as many starts within this many seconds are too many
FLOOD_STARTS, FLOOD_WINDOW = 5, 60.0


class WakeKind(StrEnum):
    """What asks for a run."""

    #: the agent was busy
    RETRY = "retry"
    #: the schedule
    INTERVAL = "interval"
    #: an entry of the schedule gave the heartbeat something to do
    CRON = "cron"
    #: a program has something for the agent
    WAKE = "wake"
    #: a command that the agent started has ended
    EXEC_EVENT = "exec-event"
    #: a hook of the gateway
    HOOK = "hook"
    #: an operator
    MANUAL = "manual"

    @property
    def priority(self) -> int:
        """Which of two requests counts."""
        return _PRIORITIES.get(self, 2)

    @property
    def by_event(self) -> bool:
        """Whether something happened that the run deals with, whatever the instructions hold."""
        return self in (WakeKind.CRON, WakeKind.WAKE, WakeKind.EXEC_EVENT, WakeKind.HOOK)


_PRIORITIES = {WakeKind.RETRY: 0, WakeKind.INTERVAL: 1, WakeKind.EXEC_EVENT: 3, WakeKind.HOOK: 3, WakeKind.MANUAL: 3}


class WakeRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request to wake an agent."""

    agent: str
    #: key of the session; empty: that of the heartbeat
    session: str = ""
    kind: WakeKind
    #: what it concerns, e.g. the id of an entry of the schedule
    detail: str = ""
    #: seconds, on the steady clock
    at: float

    @property
    def reason(self) -> str:
        """The request as text: ``interval``, ``cron:daily``."""
        return f"{self.kind.value}:{self.detail}" if self.detail else self.kind.value


class WakeQueue(msgspec.Struct, frozen=True, kw_only=True):
    """The requests that wait: one for an agent and session. Times are seconds on the steady clock."""

    pending: Mapping[tuple[str, str], WakeRequest] = {}
    #: when the pending requests are taken; None: there are none
    due_at: float | None = None
    #: the agent was busy: no request takes place before `due_at`
    held: bool = False
    running: bool = False


def request(queue: WakeQueue, wake: WakeRequest, *, delay: float = COALESCE) -> WakeQueue:
    """The queue with one more request. Of two for the same session the more important counts, else the newer."""
    key = (wake.agent, wake.session)
    before = queue.pending.get(key)
    if before is None or _rank(wake) >= _rank(before):
        queue = msgspec.structs.replace(queue, pending={**queue.pending, key: wake})
    due = wake.at + delay
    if queue.due_at is not None and (queue.held or queue.due_at <= due):
        return queue
    return msgspec.structs.replace(queue, due_at=due, held=False)


def _rank(wake: WakeRequest) -> tuple[int, float]:
    return wake.kind.priority, wake.at


def take_due(queue: WakeQueue, now: float) -> tuple[WakeQueue, tuple[WakeRequest, ...]]:
    """The requests that run now, and the queue without them. While a pass runs, or before the time, there are none."""
    if queue.running or queue.due_at is None or now < queue.due_at:
        return queue, ()
    return WakeQueue(running=True), tuple(queue.pending.values())


def finished(queue: WakeQueue, now: float, busy: Sequence[WakeRequest] = ()) -> WakeQueue:
    """The queue after a pass. What found its agent busy is tried again after a second, and nothing before it."""
    idle = msgspec.structs.replace(queue, running=False)
    if busy:
        for wake in busy:
            again = idle.pending.get((wake.agent, wake.session))
            if again is None or _rank(again) < _rank(wake):
                idle = msgspec.structs.replace(idle, pending={**idle.pending, (wake.agent, wake.session): wake})
        return msgspec.structs.replace(idle, due_at=now + BUSY_RETRY, held=True)
    if idle.pending:
        return msgspec.structs.replace(idle, due_at=max(now, idle.due_at or now), held=False)
    return msgspec.structs.replace(idle, due_at=None, held=False)


class CoolDown(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request that comes too early, and when it may run."""

    reason: Reason
    until: float


def cool_down(
    kind: WakeKind, now: float, *, next_due: float | None = None, starts: Sequence[float] = ()
) -> CoolDown | None:
    """Whether a request has to wait; None: it may run.

    `starts`: when runs of the agent began. A manual request never waits. The schedule waits for its time; events keep
    30 s between two starts, and at most four starts within 60 s before them.
    """
    if kind is WakeKind.MANUAL:
        return None
    if kind is WakeKind.INTERVAL:
        early = next_due is not None and now < next_due
        return CoolDown(reason=Reason.NOT_DUE, until=next_due) if early and next_due is not None else None
    # Sums, not differences: at `until` itself nothing may wait any longer, however floats are rounded.
    recent = sorted(start for start in starts if now < start + FLOOD_WINDOW)
    waits: list[CoolDown] = []
    if len(recent) >= FLOOD_STARTS:
        waits.append(CoolDown(reason=Reason.FLOOD, until=recent[-FLOOD_STARTS] + FLOOD_WINDOW))
    if recent and now < recent[-1] + MIN_SPACING:
        waits.append(CoolDown(reason=Reason.MIN_SPACING, until=recent[-1] + MIN_SPACING))
    return max(waits, key=lambda wait: wait.until, default=None)
