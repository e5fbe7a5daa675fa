"""Outcomes of inbound messages for clients that wait: they are woken by events, and never poll."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager

import anyio
from starlette.requests import ClientDisconnect

from trunkline.core.events import EventLog
from trunkline.core.events.delivery import IntentPrepared, IntentSettled
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.events.hands import CallbackChanged, DelegationAccepted
from trunkline.core.events.log import Event
from trunkline.core.http.clients import Disconnect
from trunkline.core.store.mailbox import Outcome, ReadOutcomes
from trunkline.core.store.port import Store
from trunkline.core.values import InboundId

_Asked = asyncio.Future[Outcome | None]


class _Watch:
    """A caller that waits for the outcome of an inbound message. The store's thread changes `open`."""

    __slots__ = ("changed", "deserted", "late", "open")

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        #: ids of messages that are prepared and have not ended
        self.open: set[str | None] = set()
        #: the caller has gone
        self.deserted = False
        #: its time has passed
        self.late = False

    def expire(self) -> None:
        """The time has passed."""
        self.late = True
        self.changed.set()

    def desert(self) -> None:
        """The caller has gone."""
        self.deserted = True
        self.changed.set()

    def see(self, event: Event) -> bool:
        """Take note of an event; answers whether the caller may have to wake."""
        body = type(event.body)
        if body is IntentPrepared:
            self.open.add(event.intent)
            return False
        if body is IntentSettled:
            self.open.discard(event.intent)
        # While a message is under way, its end wakes them.
        return not self.open


class OutcomeWatch:
    """Callers that wait for the outcome of an inbound message."""

    def __init__(self, log: EventLog, store: Store, stopping: anyio.Event) -> None:
        self._store = store
        self._stopping = stopping
        #: wakes everybody when the server stops; there only while somebody waits
        self._stopper: asyncio.Task[None] | None = None
        self._watches: dict[str, set[_Watch]] = {}
        #: watches whose callers are to wake, and whether the loop will do so: it is called once for many
        self._changed = deque[_Watch]()
        self._waking = False
        self._loop: asyncio.AbstractEventLoop | None = None
        #: questions to the store, and the task that asks them
        self._asked: list[tuple[InboundId, _Asked]] = []
        self._reader: asyncio.Task[None] | None = None
        log.subscribe(self._see, IntentPrepared, IntentSettled, TurnEnded, DelegationAccepted, CallbackChanged)

    @contextmanager
    def watching(self, inbound: InboundId, disconnect: Disconnect) -> Generator[_Watch]:
        """Take note of what comes of a message from now on. A caller that goes away leaves nothing behind."""
        watch = _Watch()
        self._loop = asyncio.get_running_loop()
        self._watches.setdefault(inbound, set()).add(watch)
        if self._stopper is None:
            self._stopper = asyncio.create_task(self._wake_at_stop())
        try:
            with disconnect.notifying(watch.desert):
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

        `before`: it may have been complete before the watch began. None: it is not stored. Raises `ClientDisconnect`
        when nobody waits any more.
        """
        timer = asyncio.get_running_loop().call_later(seconds, watch.expire)
        try:
            if not before:
                await watch.changed.wait()
            while True:
                watch.changed.clear()
                if watch.deserted:
                    raise ClientDisconnect
                outcome = await self.read_outcome(inbound)
                if outcome is None or outcome.complete or watch.late or self._stopping.is_set():
                    return outcome
                await watch.changed.wait()
        finally:
            timer.cancel()

    async def read_outcome(self, inbound: InboundId) -> Outcome | None:
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
                    if watch.see(event):
                        self._wake(watch)
                return
            end = name.rfind(".", 0, end)

    def _wake(self, watch: _Watch) -> None:
        """Let the loop wake a caller. Called by the thread that records."""
        self._changed.append(watch)
        # Before the loop takes the watches, it says that it is not waking: none is forgotten.
        if not self._waking and self._loop is not None:
            self._waking = True
            # The loop may have closed.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake_changed)

    def _wake_changed(self) -> None:
        self._waking = False
        while self._changed:
            watch = self._changed.popleft()
            if not watch.open:
                watch.changed.set()
