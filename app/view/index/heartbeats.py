"""The heartbeats of each agent, in every past state: when the next one is due, and how the last one went."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import msgspec

from trunkline.core.events import Event
from trunkline.core.events.heartbeat import HeartbeatEnded, HeartbeatScheduled, HeartbeatSkipped, HeartbeatStarted
from trunkline.sim.index.projection import Projection, on

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
        self._beats: dict[str, list[Event]] = {}

    @on(HeartbeatScheduled, HeartbeatSkipped, HeartbeatStarted, HeartbeatEnded)
    def _beat(self, event: Event, body: _Beat) -> None:
        self._beats.setdefault(body.agent, []).append(event)

    def at(self, seq: int) -> Iterator[HeartbeatStanding]:
        """The heartbeat of each agent that has one, after event `seq`."""
        for agent, beats in self._beats.items():
            known = beats[: bisect_right(beats, seq, key=lambda event: event.seq)]
            if known:
                yield _standing(agent, known)


def _standing(agent: str, known: list[Event]) -> HeartbeatStanding:
    last = next((event for event in reversed(known) if not isinstance(event.body, HeartbeatScheduled)), None)
    planned = next((event.body for event in reversed(known) if _plans(event)), None)
    next_at = None if planned is None else getattr(planned, "next_at", None)
    return HeartbeatStanding(agent=agent, last=last, next_at=next_at)


def _plans(event: Event) -> bool:
    """Whether an event says when the next heartbeat is due; one that something woke may leave that open."""
    body = event.body
    if isinstance(body, HeartbeatScheduled):
        return True
    return isinstance(body, HeartbeatSkipped | HeartbeatStarted) and body.next_at is not None
