"""Time limits for many short waits at once: one timer for all of them.

A cancel scope of its own for each attempt costs as much as a fifth of a whole delivery. This is `asyncio.timeout` with
the timer shared; anyio runs on asyncio here, and both may be mixed (aiosqlite needs asyncio anyway).
"""

from __future__ import annotations

import asyncio
from types import TracebackType


class Deadline:
    """A wait that may take until a time. Leaving it by that time's cancellation is no error: look at `expired`."""

    __slots__ = ("_cancelling", "_limits", "_task", "at", "expired")

    def __init__(self, limits: Deadlines, at: float) -> None:
        self._limits = limits
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()
        #: on the loop's clock
        self.at = at
        #: the time came before the end
        self.expired = False

    def __enter__(self) -> Deadline:
        self._limits.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._limits.remove(self)
        # Somebody else may have cancelled the task meanwhile: that goes on.
        return self.expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError

    def expire(self) -> None:
        """The time has come."""
        self.expired = True
        self._task.cancel()


class Deadlines:
    """All limits that run. Those that begin later end later, or are looked at a little late."""

    def __init__(self) -> None:
        self._running: dict[Deadline, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def within(self, seconds: float) -> Deadline:
        """A limit from now on."""
        return Deadline(self, asyncio.get_running_loop().time() + seconds)

    def add(self, limit: Deadline) -> None:
        """A limit begins."""
        self._running[limit] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(limit.at, self._look)

    def remove(self, limit: Deadline) -> None:
        """A limit is left."""
        self._running.pop(limit, None)

    def _look(self) -> None:
        """Expire what is over; the timer of the others comes with the first of them."""
        self._timer, loop = None, asyncio.get_running_loop()
        now = loop.time()
        for limit in list(self._running):
            if limit.at > now:
                break
            del self._running[limit]
            limit.expire()
        if self._running:
            self._timer = loop.call_at(next(iter(self._running)).at, self._look)
