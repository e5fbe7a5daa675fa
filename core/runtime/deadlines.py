"""Deadlines for many short waits that share one timer.

A cancel scope per attempt would cost a fifth of a whole delivery. This is `asyncio.timeout` with a shared timer; anyio
runs on asyncio here, and both may be mixed (aiosqlite needs asyncio anyway).
"""

from __future__ import annotations

import asyncio
from types import TracebackType


class Deadline:
    """A context manager that cancels its body at a time. It suppresses that cancellation and sets `expired`."""

    __slots__ = ("_cancelling", "_limits", "_task", "at", "expired")

    def __init__(self, limits: Deadlines, at: float) -> None:
        self._limits = limits
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()
        #: time on the event loop's clock
        self.at = at
        #: whether the body was cancelled because of the deadline
        self.expired = False

    def __enter__(self) -> Deadline:
        self._limits.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._limits.remove(self)
        # Another cancellation of the task, by someone else, must propagate.
        return self.expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError

    def expire(self) -> None:
        self.expired = True
        self._task.cancel()


class Deadlines:
    """All running deadlines. A deadline that begins later but ends earlier than another may fire a little late."""

    def __init__(self) -> None:
        self._running: dict[Deadline, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def within(self, seconds: float) -> Deadline:
        return Deadline(self, asyncio.get_running_loop().time() + seconds)

    def add(self, limit: Deadline) -> None:
        self._running[limit] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(limit.at, self._look)

    def remove(self, limit: Deadline) -> None:
        self._running.pop(limit, None)

    def _look(self) -> None:
        """Fire the deadlines that have passed, and set the timer for the next one."""
        self._timer, loop = None, asyncio.get_running_loop()
        now = loop.time()
        for limit in list(self._running):
            if limit.at > now:
                break
            del self._running[limit]
            limit.expire()
        if self._running:
            self._timer = loop.call_at(next(iter(self._running)).at, self._look)
