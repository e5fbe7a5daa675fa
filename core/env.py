"""Time, ids and randomness as parameters: the only module of `core` that reads the system clock or system randomness.

The simulator passes its own `Env`. Sleeping and timeouts go through anyio, which follows the event loop's clock.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable
from typing import Protocol


class Ids(Protocol):
    """Creates identifiers. `parts` describe what the id is for; an implementation may derive the id from them."""

    def new(self, kind: str, *parts: str) -> str:
        """A new id of a kind, e.g. ``inbound`` or ``session``."""
        ...


class Env:
    """The clocks, id source and random number source of a gateway.

    What is stored for another process has the time of the wall clock, `now`. What a process waits for, and how old
    something is for it, goes by the steady clock, which nobody sets: otherwise a clock that is set back by an hour
    would hold every retry for an hour.
    """

    def __init__(
        self, *, now: Callable[[], float], ids: Ids, seed: str, steady: Callable[[], float] | None = None
    ) -> None:
        #: the wall clock: seconds since the epoch, or virtual seconds
        self.now = now
        #: the steady clock: begins as the wall clock, and is never set; by default the system's
        self.steady = _steady_from(now()) if steady is None else steady
        self.ids = ids
        self._seed = seed

    def steady_of(self, wall: float) -> float:
        """A stored time on the steady clock."""
        return wall + (self.steady() - self.now())

    def wall_of(self, steady: float) -> float:
        """A time of the steady clock in the form that is stored."""
        return steady + (self.now() - self.steady())

    def random(self, label: str) -> random.Random:
        """A generator keyed by its purpose. Purposes share no stream, so that one does not disturb another."""
        return random.Random(f"{self._seed}/{label}")


class _SystemIds:
    def new(self, kind: str, *parts: str) -> str:
        return f"{kind}-{uuid.uuid4().hex}"


def _steady_from(start: float) -> Callable[[], float]:
    """A clock that begins at a time. Where the system offers it, it also counts while the machine sleeps."""
    boot_time: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    if boot_time is None:
        offset = start - time.monotonic()
        return lambda: offset + time.monotonic()
    # One call per look: every event is stamped by this clock.
    read = time.clock_gettime
    offset = start - read(boot_time)
    return lambda: offset + read(boot_time)


def system_env() -> Env:
    """The real clock, random ids and a random seed."""
    return Env(now=time.time, ids=_SystemIds(), seed=uuid.uuid4().hex)
