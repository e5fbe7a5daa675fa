"""Runs one simulated program from start to end, and leaves nothing behind in the interpreter."""

import asyncio
import contextlib
import gc
import inspect
import sys
from collections.abc import Awaitable, Callable, Generator
from contextvars import copy_context
from typing import Any, TypeVar, cast

from trunkline.sim.loop._compat import anyio_run_vars, anyio_task_states, as_running, mark_library
from trunkline.sim.loop._errors import SimulationError
from trunkline.sim.loop._loop import Order, SimLoop
from trunkline.sim.loop._nodes import NODE
from trunkline.sim.loop._real_time import RealTimeLoop
from trunkline.sim.loop._tasks import SimTask

T = TypeVar("T")
L = TypeVar("L", bound=SimLoop)

#: A coroutine may await in its finally blocks; each such await needs another attempt to close it.
_CLOSE_ATTEMPTS = 100


def run(
    main: Callable[[SimLoop], Awaitable[T]], *, seed: int = 0, order: Order = "keyed", max_steps: int | None = None
) -> T:
    """Run `main(loop)` on a new SimLoop to the end and return the result.

    Raises what main raises; Deadlock if nothing can continue; StepLimit after `max_steps` callbacks; SimulationError if
    this thread already runs an event loop. May be called in any thread, concurrently too, and changes no global state.

    When main has returned, the world stops: unfinished tasks, of dead and live nodes alike, are neither cancelled nor
    run. Then, with the loop stopped, their coroutines are closed, each in its own context. Their finally blocks can
    schedule nothing and find every simulated connection closed; blocks that record something should check whether their
    NODE is alive, or the loop is `over`.
    """
    _refuse_running_loop()
    return _run(main, SimLoop(seed, order=order, max_steps=max_steps))


def run_real_time(
    main: Callable[[RealTimeLoop], Awaitable[T]],
    *,
    seed: int = 0,
    factor: float = 1.0,
    waits_only: bool = False,
    max_steps: int | None = None,
) -> T:
    """Run `main(loop)` on a new RealTimeLoop, `factor` times as fast as the machine's clock. Otherwise as `run`.

    `waits_only`: only waiting is faster, and work takes no time; see `RealTimeLoop`.
    """
    _refuse_running_loop()
    loop = RealTimeLoop(seed, factor=factor, waits_only=waits_only, max_steps=max_steps)
    return _run(main, loop, ending=_unheard)


def _run(
    main: Callable[[L], Awaitable[T]],
    loop: L,
    ending: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
) -> T:
    world = copy_context()
    world.run(NODE.set, None)
    world.run(mark_library)
    task = loop.create_task(_call(main, loop), name="main", context=world.copy())
    try:
        # Inside the world too: asyncio's callback that ends the run captures the context it is set in.
        return world.run(loop.run_until_complete, task)
    finally:
        with ending():
            _dismantle(loop)


def _drop(_: object) -> None:
    pass


@contextlib.contextmanager
def _unheard() -> Generator[None]:
    """Drop what the finally blocks of libraries raise and warn of when their dead processes are taken apart.

    They find their sockets closed, and their loop too: in a process that is killed they would not have run at all.
    """
    hook, sys.unraisablehook = sys.unraisablehook, _drop
    try:
        yield
        # What refers to itself is taken apart here, and not at some later moment.
        gc.collect()
    finally:
        sys.unraisablehook = hook


async def _call(main: Callable[[L], Awaitable[T]], loop: L) -> T:
    return await main(loop)


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise SimulationError("this thread already runs an event loop; run the simulation in a worker thread")


def _dismantle(loop: SimLoop) -> None:
    """Dispose of everything a run leaves, youngest task first, so that callees are closed before their callers."""
    try:
        loop.end()
    finally:
        while left := loop.take_leftovers():
            for task in reversed(left):
                _close(task, loop)
        _forget_in_anyio(loop)
        loop.close()


def _close(task: SimTask, loop: SimLoop) -> None:
    """Close the coroutine of an unfinished task; gives up on one that keeps swallowing GeneratorExit."""
    coro = task.get_coro()
    if not inspect.iscoroutine(coro):  # the closing of an async generator, for one
        with contextlib.suppress(BaseException):
            cast(Any, coro).close()
        return
    if inspect.getcoroutinestate(coro) == inspect.CORO_CREATED:
        _close_unstarted_arguments(coro)
    for _ in range(_CLOSE_ATTEMPTS):
        # Errors of finally blocks are dropped: the run that could have handled them is over.
        with contextlib.suppress(BaseException), as_running(loop, task):
            task.home.run(coro.close)
        if inspect.getcoroutinestate(coro) == inspect.CORO_CLOSED:
            return


def _close_unstarted_arguments(coro: Any) -> None:
    """Close the coroutines passed to an unstarted one; otherwise Python warns that they were never awaited.

    anyio wraps the coroutine that a task group starts in one of its TaskHandle, which holds it as `coro`.
    """
    for value in inspect.getcoroutinelocals(coro).values():
        inner = getattr(value, "coro", value)
        if inspect.iscoroutine(inner) and inspect.getcoroutinestate(inner) == inspect.CORO_CREATED:
            inner.close()


def _forget_in_anyio(loop: SimLoop) -> None:
    """Remove the run's tasks from anyio's tables, whose entries refer to themselves and are never collected."""
    for reference in anyio_task_states.keyrefs():
        task = reference()
        if task is not None and task.get_loop() is loop:
            anyio_task_states.pop(task, None)
    anyio_run_vars.pop(loop, None)
