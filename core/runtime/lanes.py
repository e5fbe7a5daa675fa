"""Lanes of work: strictly ordered inside a lane, concurrent between lanes.

Sessions are lanes of turns, conversations are lanes of deliveries. A fixed number of workers serves all lanes with
work, so ten thousand idle lanes cost nothing, and a waiting lane blocks no other (invariants O1, L6). The order inside
a lane is the order of `put`, never the order in which workers wake.
"""

import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import anyio
import anyio.abc

from trunkline.core.runtime.deadlines import wait_at_most

#: a handler returns this, which is not a time, to keep its lane held
HELD = float("inf")
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Lanes(Generic[K, T]):
    """Lanes of items, which may be put in before a handler is there.

    The handler gets lane and item. It returns None when the item is done; a time (seconds on `now`'s clock) to handle
    the same item again then; or `HELD` to hold the lane until `done` or `again` is called for it.
    """

    def __init__(self, name: str, *, workers: int, now: Callable[[], float]) -> None:
        self._name = name
        self._handle: Callable[[K, T], Awaitable[float | None]] | None = None
        self._limit = workers
        self._now = now
        self._lanes: dict[K, deque[T]] = {}
        self._ready: deque[K] = deque()
        # One permit per ready lane. A semaphore is far cheaper than an event for each pause of a worker.
        self._permits = anyio.Semaphore(0)
        #: number of waiting workers that have not been signalled yet
        self._idle = 0
        self._resting: list[tuple[float, int, K]] = []
        self._rests = 0
        self._rest_changed = anyio.Event()
        self._workers = 0
        self._group: anyio.abc.TaskGroup | None = None

    def start(self, group: anyio.abc.TaskGroup, handle: Callable[[K, T], Awaitable[float | None]]) -> None:
        """Start the workers in a task group; items put before are handled now."""
        self._group, self._handle = group, handle
        group.start_soon(self._wake_rested, name=f"{self._name} clock")
        for _ in range(min(len(self._ready), self._limit)):
            self._spawn(group)

    def put(self, lane: K, item: T) -> None:
        waiting = self._lanes.get(lane)
        if waiting is None:
            self._lanes[lane] = deque((item,))
            self._make_ready(lane)
        else:
            waiting.append(item)

    def replace_head(self, lane: K, item: T) -> None:
        """Replace the item being handled by a later state of itself."""
        self._lanes[lane][0] = item

    def finish_head(self, lane: K) -> None:
        waiting = self._lanes[lane]
        waiting.popleft()
        if waiting:
            self._make_ready(lane)
        else:
            del self._lanes[lane]

    def repeat_head(self, lane: K) -> None:
        self._make_ready(lane)

    def is_busy(self, lane: K) -> bool:
        return lane in self._lanes

    def heads(self) -> list[T]:
        """The first item of each lane: what is handled now, or next."""
        return [waiting[0] for waiting in self._lanes.values() if waiting]

    def wake(self, wanted: Callable[[K], bool]) -> None:
        awake = [lane for _, _, lane in self._resting if wanted(lane)]
        self._resting = [rest for rest in self._resting if not wanted(rest[2])]
        heapq.heapify(self._resting)
        for lane in awake:
            self._make_ready(lane)

    def _make_ready(self, lane: K) -> None:
        self._ready.append(lane)
        if self._idle:
            self._idle -= 1
        elif self._group is not None and self._workers < self._limit:
            self._spawn(self._group)
        self._permits.release()

    def _spawn(self, group: anyio.abc.TaskGroup) -> None:
        self._workers += 1
        group.start_soon(self._work, name=f"{self._name} {self._workers}")

    async def _work(self) -> None:
        # A worker that puts its lane back keeps the permit for it.
        holds_permit, handle = False, self._handle
        assert handle is not None
        while True:
            if not holds_permit:
                if self._permits.value:
                    self._permits.acquire_nowait()
                else:
                    self._idle += 1
                    await self._permits.acquire()
            lane = self._ready.popleft()
            waiting = self._lanes[lane]
            rest_until = await handle(lane, waiting[0])
            holds_permit = rest_until is None and len(waiting) > 1
            if rest_until is not None:
                if rest_until != HELD:
                    self._rest(lane, rest_until)
            elif holds_permit:
                waiting.popleft()
                self._ready.append(lane)
            else:
                del self._lanes[lane]

    def _rest(self, lane: K, until: float) -> None:
        self._rests += 1
        heapq.heappush(self._resting, (until, self._rests, lane))
        self._rest_changed.set()

    async def _wake_rested(self) -> None:
        while True:
            while self._resting and self._resting[0][0] <= self._now():
                self._make_ready(heapq.heappop(self._resting)[2])
            changed = self._rest_changed = anyio.Event()
            if not self._resting:
                await changed.wait()
                continue
            await wait_at_most(changed, max(self._resting[0][0] - self._now(), 0.001))
