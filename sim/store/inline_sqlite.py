"""aiosqlite without its thread: the same connection class, its statements run inside the simulated loop.

Two private attributes of a connection are replaced: its queue and its thread. aiosqlite's cursors, rows and errors, and
all SQL above it, are those of production. So is what a caller can observe: statements run first in, first out; a queued
statement runs even if its awaiter was cancelled, and a cancelled commit still commits; a closed connection answers as a
closed one. Only two things differ: the time that statements take is virtual, and nothing runs for a dead node.
"""
# aiosqlite publishes no way to run it without a thread. `check_aiosqlite` checks the names below at import.
# pyright: reportPrivateUsage=false

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import aiosqlite
import aiosqlite.core

from trunkline.sim.loop import SimLoop, SimulationError
from trunkline.sim.loop._compat import check_aiosqlite, check_names

__all__ = ["abandon", "make_inline"]

_Job = Callable[[], object]

check_aiosqlite(aiosqlite.Connection(partial(sqlite3.connect, ":memory:"), 64))
check_names(aiosqlite.core, "aiosqlite.core", ("_STOP_RUNNING_SENTINEL",))
_STOPPED: object = aiosqlite.core._STOP_RUNNING_SENTINEL


def make_inline(
    connection: aiosqlite.Connection,
    *,
    latency: Callable[[], float] | None = None,
    before: Callable[[Callable[..., object]], None] | None = None,
) -> None:
    """Make a connection that is not open yet run on the SimLoop that runs when it is opened.

    Every queued function takes `latency()` virtual seconds, or none; one runs after the other. `before` is called with
    each function right before it runs; an error that it raises reaches the awaiter instead of the function's result.
    Raises `SimulationError` when the connection is open or opening already.
    """
    if connection._connection is not None or connection._thread.ident is not None:
        raise SimulationError("an aiosqlite connection must be made inline before it is opened")
    private = cast(Any, connection)
    private._tx = _InlineQueue(connection, latency, before)
    private._thread = _NoThread()


def abandon(connection: aiosqlite.Connection) -> None:
    """Close a connection under its users, as the end of a process does. Uncommitted work is lost.

    The raw connection is closed through its own `close`, so that a disk which outlives processes keeps its data. Later
    calls raise `ValueError`. Abandoning twice changes nothing.
    """
    raw, connection._connection = connection._connection, None
    if raw is not None:
        with contextlib.suppress(sqlite3.Error):
            raw.close()


class _NoThread:
    """Replaces the connection's thread: can be started once, and does nothing."""

    __slots__ = ("ident",)

    def __init__(self) -> None:
        self.ident: int | None = None

    def start(self) -> None:
        if self.ident is not None:
            raise RuntimeError("threads can only be started once")
        self.ident = 0


class _InlineQueue:
    """Stands in for the connection's queue: runs each job as a callback of the loop.

    The callback keeps the context of its caller, so it dies with the caller's node. Jobs run first in, first out: equal
    deadlines keep their order, and no job finishes before the one in front of it.
    """

    __slots__ = ("_before", "_cleanup", "_connection", "_free_at", "_latency", "_loop", "_stopped")

    def __init__(
        self,
        connection: aiosqlite.Connection,
        latency: Callable[[], float] | None,
        before: Callable[[Callable[..., object]], None] | None,
    ) -> None:
        self._connection = connection
        self._cleanup = partial(abandon, connection)
        self._latency = latency
        self._before = before
        self._loop: SimLoop | None = None
        self._free_at = 0.0
        self._stopped = False

    def put_nowait(self, item: tuple[asyncio.Future[Any] | None, _Job]) -> None:
        loop = self._loop or self._settle()
        if loop.over:
            return
        future, job = item
        if self._latency is None:
            loop.call_soon(self._run, future, job)
            return
        self._free_at = max(loop.time(), self._free_at) + max(0.0, self._latency())
        loop.call_at(self._free_at, self._run, future, job)

    def _settle(self) -> SimLoop:
        loop = asyncio.get_running_loop()
        if not isinstance(loop, SimLoop):
            raise SimulationError(f"an inline connection needs a SimLoop to run on, not a {type(loop).__name__}")
        # The loop's reference keeps an unclosed connection from being finalized in the middle of a run.
        loop.add_cleanup(self._cleanup)
        self._loop = loop
        return loop

    def _run(self, future: asyncio.Future[Any] | None, job: _Job) -> None:
        if self._stopped:  # the thread would have ended: jobs behind the stop never run
            return
        try:
            if self._before is not None:
                self._before(job)
            result = job()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - like the thread: the awaiter gets any error
            if future is not None and not future.done():
                future.set_exception(error)
            return
        if result is _STOPPED:
            self._stopped = True
            if self._loop is not None:
                self._loop.discard_cleanup(self._cleanup)
        if future is not None and not future.done():
            future.set_result(result)
