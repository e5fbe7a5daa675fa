"""Suspects: turns and hands whose last run ended with the process, which they may have taken down.

They are run again once the adapters have tried to connect and the process has lived for a while, so that a process that
dies early dies of something else. The first one runs alone; after each group that the process survives, the next one is
twice as large. Who was there at two deaths, or has only one run left, runs alone, before everybody else, and of several
the one that began last: if it takes the process down again, those that have not begun since are not charged.
"""

import heapq
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
import anyio.abc

#: seconds after which the next suspects start in addition to those that are still running: these outlived their start
PROBATION = 10.0
#: seconds to wait for the adapters
_CONNECT = 5.0
#: seconds that a connected process has to live before its first suspect
_SETTLE = 1.0
#: number of deaths during a suspect's runs from which on it runs alone
_ALONE = 2
#: maximum number of suspects that start together: if one of them takes the process down, each then runs alone
_MOST = 32


@dataclass(order=True, slots=True)
class _Suspect:
    """Ordered by how soon it runs."""

    rank: tuple[int, float, int]
    work: Callable[[], Awaitable[None]] = field(compare=False)
    name: str = field(compare=False)

    @property
    def alone(self) -> bool:
        """Whether it was there at more than one death, or has only one run left."""
        return -self.rank[0] >= _ALONE


class Suspects:
    """Starts suspects in groups, the most suspicious ones first."""

    def __init__(self) -> None:
        self._group: anyio.abc.TaskGroup | None = None
        self._connected = anyio.Event()
        self._waiting: list[_Suspect] = []
        self._asked = 0
        self._starts = False
        #: how many may start together
        self._size = 1

    def start(self, group: anyio.abc.TaskGroup, connected: anyio.Event) -> None:
        """Set the gateway's tasks, and what to wait for before the first suspect."""
        self._group = group
        self._connected = connected

    def run(self, work: Callable[[], Awaitable[None]], name: str, *, runs: int, most: int, since: float = 0.0) -> None:
        """Run a suspect in the background, when due.

        `runs`: how many of its runs ended with their process, of at most `most`. `since`: when the last one began, if
        that is known.
        """
        assert self._group is not None
        self._asked += 1
        # A group must not cost a suspect its last run.
        charged = max(runs, _ALONE) if runs + 1 >= most else runs
        heapq.heappush(self._waiting, _Suspect((-charged, -since, self._asked), work, name))
        if not self._starts:
            self._starts = True
            self._group.start_soon(self._start_all, name="suspects")

    async def _start_all(self) -> None:
        with anyio.move_on_after(_CONNECT):
            await self._connected.wait()
        await anyio.sleep(_SETTLE)
        while self._waiting:
            together = self._next()
            with anyio.move_on_after(PROBATION):
                for ended in [self._begin(suspect) for suspect in together]:
                    await ended.wait()
            if not together[0].alone:
                self._size = min(self._size * 2, _MOST)
        self._starts = False

    def _next(self) -> list[_Suspect]:
        first = heapq.heappop(self._waiting)
        size = 1 if first.alone else self._size
        return [first, *(heapq.heappop(self._waiting) for _ in range(min(size - 1, len(self._waiting))))]

    def _begin(self, suspect: _Suspect) -> anyio.Event:
        assert self._group is not None
        ended = anyio.Event()
        self._group.start_soon(self._run, suspect, ended, name=suspect.name)
        return ended

    async def _run(self, suspect: _Suspect, ended: anyio.Event) -> None:
        try:
            await suspect.work()
        finally:
            ended.set()
