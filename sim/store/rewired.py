"""A store in which bug switches replace single commands and queries."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar

from trunkline.core.events import EventSink
from trunkline.core.store import Store
from trunkline.core.store.commands import Write
from trunkline.core.store.lease import LeaseClaim
from trunkline.core.store.queries import Read

A = TypeVar("A")
T = TypeVar("T")


class ReplacedWrite(Protocol):
    """Does something else with a command; `store.inner` is the unchanged store."""

    def __call__(
        self, store: "RewiredStore", command: Any, story: Callable[[Any], Any], then: Callable[[Any], None] | None
    ) -> Awaitable[Any]: ...


#: answers a query otherwise
ReplacedRead = Callable[["RewiredStore", Any], Awaitable[Any]]


class RewiredStore:
    """A `Store` that passes everything on to `inner`, except for what was replaced."""

    def __init__(
        self,
        inner: Store,
        events: EventSink,
        changes: Mapping[type[Write[Any]], Callable[[Any], Write[Any]]],
        writes: Mapping[type[Write[Any]], ReplacedWrite],
        reads: Mapping[type[Read[Any]], ReplacedRead],
    ) -> None:
        self.inner = inner
        self.events = events
        self._changes = changes
        self._writes = writes
        self._reads = reads

    @property
    def refusal(self) -> str:
        return self.inner.refusal

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    async def forget_begun(self) -> None:
        await self.inner.forget_begun()

    async def scrub(self) -> None:
        await self.inner.scrub()

    async def listen(self, heard: Callable[[], None]) -> None:
        await self.inner.listen(heard)

    async def run(self) -> None:
        await self.inner.run()

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        return await self.inner.claim(now, lasts)

    async def renew(self, now: float, lasts: float) -> None:
        await self.inner.renew(now, lasts)

    async def write(self, command: Write[A], story: Callable[[A], T], then: Callable[[T], None] | None = None) -> T:
        do = self._writes.get(type(command))
        if do is None:
            return await self.inner.write(self._changed(command), story, then)
        return await do(self, command, story, then)

    def submit(
        self,
        command: Write[A],
        story: Callable[[A], T],
        then: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
        *,
        urgent: bool = True,
    ) -> None:
        self.inner.submit(self._changed(command), story, then, failed, urgent=urgent)

    async def read(self, query: Read[A]) -> A:
        do = self._reads.get(type(query))
        return await (self.inner.read(query) if do is None else do(self, query))

    def _changed(self, command: Write[A]) -> Write[A]:
        change = self._changes.get(type(command))
        return command if change is None else change(command)
