"""An event loop whose time is a number: no selector, no file descriptors, one order of callbacks per seed.

One iteration of the loop:
1. If nothing is ready, the clock jumps to the earliest timer. Without any timer, that is a Deadlock.
2. Due timers join the ready callbacks, by deadline and then in the order they were set.
3. The batch is sorted: first all callbacks that are not steps of tasks, in the order they became ready, then the steps
   of tasks, by birth (order "fifo") or by seed, name and number of steps (order "keyed").
4. The batch runs. Callbacks that become ready meanwhile wait for the next iteration, as in asyncio.

Callbacks that are cancelled or belong to dead nodes are skipped and never move the clock. Those of frozen nodes are
kept until the node is thawed.
"""
# The loop uses private attributes of asyncio's base loop and handles: there is no other way to write a loop, and
# accessors would cost a fifth of the speed. `_compat` checks each of these names at import.
# pyright: reportPrivateUsage=false

import asyncio
import heapq
import math
import sys
from asyncio import events
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import Executor
from contextvars import Context, copy_context
from threading import current_thread, get_ident
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar, TypeVarTuple, Unpack

from trunkline.sim.loop._compat import LoopHandle, TimerLoopHandle
from trunkline.sim.loop._errors import Deadlock, ForeignThread, SimulationError, StepLimit
from trunkline.sim.loop._nodes import NODE, Node
from trunkline.sim.loop._tasks import KeyedOrder, SimTask, SortKey, birth_order, is_abandoned, names_of

Order: TypeAlias = Literal["fifo", "keyed"]

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")
#: Minimum number of cancelled timers or finished tasks that is worth a sweep.
_SWEEP_FROM = 128


