"""The newest events of a running gateway, kept for many readers that each have their own position."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from itertools import islice
from typing import Any, cast

import anyio
import msgspec

from trunkline.core.events import Event, EventLog
from trunkline.core.events.trace import encode_event

#: the newest events that are kept, by number and by bytes of their lines
EVENTS = 50_000
BYTES = 16 << 20
#: events that may wait for the loop; beyond that the oldest are lost, which a marker says to readers
WAITING = 100_000
#: events that wait for the first reader; nobody may ever come
UNREAD = 2_000
#: bytes of lines in one batch for a reader, except that a batch has at least one line
BATCH = 64 << 10


class KeptEvent(msgspec.Struct, frozen=True, gc=False):
    """An event that is kept: its number, its kind, and its line of the trace without a line end."""

    seq: int
    kind: str
    line: bytes


class Lagged(Exception):
    """The events at a reader's position are no longer kept."""


class RecentEvents:
    """The newest events of a log, encoded once for all readers. It subscribes to the log once.

    The log calls from any thread; everything else happens on the loop on which the feed was opened.
    """

    def __init__(self, log: EventLog, process: str, *, events: int = EVENTS, most_bytes: int = BYTES) -> None:
        #: identifies this process's log: seqs begin at 1 again with each process
        self.process = process
        self.log = log
        self._events = events
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._waiting: deque[Event] = deque(maxlen=UNREAD)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._kept: deque[KeptEvent] = deque()
        self._bytes = 0
        #: the newest event that was taken from the log
        self._newest = log.seq
        self._more = anyio.Event()
        log.subscribe(self._see)

    def open(self) -> None:
        """Begin to keep events, on the loop that runs. A second call does nothing."""
        if self._loop is None:
            with self._lock:
                self._loop = asyncio.get_running_loop()
            self._take()

    @property
    def oldest(self) -> int:
        """The seq of the oldest event that is kept, or of the next one."""
        return self._kept[0].seq if self._kept else self._newest + 1

    @property
    def newest(self) -> int:
        """The seq of the newest event that readers get."""
        return self._newest

    @property
    def size(self) -> int:
        """Bytes of the lines that are kept."""
        return self._bytes

    def read(self, after: int) -> list[KeptEvent]:
        """The events that follow a seq, as many as fit into a batch. Raises `Lagged` if the next one is not kept."""
        if after + 1 < self.oldest:
            raise Lagged
        found: list[KeptEvent] = []
        size = 0
        for kept in islice(self._kept, after + 1 - self.oldest, None):
            size += len(kept.line)
            if found and size > BATCH:
                break
            found.append(kept)
        return found

    async def wait(self, after: int) -> None:
        """Wait until there is an event that follows a seq."""
        while self._newest <= after:
            await self._more.wait()

    # ------------------------------------------------------------ in the thread that records

    def _see(self, event: Event) -> None:
        with self._lock:
            self._waiting.append(event)
            loop = self._loop if len(self._waiting) == 1 else None
        if loop is not None:
            # The loop may have closed meanwhile, and the recording of an event must not fail for it.
            with contextlib.suppress(RuntimeError):
                # Once for all events that come until the loop takes them.
                loop.call_soon_threadsafe(self._take)

    # ------------------------------------------------------------ on the loop

    def _take(self) -> None:
        with self._lock:
            events, self._waiting = self._waiting, deque(maxlen=WAITING)
        if not events:
            return
        if events[0].seq != self._newest + 1:
            # Events were lost while the loop was blocked. What is kept has no holes.
            self._kept.clear()
            self._bytes = 0
        for event in events:
            kept = KeptEvent(event.seq, event.kind, line_of(event))
            self._kept.append(kept)
            self._bytes += len(kept.line)
        self._newest = events[-1].seq
        while len(self._kept) > self._events or (self._bytes > self._most_bytes and len(self._kept) > 1):
            self._bytes -= len(self._kept.popleft().line)
        self._more.set()
        self._more = anyio.Event()


def line_of(event: Event) -> bytes:
    """The line of an event in a trace, without a line end; a text that is no UTF-8 is replaced."""
    try:
        return encode_event(event)
    except UnicodeEncodeError:
        # Half of a pair from a platform's JSON: one text must not end the stream of all the others.
        body = msgspec.convert(_encodable(msgspec.to_builtins(event.body)), type(event.body))
        names = [name for name in event.__struct_fields__ if name != "body"]
        rest = {name: _encodable(getattr(event, name)) for name in names}
        return encode_event(msgspec.structs.replace(event, body=body, **rest))


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inside) for key, inside in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_encodable(inside) for inside in cast("list[Any]", value)]
    return value
