"""The timers of heartbeats and of the schedule, in memory as they are stored.

Times are on the wall clock: people configure them by it, and the next process continues with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from trunkline.core.events import Body
from trunkline.core.runtime.context import Context
from trunkline.core.store.schedule import ListTimers, SetTimer, Timer

#: how the names of timers begin
HEARTBEAT, CRON = "heartbeat/", "cron/"


class Timers:
    """The timers that are configured, with their stored next times."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        #: every timer of the store; and the names of those that are configured
        self._stored: dict[str, Timer] = {}
        self._wanted: set[str] = set()

    async def load(self) -> None:
        """Read what earlier processes stored."""
        self._stored = {timer.name: timer for timer in await self._ctx.store.read(ListTimers())}

    def want(self, names: Iterable[str]) -> None:
        """Only the timers with these names fire."""
        self._wanted = set(names)

    def find(self, name: str) -> Timer | None:
        return self._stored.get(name)

    def keep(self, timer: Timer) -> None:
        """A timer is stored."""
        self._stored[timer.name] = timer

    async def store(self, timer: Timer, body: Body, cause: int | None) -> int:
        """Store a timer, and record the event that says why; returns its seq."""

        def story(_: None) -> int:
            self.keep(timer)
            return self._ctx.events.record(body, cause)

        return await self._ctx.store.write(SetTimer(timer=timer), story)

    def due(self, now: float) -> list[Timer]:
        """The timers that are due, in the order of their times."""
        found = [timer for timer in self._active() if timer.next_at is not None and timer.next_at <= now]
        return sorted(found, key=lambda timer: (timer.next_at, timer.name))

    def next_at(self, besides: Iterable[str] = ()) -> float | None:
        """When the next timer is due, but for some names."""
        left_out = set(besides)
        times = [timer.next_at for timer in self._active() if timer.name not in left_out]
        return min((at for at in times if at is not None), default=None)

    def _active(self) -> Iterable[Timer]:
        return (timer for name, timer in self._stored.items() if name in self._wanted)


def moved(timer: Timer, next_at: float | None, fired_at: float | None = None) -> Timer:
    """A timer with its next time; `fired_at`: it has fired. The latest such time stays: a clock may be set back."""
    fired = [at for at in (timer.last_at, fired_at) if at is not None]
    return msgspec.structs.replace(timer, next_at=next_at, last_at=max(fired, default=None))


def stamp(at: float) -> str:
    """A time as a part of an id."""
    return str(int(at)) if math.isfinite(at) and at == int(at) else repr(at)
