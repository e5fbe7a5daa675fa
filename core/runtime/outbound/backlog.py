"""The backlog of open intents: a window in memory, only ids beyond it, and limits at which senders wait."""

from __future__ import annotations

from collections.abc import Awaitable

import anyio

from trunkline.core.events.delivery import BacklogWaiting
from trunkline.core.records.rows import BrokenIntent, IntentRow
from trunkline.core.runtime.context import Context
from trunkline.core.store.queries import LoadIntents
from trunkline.core.values import Address, IntentId

_Lane = tuple[str, str, str, str]


class Backlog:
    """Counts open intents, limits those held in memory with their texts, and loads the others on demand."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        #: number of open intents, in total and by conversation
        self.open = 0
        self._by_lane: dict[_Lane, int] = {}
        #: number of intents held with their texts
        self.held = 0
        self._freed: anyio.Event | None = None
        self._wanted: dict[IntentId, anyio.Event] = {}
        self._loaded: dict[IntentId, IntentRow | BrokenIntent | None] = {}
        self._loading = False

    def add(self, lane: _Lane, *, held: bool) -> None:
        """Count a new open intent."""
        self.open += 1
        self._by_lane[lane] = self._by_lane.get(lane, 0) + 1
        self.held += held

    def done(self, lane: _Lane, *, held: bool) -> None:
        """Count an ended intent."""
        self.open -= 1
        left = self._by_lane[lane] - 1
        if left:
            self._by_lane[lane] = left
        else:
            del self._by_lane[lane]
        self.held -= held
        if self._freed is not None:
            self._freed.set()
            self._freed = None

    @property
    def holds(self) -> bool:
        """Whether another intent may be held with its texts."""
        return self.held < self._ctx.config.delivery.window

    def room(self, address: Address) -> Awaitable[None] | None:
        """What to await until the conversation and the gateway are below their limits; None: they are."""
        lane = address.lane
        return None if self._full(lane) is None else self._wait_for_room(lane)

    async def _wait_for_room(self, lane: _Lane) -> None:
        recorded = False
        while (full := self._full(lane)) is not None:
            if not recorded:
                recorded = True
                self._ctx.events.record(BacklogWaiting(open=full[0], limit=full[1]))
            if self._freed is None:
                self._freed = anyio.Event()
            await self._freed.wait()

    def _full(self, lane: _Lane) -> tuple[int, int] | None:
        """The number of open intents and the limit that is reached; None: there is room."""
        limits = self._ctx.config.delivery
        if self.open >= limits.max_backlog:
            return self.open, limits.max_backlog
        here = self._by_lane.get(lane, 0)
        return (here, limits.max_backlog_per_conversation) if here >= limits.max_backlog_per_conversation else None

    async def load(self, intent: IntentId) -> IntentRow | BrokenIntent | None:
        """An intent with its texts; what is left of a broken one; None if it is gone.

        Concurrent calls share one query.
        """
        called = self._wanted[intent] = anyio.Event()
        if self._loading:
            await called.wait()
        if intent not in self._loaded:
            await self._read()
        return self._loaded.pop(intent)

    async def _read(self) -> None:
        """Read the requested intents; then wake one of the callers that came meanwhile to do the next query."""
        self._loading = True
        wanted, self._wanted = self._wanted, {}
        loaded = await self._ctx.store.read(LoadIntents(ids=tuple(wanted)))
        rows: dict[IntentId, IntentRow | BrokenIntent] = {row.id: row for row in loaded.rows}
        rows.update(loaded.broken)
        for intent, called in wanted.items():
            self._loaded[intent] = rows.get(intent)
            called.set()
        self._loading = bool(self._wanted)
        if self._loading:
            next(iter(self._wanted.values())).set()
