"""Deadlines for many short calls to user code that share one timer, and waits without a cancel scope.

A cancel scope per attempt would cost a fifth of a whole delivery. This is `asyncio.timeout` with a shared timer; anyio
runs on asyncio here, and both may be mixed (aiosqlite needs asyncio anyway).
"""

import asyncio
from types import TracebackType
from typing import Any

import anyio

from trunkline.core.runtime.user_code import Border


class Deadline(Border):
    """A border to user code that cancels its body at a time, suppresses that cancellation and sets `expired`."""

    __slots__ = ("_running", "at", "expired")

    def __init__(self, running: "dict[Deadline, None]", task: asyncio.Task[Any], at: float) -> None:
        self._running = running
        self._task = task
        self._cancelling = task.cancelling()
        #: time on the event loop's clock
        self.at = at
        #: whether the body was cancelled because of the deadline
        self.expired = False

    def __enter__(self) -> "Deadline":
        self._running[self] = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._running.pop(self, None)
        if self.expired and isinstance(error, asyncio.CancelledError):
            # Another cancellation of the task, by someone else, must propagate.
            return self._task.uncancel() <= self._cancelling
        self._leave(error)
        return False

    def expire(self) -> None:
        self.expired = True
        self._task.cancel()


class Deadlines:
    """All running deadlines. A deadline that begins later but ends earlier than another may fire a little late."""

    def __init__(self) -> None:
        self._running: dict[Deadline, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def within(self, seconds: float) -> Deadline:
        """A deadline of the current task, to be entered at once."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None
        at = loop.time() + seconds
        if self._timer is None:
            self._timer = loop.call_at(at, self._look)
        return Deadline(self._running, task, at)

    def _look(self) -> None:
        """Fire the passed deadlines, and set the timer for the next."""
        self._timer, loop = None, asyncio.get_running_loop()
        now = loop.time()
        for limit in list(self._running):
            if limit.at > now:
                break
            del self._running[limit]
            limit.expire()
        if self._running:
            self._timer = loop.call_at(next(iter(self._running)).at, self._look)


async def wait_at_most(event: anyio.Event, seconds: float) -> None:
    """Wait for an event, and set it when the seconds have passed. A cancel scope takes four more steps of the loop."""
    timer = asyncio.get_running_loop().call_later(seconds, event.set)
    try:
        await event.wait()
    finally:
        timer.cancel()
