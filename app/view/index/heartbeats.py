"""The heartbeats of each agent, in every past state: when the next one is due, and how the last one went."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

import msgspec

from trunkline.app.view.index.growing import GrowingRows
from trunkline.core.events import Event
from trunkline.core.events.heartbeat import HeartbeatEnded, HeartbeatScheduled, HeartbeatSkipped, HeartbeatStarted
from trunkline.sim.index.projection import Projection, on

_PLANS = (HeartbeatScheduled, HeartbeatSkipped, HeartbeatStarted)
_Beat = HeartbeatEnded | HeartbeatScheduled | HeartbeatSkipped | HeartbeatStarted


class HeartbeatStanding(msgspec.Struct, frozen=True, kw_only=True):
    """The heartbeat of an agent after an event."""

    agent: str
    #: the last run that began, was skipped or ended; none: nothing of this has happened
    last: Event | None = None
    #: when the next one is due, on the wall clock; none: it is off
    next_at: float | None = None


class Heartbeats(Projection):
    """The heartbeats of a run."""

    def __init__(self) -> None:
        #: agent -> its events, in order
        self._beats: dict[str, GrowingRows[Event]] = {}

    @on(HeartbeatScheduled, HeartbeatSkipped, HeartbeatStarted, HeartbeatEnded)
    def _beat(self, event: Event, body: _Beat) -> None:
        self._beats.setdefault(body.agent, GrowingRows(attrgetter("seq"))).add(event)

    def at(self, seq: int) -> Iterator[HeartbeatStanding]:
        """The heartbeat of each agent that has one, after event `seq`."""
        for agent, beats in self._beats.items():
            known = beats[: beats.upto(seq)][::-1]
            last = next((event for event in known if not isinstance(event.body, HeartbeatScheduled)), None)
            # One that something woke may leave open when the next is due.
            plans = (event.body for event in known if isinstance(event.body, _PLANS))
            due = (body.next_at for body in plans if isinstance(body, HeartbeatScheduled) or body.next_at is not None)
            if known:
                yield HeartbeatStanding(agent=agent, last=last, next_at=next(due, None))
