"""Runs that end with all that could be left over. Run under `-X dev -W error`, this must print nothing but "clean"."""

import gc
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import Context, copy_context
from functools import partial

import aiosqlite
import anyio
import anyio.lowlevel

from trunkline.sim.loop import NODE, Deadlock, Node, SimLoop, SimulationError, StepLimit, run
from trunkline.sim.store.inline_sqlite import make_inline


async def numbers() -> AsyncIterator[int]:
    try:
        for number in range(1000):
            yield number
            await anyio.sleep(1)
    finally:
        await anyio.sleep(1)


async def half_iterated() -> None:
    async for _ in numbers():
        pass


async def awaiting_in_finally() -> None:
    try:
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            for _ in range(5):
                await anyio.sleep(1)


async def retrying() -> None:
    """Swallows every Exception: were one raised by closing it, it would spin for ever."""
    while True:
        try:
            with anyio.move_on_after(5):
                await anyio.sleep_forever()
        except Exception:  # noqa: BLE001 - that is the point
            continue


async def with_connection() -> None:
    connection = aiosqlite.Connection(partial(sqlite3.connect, ":memory:"), 64)
    make_inline(connection, latency=lambda: 0.001)
    async with connection as db:
        await db.execute("CREATE TABLE t (x)")
        await db.execute("INSERT INTO t VALUES (1)")
        async with db.execute("SELECT x FROM t") as rows:
            async for _ in rows:
                await anyio.sleep_forever()


async def opening_connection() -> None:
    connection = aiosqlite.Connection(partial(sqlite3.connect, ":memory:"), 64)
    make_inline(connection, latency=lambda: 1_000_000.0)
    await connection


async def starting_and_dying() -> None:
    """Is killed in the step in which it starts others, so that they never take their first."""
    node = NODE.get()
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep, 1)
        if node is not None:
            node.kill()
        await anyio.sleep_forever()


async def in_a_group() -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep_forever)
        group.start_soon(awaiting_in_finally)
        await anyio.sleep_forever()


async def refused_request(loop: SimLoop, world: Context) -> None:
    """The world answers after the one who asked is gone."""
    future = loop.create_future()
    loop.call_later(2, future.set_exception, ValueError("nobody is left to see this"), context=world)
    await future


async def leave_behind(loop: SimLoop) -> None:
    """Leave every kind of unfinished business, half of it of a dead node."""
    for node in (Node("dead"), None):
        for work in (
            half_iterated(),
            awaiting_in_finally(),
            retrying(),
            with_connection(),
            opening_connection(),
            in_a_group(),
        ):
            loop.create_task(work, context=None if node is None else node.context())
        await anyio.sleep(3.5)
        if node is not None:
            loop.create_task(refused_request(loop, copy_context()), context=node.context())
            loop.create_task(starting_and_dying(), context=Node("another").context())
            await anyio.sleep(1)
            node.kill()
            await anyio.sleep(10)


async def ends(loop: SimLoop) -> None:
    await leave_behind(loop)


async def raises(loop: SimLoop) -> None:
    await leave_behind(loop)
    raise ZeroDivisionError


async def deadlocks(loop: SimLoop) -> None:
    node = Node("all there is")
    for work in (half_iterated(), retrying(), with_connection(), in_a_group()):
        loop.create_task(work, context=node.context())
    await anyio.sleep(3.5)
    node.kill()
    await anyio.sleep_forever()


async def spins(loop: SimLoop) -> None:
    await leave_behind(loop)
    while True:
        await anyio.lowlevel.checkpoint()


def attempt(main: Callable[[SimLoop], Awaitable[object]]) -> str:
    """Run a program and name how it ended."""
    try:
        run(main, max_steps=2000)
    except (SimulationError, ZeroDivisionError) as error:
        return type(error).__name__
    return "ended"


#: Every program, and how it must end.
EXPECTED: dict[Callable[[SimLoop], Awaitable[object]], str] = {
    ends: "ended",
    raises: "ZeroDivisionError",
    deadlocks: Deadlock.__name__,
    spins: StepLimit.__name__,
}

if __name__ == "__main__":
    for program, ending in EXPECTED.items():
        assert attempt(program) == ending, (program, attempt(program))
        gc.collect()
    print("clean")
