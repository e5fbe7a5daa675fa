"""Waiting for what comes of inbound messages: woken by events, never by asking again and again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from contextlib import contextmanager

import anyio

from trunkline.core.events import EventLog
from trunkline.core.events.delivery import IntentPrepared, IntentSettled
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.events.hands import CallbackChanged, DelegationAccepted
from trunkline.core.events.log import Event
from trunkline.core.store.mailbox import Outcome, ReadOutcomes
from trunkline.core.store.port import Store
from trunkline.core.values import InboundId

_Asked = asyncio.Future[Outcome | None]


class _Watch:
    """One caller that waits for an inbound message. The store's thread adds to it."""

    __slots__ = ("changed", "loop", "open")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.changed = asyncio.Event()
        #: ids of messages that are prepared and have not ended
        self.open: set[str | None] = set()

    def see(self, event: Event) -> None:
        body = type(event.body)
        if body is IntentPrepared:
            self.open.add(event.intent)
            return
        if body is IntentSettled:
            self.open.discard(event.intent)
        # The loop may have closed.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.look)

    def look(self) -> None:
        """Wake the caller, unless a message is still under way: its end wakes them."""
        if not self.open:
            self.changed.set()


class OutcomeWatch:
    """Callers that wait for the outcome of an inbound message."""

    def __init__(self, log: EventLog, store: Store, stopping: anyio.Event) -> None:
        self._store = store
        self._stopping = stopping
        #: wakes everybody when the server stops; there only while somebody waits
        self._stopper: asyncio.Task[None] | None = None
        self._watches: dict[str, set[_Watch]] = {}
        #: questions to the store, and the task that asks them
        self._asked: list[tuple[InboundId, _Asked]] = []
        self._reader: asyncio.Task[None] | None = None
        log.subscribe(self._see, IntentPrepared, IntentSettled, TurnEnded, DelegationAccepted, CallbackChanged)

    @contextmanager
    def watching(self, inbound: InboundId) -> Generator[_Watch]:
        """Take note of what comes of a message from now on. A caller that goes away leaves nothing behind."""
        watch = _Watch()
        self._watches.setdefault(inbound, set()).add(watch)
        if self._stopper is None:
            self._stopper = asyncio.create_task(self._wake_at_stop())
        try:
            yield watch
        finally:
            there = self._watches[inbound]
            there.discard(watch)
            if not there:
                del self._watches[inbound]
            if not self._watches:
                self._stopper.cancel()
                self._stopper = None

    async def _wake_at_stop(self) -> None:
        await self._stopping.wait()
        for watches in self._watches.values():
            for watch in watches:
                watch.changed.set()

    async def wait(self, inbound: InboundId, watch: _Watch, seconds: float, *, before: bool) -> Outcome | None:
        """The outcome of a message once it is complete, after some seconds, or when the server stops.

        `before`: it may have been complete before the watch began. None: it is not stored.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if not before:
                    await watch.changed.wait()
                while True:
                    watch.changed.clear()
                    outcome = await self.read(inbound)
                    if outcome is None or outcome.complete or self._stopping.is_set():
                        return outcome
                    await watch.changed.wait()
        return await self.read(inbound)

    async def read(self, inbound: InboundId) -> Outcome | None:
        """The outcome of a message so far; none: it is not stored.

        Questions of the same moment go to the store together: a hop to its thread costs more than an answer.
        """
        asked: _Asked = asyncio.get_running_loop().create_future()
        self._asked.append((inbound, asked))
        if self._reader is None:
            self._reader = asyncio.create_task(self._read_all())
        return await asked

    async def _read_all(self) -> None:
        """Answer all questions, in as few reads as possible."""
        try:
            while self._asked:
                some, self._asked = self._asked, []
                try:
                    found = await self._store.read(ReadOutcomes(inbounds=tuple(inbound for inbound, _ in some)))
                except Exception as error:  # noqa: BLE001 (those who ask get it)
                    for _, asked in some:
                        if not asked.done():
                            asked.set_exception(error)
                    continue
                for (_, asked), outcome in zip(some, found, strict=True):
                    if not asked.done():
                        asked.set_result(outcome)
        finally:
            self._reader = None

    def _see(self, event: Event) -> None:
        watches = self._watches
        name = event.inbound or event.intent or event.delegation
        if not watches or name is None:
            return
        # What a message causes has its id and a dot in front.
        end = len(name)
        while end > 0:
            found = watches.get(name[:end])
            if found is not None:
                for watch in tuple(found):
                    watch.see(event)
                return
            end = name.rfind(".", 0, end)