class SimLoop(asyncio.BaseEventLoop):
    """An event loop in virtual time. A run on it is a function of the program and the seed.

    With `order` "keyed", `seed` chooses the order of tasks that are ready together; "fifo" has only one order.
    `max_steps` bounds the callbacks of the run (StepLimit).
    Use `sim.loop.run` to run a program on a new loop and to clean up. A loop that raised cannot be run again.
    """

    _ready: deque[LoopHandle]
    _stopping: bool
    _closed: bool
    _thread_id: int | None
    _asyncgens: set[AsyncGenerator[Any, Any]]

    def __init__(self, seed: int = 0, *, order: Order = "keyed", max_steps: int | None = None) -> None:
        super().__init__()
        #: Callbacks run so far, including the running one.
        self.steps = 0
        #: Timers fired so far.
        self.timer_events = 0
        #: Called with `steps` after every callback, outside all nodes; may kill nodes. Its errors end the run.
        self.on_step: Callable[[int], None] | None = None
        #: True once the run is over: callbacks scheduled from now on never run.
        self.over = False
        self._now = 0.0
        self._step_limit = sys.maxsize if max_steps is None else max_steps
        self._timers: list[tuple[float, int, TimerLoopHandle]] = []
        self._timers_set = 0
        self._timers_cancelled = 0
        # Strong references, in order of birth: otherwise the garbage collector would run the finally blocks of a dead
        # node's tasks at an unpredictable moment.
        self._tasks: list[SimTask] = []
        #: number of tasks started so far: names and order of later tasks depend on it
        self.births = 0
        self._sweep_at = _SWEEP_FROM
        self._newborn: list[SimTask] = []
        self._keyed = KeyedOrder(seed) if order == "keyed" else None
        self._sort_key: SortKey = KeyedOrder.key if self._keyed else birth_order
        self._refused: str | None = None
        self._cleanups: dict[Callable[[], None], None] = {}

    def time(self) -> float:
        return self._now

    def _has_next_timer(self) -> bool:
        """Drop cancelled and dead timers from the top of the heap; return whether a live one is left."""
        timers = self._timers
        while timers:
            handle = timers[0][2]
            if not handle._cancelled:
                node = handle._context.get(NODE)
                if node is None or node.alive:
                    return True
            else:
                self._timers_cancelled -= 1
            heapq.heappop(timers)[2]._scheduled = False
        return False

    def _fire_due(self) -> None:
        """Move due timers to the ready batch, by deadline, equal ones in the order they were set."""
        timers, now = self._timers, self._now
        while timers and timers[0][0] <= now:
            handle = heapq.heappop(timers)[2]
            handle._scheduled = False
            if handle._cancelled:
                self._timers_cancelled -= 1
                continue
            node = handle._context.get(NODE)
            if node is None or node.alive:
                self.timer_events += 1
                self._ready.append(handle)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Count a cancelled timer (asyncio calls this), and sweep the heap when more than half are cancelled."""
        if not handle._scheduled:  # pyright: ignore[reportAttributeAccessIssue] -- as in `call_soon`
            return
        self._timers_cancelled += 1
        timers = self._timers
        if self._timers_cancelled > _SWEEP_FROM and self._timers_cancelled * 2 > len(timers):
            # The current handle is marked as cancelled only after this call, so it stays until the next sweep.
            timers[:] = [timer for timer in timers if not timer[2]._cancelled]
            heapq.heapify(timers)
            self._timers_cancelled = 1

    def call_soon(
        self, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Run the callback in the next iteration, in the given context or a copy of the current one."""
        if self._thread_id != get_ident():
            self._check_thread_is_ours(callback)
        if self._closed:
            self._refuse_closed()
        handle = events.Handle(callback, args, self, context)
        # A `cast` here is a call for every callback of a run.
        self._ready.append(handle)  # pyright: ignore[reportArgumentType] -- the stubs hide what a handle has
        return handle

    def call_at(
        self, when: float, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run the callback at a virtual time; never, if it is infinite. Raises ValueError for NaN."""
        if self._thread_id != get_ident():
            self._check_thread_is_ours(callback)
        if self._closed:
            self._refuse_closed()
        handle = events.TimerHandle(when, callback, args, self, context)
        if when < math.inf:
            self._timers_set += 1
            heapq.heappush(self._timers, (when, self._timers_set, handle))  # pyright: ignore[reportArgumentType] -- as above
            handle._scheduled = True  # pyright: ignore[reportAttributeAccessIssue] -- as above
        elif when != math.inf:
            raise ValueError(f"a timer needs a time, not {when!r}")
        return handle

    def call_later(
        self, delay: float, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """As call_soon. Raises ForeignThread in any thread but the loop's."""
        return self.call_soon(callback, *args, context=context)

    def _refuse_closed(self) -> NoReturn:
        raise RuntimeError("Event loop is closed")  # asyncio's own message, which libraries check for

    def _check_thread_is_ours(self, callback: object) -> None:
        if self._thread_id is None:  # not running: any thread may prepare the loop
            return
        name = getattr(callback, "__qualname__", type(callback).__qualname__)
        self._refused = f"thread {current_thread().name!r} scheduled {name}"
        raise ForeignThread(
            f"{self._refused} in a simulated loop; in a simulation, work runs inline in the loop, not in threads"
        )

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[_Ts]], _T], *args: *_Ts
    ) -> asyncio.Future[_T]:
        """Run the function in the loop itself, as a callback of the next iteration. No executor is used."""
        del executor
        future: asyncio.Future[_T] = self.create_future()
        self.call_soon(self._run_job, future, func, args)
        return future

    @staticmethod
    def _run_job(future: asyncio.Future[_T], func: Callable[..., _T], args: tuple[object, ...]) -> None:
        if future.cancelled():
            return
        try:
            result = func(*args)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - like an executor: the awaiter gets any error
            future.set_exception(error)
        else:
            future.set_result(result)

    async def getaddrinfo(self, *_: object, **__: object) -> NoReturn:
        raise SimulationError("getaddrinfo: there is no network in virtual time")

    async def getnameinfo(self, *_: object, **__: object) -> NoReturn:
        raise SimulationError("getnameinfo: there is no network in virtual time")

    def thaw(self, node: Node) -> None:
        """Thaw a frozen node: its held callbacks become ready now, in their original order."""
        if node.frozen:
            node.still = False
            self._ready.extend(node.held)
            node.held.clear()

    def create_task(
        self,
        coro: Generator[Any, None, _T] | Coroutine[Any, Any, _T],
        *,
        name: object = None,
        context: Context | None = None,
        **options: object,
    ) -> asyncio.Task[_T]:
        """Start a task. Without a name it gets one from this loop's own counter.

        Names decide the schedule and appear in messages: name tasks after what they work on.
        """
        if options.get("eager_start"):
            raise SimulationError("a simulated loop cannot start a task eagerly: its first step would not be scheduled")
        if self._closed:
            self._refuse_closed()
        self.births += 1
        task = SimTask(
            coro,
            loop=self,
            birth=self.births,
            name=None if name is None else str(name),
            context=copy_context() if context is None else context,
        )
        self._tasks.append(task)
        if self._keyed is not None:
            self._newborn.append(task)
        if len(self._tasks) > self._sweep_at:
            self._forget_done_tasks()
        return task

    def set_task_factory(self, factory: Callable[..., Any] | None) -> None:
        """Refuse any factory: only the loop's own tasks can be ordered, and eager steps are not scheduled."""
        if factory is not None:
            name = getattr(factory, "__qualname__", repr(factory))
            raise SimulationError(f"a simulated loop creates its own tasks; it cannot use the task factory {name}")

    def pending_tasks(self) -> list[SimTask]:
        """Return the tasks that are not done, including those of dead nodes, in order of birth."""
        return [task for task in self._tasks if not task.done()]

    def _forget_done_tasks(self) -> None:
        for task in self._tasks:
            if task.done() and is_abandoned(task):
                task._log_traceback = False  # its node is dead, so its error needs no report
        self._tasks = self.pending_tasks()
        self._sweep_at = max(_SWEEP_FROM, 2 * len(self._tasks))

    def _run_once(self) -> None:
        ready, timers = self._ready, self._timers
        if not ready and not self._stopping:
            if not self._has_next_timer():
                raise Deadlock(self._describe("nothing is ready and no timer is set"))
            self._now = max(self._now, timers[0][0])
        if timers and timers[0][0] <= self._now:
            self._fire_due()
        if self._newborn and self._keyed is not None:
            self._keyed.settle(self._newborn)
            self._newborn.clear()
        # Nine of ten batches have one callback.
        if len(ready) == 1:
            handle = ready.popleft()
            task = getattr(handle._callback, "__self__", None)
            if type(task) is SimTask:
                task.runs += 1
            self._run_handle(handle)
            return
        # The sort key also counts the steps of tasks.
        batch = sorted(ready, key=self._sort_key)
        ready.clear()
        for handle in batch:
            self._run_handle(handle)

    def _run_handle(self, handle: LoopHandle) -> None:
        if handle._cancelled:
            return
        node = handle._context.get(NODE)
        if node is not None and node.still:
            if node.alive:
                node.held.append(handle)
            return
        if self.steps >= self._step_limit:
            raise StepLimit(self._describe(f"the budget of {self._step_limit} steps is used up"))
        self.steps += 1
        handle._run()
        if self.on_step is not None:
            self.on_step(self.steps)

    def _describe(self, what: str) -> str:
        text = f"{what} at t={self._now:g} s, step {self.steps}; not done: {names_of(self._tasks)}"
        return text if self._refused is None else f"{text}; before that, {self._refused}, which was refused"

    def add_cleanup(self, callback: Callable[[], None]) -> None:
        """Register a callback for the end of the run, before any coroutine is closed."""
        self._cleanups[callback] = None

    def discard_cleanup(self, callback: Callable[[], None]) -> None:
        self._cleanups.pop(callback, None)

    def end(self) -> None:
        """End the run: report failed tasks whose errors were never retrieved, and run the cleanups."""
        for task in self._tasks:
            if task.done() and task._log_traceback and not is_abandoned(task):
                self._report_unseen(task)
        self.over = True
        self.set_exception_handler(None)
        while self._cleanups:
            callback, _ = self._cleanups.popitem()
            callback()

    def _report_unseen(self, task: SimTask) -> None:
        # asyncio reports this when a task is garbage collected, which is an unpredictable moment.
        error = task.exception()
        message = f"task {task.get_name()} failed, and its error was never retrieved"
        self.call_exception_handler({"message": message, "exception": error, "task": task})

    def take_leftovers(self) -> list[SimTask]:
        """Return the tasks that will never be done, in order of birth, and drop all scheduled callbacks."""
        self._ready.clear()
        self._timers.clear()
        self._timers_cancelled = 0
        self._newborn.clear()
        self._forget_done_tasks()
        left, self._tasks = self._tasks, []
        return left

    def close(self) -> None:
        """Close the loop. Drops unfinished tasks; `sim.loop.run` closes them first."""
        super().close()
        self.over = True
        self.on_step = None
        self.take_leftovers()

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Log an error in a callback, as asyncio does; ignored after the end of the run."""
        if not self.over:
            super().default_exception_handler(context)

    def _asyncgen_finalizer_hook(self, agen: AsyncGenerator[Any, Any]) -> None:
        """Close a dropped async generator in the loop, unless the run is over or the caller is another thread.

        asyncio calls this.
        """
        self._asyncgens.discard(agen)
        if not self.over and self._thread_id == get_ident():
            self.create_task(agen.aclose(), name="close an async generator")
