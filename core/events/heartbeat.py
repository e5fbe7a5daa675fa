"""Events of heartbeats and of the schedule: when they are due, what every guard said, and how they ended."""

from typing import ClassVar

import msgspec

from trunkline.core.events.base import Body
from trunkline.core.reasons import Reason
from trunkline.core.values import Address


class GuardResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The answer of a guard of a heartbeat. Without a reason the heartbeat passes."""

    guard: str
    reason: Reason | None = None


class HeartbeatScheduled(Body, frozen=True, kw_only=True):
    """Committed: the heartbeat of an agent got a new schedule. `next_at` is on the wall clock; none if switched off."""

    agent: str
    next_at: float | None


class HeartbeatDue(Body, frozen=True, kw_only=True):
    """The schedule, or something else, wants an agent to wake."""

    agent: str
    reason: Reason
    #: why, e.g. ``interval`` or ``cron:daily``
    wake: str
    #: when the schedule wanted it, on the wall clock
    due: float | None = None


class HeartbeatSkipped(Body, frozen=True, kw_only=True):
    """A heartbeat does not run. `guards`: the asked guards, in order; the last said no. `next_at` is committed."""

    agent: str
    reason: Reason
    guards: tuple[GuardResult, ...] = ()
    wake: str = ""
    due: float | None = None
    next_at: float | None = None
    detail: str = ""


class HeartbeatStarted(Body, frozen=True, kw_only=True):
    """Committed: a heartbeat will run, once. `to`: the target of the text; without a target, `reason` says why."""

    agent: str
    guards: tuple[GuardResult, ...]
    wake: str
    due: float | None = None
    next_at: float | None = None
    to: Address | None = None
    reason: Reason | None = None
    #: number of system events that it deals with
    events: int = 0
    #: what is wrong with the file of its instructions
    detail: str = ""


class HeartbeatEnded(Body, frozen=True, kw_only=True):
    """A heartbeat has ended: ``sent``, ``ok-empty``, ``ok-token``, ``skipped`` or ``failed``.

    It is ``sent`` once its text was accepted. Of a run of an earlier process `duration_ms` counts from its text on.
    """

    agent: str
    status: str
    reason: Reason | None = None
    to: Address | None = None
    #: the first 200 characters of its text
    preview: str = ""
    duration_ms: int = 0
    channel: str = ""
    #: people saw nothing of it
    silent: bool = False
    #: ``ok``, ``alert`` or ``error``; empty: none is shown
    indicator: str = ""
    detail: str = ""


class SystemEventAdded(Body, frozen=True, kw_only=True):
    """Committed: the next heartbeat of an agent will deal with this."""

    kind: ClassVar[str] = "heartbeat.event_added"
    agent: str
    text: str
    source: str


class CronScheduled(Body, frozen=True, kw_only=True):
    """Committed: an entry of the schedule is new, or was changed. `next_at` is on the wall clock; none: never."""

    entry: str
    next_at: float | None
    #: why it never fires
    reason: Reason | None = None


class CronDue(Body, frozen=True, kw_only=True):
    """Committed: an entry of the schedule fired, and starts a turn or wakes the heartbeat. `next_at`: the next time."""

    entry: str
    agent: str
    reason: Reason
    due: float
    next_at: float | None = None
    #: ``turn`` or ``heartbeat``
    starts: str = "turn"


class CronEnded(Body, frozen=True, kw_only=True):
    """The turn of an entry of the schedule has ended, with an `outcome`."""

    entry: str
    agent: str
    outcome: str
    reason: Reason | None = None
