"""Suspects: turns and hands whose last run ended with the process, which they may have taken down.

They are run again one at a time, once the adapters have tried to connect and the process has lived for a while: a
suspect that takes the process down again is charged alone, everybody else is served between its runs, and a process
that dies early dies of something else.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import anyio.abc

#: seconds after which the next suspect starts beside one that is still running
_ALONE = 10.0
#: seconds to wait for the adapters
_CONNECT = 5.0
#: seconds that a connected process has to live before its first suspect
_SETTLE = 1.0


class Suspects:
    """Starts suspects one at a time, in the order in which they ask."""

    def __init__(self) -> None:
        self._door = anyio.Semaphore(1)
        self._group: anyio.abc.TaskGroup | None = None
        self._connected = anyio.Event()

    def start(self, group: anyio.abc.TaskGroup, connected: anyio.Event) -> None:
        """Set the gateway's tasks, and what to wait for before the first suspect."""
        self._group = group
        self._connected = connected

    def run(self, work: Callable[[], Awaitable[None]], name: str) -> None:
        """Run a suspect in the background, when it is its turn."""
        assert self._group is not None
        self._group.start_soon(self._run, work, name=name)

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        with anyio.move_on_after(_CONNECT):
            await self._connected.wait()
        await anyio.sleep(_SETTLE)
        async with self._alone():
            await work()

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None, None]:
        assert self._group is not None
        await self._door.acquire()
        ended = anyio.Event()
        self._group.start_soon(self._let_next, ended, name="suspects")
        try:
            yield
        finally:
            ended.set()

    async def _let_next(self, ended: anyio.Event) -> None:
        with anyio.move_on_after(_ALONE):
            await ended.wait()
        self._door.release()
