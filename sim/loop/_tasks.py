"""Tasks with a machine-independent order, and the two orders.

anyio keeps tasks and cancel scopes in sets hashed by address, so the order in which cancelled siblings become ready
differs between processes. The loop therefore sorts every batch of ready callbacks by keys that do not depend on
addresses: the birth of the task, or its name and number of steps.
"""
# Reads the private Handle._callback: sorting is on the hot path, and an accessor call per handle is too slow.
# `_compat` checks at import that the name exists and leads from a step and from a wake-up to its task.
# pyright: reportPrivateUsage=false

import asyncio
import zlib
from collections.abc import Callable, Coroutine, Generator, Iterable
from contextvars import Context
from typing import Any, TypeAlias

from trunkline.sim.loop._compat import LoopHandle
from trunkline.sim.loop._nodes import NODE

SortKey: TypeAlias = Callable[[LoopHandle], int]

_MASK = 0xFFFF_FFFF_FFFF_FFFF
#: The odd constants of Steele, Lea and Flood's splitmix64.
_GAMMA = 0x9E37_79B9_7F4A_7C15
_MIX_A = 0xBF58_476D_1CE4_E5B9
_MIX_B = 0x94D0_49BB_1331_11EB
#: Room for the birth number below a key. Births beyond it would only weaken the tie-break.
_BIRTH_BITS = 40
_NAMES_SHOWN = 20


class SimTask(asyncio.Task[Any]):
    """A task with a birth number, a deterministic name, and a count of its steps."""

    __slots__ = ("birth", "home", "order_base", "runs")

    def __init__(
        self,
        coro: Generator[Any, None, Any] | Coroutine[Any, Any, Any],
        *,
        loop: asyncio.AbstractEventLoop,
        birth: int,
        name: str | None,
        context: Context,
    ) -> None:
        #: Number of the task in its loop, from 1.
        self.birth = birth
        #: The context of all steps; it holds the node.
        self.home = context
        #: Steps so far, including the running one.
        self.runs = 0
        #: Hash of seed and name; see KeyedOrder.settle().
        self.order_base = 0
        # asyncio's default names come from a process-wide counter, so two runs would get different ones.
        super().__init__(coro, loop=loop, name=f"task-{birth}" if name is None else name, context=context)


def is_abandoned(task: SimTask) -> bool:
    """Whether the task's node is dead, so that the task never runs again."""
    node = task.home.get(NODE)
    return node is not None and not node.alive


def names_of(tasks: Iterable[SimTask]) -> str:
    """Names of the live, unfinished tasks, in order of birth, at most 20."""
    names = [task.get_name() for task in tasks if not task.done() and not is_abandoned(task)]
    if not names:
        return "no task"
    rest = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def splitmix64(value: int) -> int:
    """Scramble an integer of any size into 64 bits; neighbours come out unrelated."""
    x = (value + _GAMMA) & _MASK
    x = ((x ^ (x >> 30)) * _MIX_A) & _MASK
    x = ((x ^ (x >> 27)) * _MIX_B) & _MASK
    return x ^ (x >> 31)


def birth_order(handle: LoopHandle) -> int:
    """Sort key of order "fifo": callbacks other than task steps first, in order of arrival, then tasks by birth."""
    task = getattr(handle._callback, "__self__", None)
    if type(task) is SimTask:
        task.runs += 1
        return task.birth
    return 0


class KeyedOrder:
    """The order of one seed: callbacks other than task steps first, then tasks by hash of seed, name and step count.

    The order depends only on content: removing one task does not change the order of the others, which helps shrinking.
    Tasks with the same name differ by how many of that name were born before; if two keys are still equal, birth
    decides.
    """

    __slots__ = ("_namesakes", "_seed_mix")

    def __init__(self, seed: int) -> None:
        self._seed_mix = splitmix64(seed)
        self._namesakes: dict[str, int] = {}

    def settle(self, newborn: Iterable[SimTask]) -> None:
        """Set the constant part of the keys of new tasks, in order of birth.

        Must run before a task is first sorted, but after it has its name: asyncio 3.11 names tasks after creating them.
        """
        for task in newborn:
            name = task.get_name()
            nth = self._namesakes[name] = self._namesakes.get(name, -1) + 1
            task.order_base = splitmix64(self._seed_mix ^ zlib.crc32(name.encode()) ^ (nth << 32))

    @staticmethod
    def key(handle: LoopHandle) -> int:
        """Sort key of one handle. Counts the step, so it must be called once per handle."""
        task = getattr(handle._callback, "__self__", None)
        if type(task) is not SimTask:
            return 0
        task.runs = runs = task.runs + 1
        x = (task.order_base + runs * _GAMMA) & _MASK
        x = ((x ^ (x >> 30)) * _MIX_A) & _MASK
        x = ((x ^ (x >> 27)) * _MIX_B) & _MASK
        return (x << _BIRTH_BITS) | task.birth
