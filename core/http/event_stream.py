"""``GET /v1/events``: the events of the gateway as server-sent events, from now on or from where a client left off."""

import asyncio
import contextlib
import re
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from functools import partial
from itertools import islice
from typing import Any, cast

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from trunkline.core.events import BODIES, Event, EventLog, gateway, trace
from trunkline.core.http.auth import Tokens, bearer, require
from trunkline.core.http.clients import Scope as TokenScope
from trunkline.core.http.event_snapshot import snapshot_of
from trunkline.core.http.problems import Problem, unavailable
from trunkline.core.http.requests import query_of
from trunkline.core.http.served import Served
from trunkline.core.runtime.process_start import process_started
from trunkline.core.store.operators.present import ReadPresent

# The newest events of a running gateway, kept for many readers that each have their own position.

#: the newest events that are kept, by number and by bytes of their lines
EVENTS = 50_000
BYTES = 16 << 20
#: events that may wait for the loop; beyond that the oldest are lost, which a marker says to readers
WAITING = 100_000
#: events that are kept while nobody reads, not even encoded; nobody may ever come
UNREAD = 2_000
#: seconds without a reader after which no more than these are kept
UNUSED = 300.0
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
    """The newest events of a log, encoded once for all readers. While nobody reads, an event costs one `append`.

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
        #: what the log calls: nothing else happens while nobody reads
        self._keep = self._waiting.append
        #: none: nobody reads
        self._loop: asyncio.AbstractEventLoop | None = None
        #: readers now, and when there was one last
        self.readers = 0
        self._used = 0.0
        self._kept: deque[KeptEvent] = deque()
        #: bytes of the lines that are kept
        self.size = 0
        #: the seq of the newest event for readers
        self.newest = log.seq
        self._more = anyio.Event()
        log.subscribe(self._keep)

    def open(self) -> None:
        """Begin to encode events, on the loop that runs, until nobody has read them for a while."""
        loop = asyncio.get_running_loop()
        self._used = loop.time()
        if self._loop is None:
            with self._lock:
                self._loop = loop
            self.log.resubscribe(self._keep, self._see)
            self._take()
            loop.call_later(UNUSED, self._close_if_unused)

    @contextlib.contextmanager
    def reading(self) -> Generator[None]:
        """Count a reader."""
        self.readers += 1
        try:
            yield
        finally:
            self.readers -= 1
            self._used = asyncio.get_running_loop().time()

    def _close_if_unused(self) -> None:
        loop = asyncio.get_running_loop()
        if self.readers or loop.time() - self._used < UNUSED:
            loop.call_later(UNUSED, self._close_if_unused)
            return
        with self._lock:
            self._loop, self._waiting = None, deque(maxlen=UNREAD)
        # The log holds its lock while it calls `_see`, which takes ours.
        self._keep = self._waiting.append
        self.log.resubscribe(self._see, self._keep)
        self._clear()

    def forget(self) -> int:
        """Forget all events: readers find a gap. Answers 0, the number of files; for any thread."""
        with self._lock:
            self._waiting.clear()
            loop = self._loop
        if loop is None:
            self._clear()
        else:
            loop.call_soon_threadsafe(self._clear)
        return 0

    def _clear(self) -> None:
        self._kept.clear()
        self.size, self.newest = 0, self.log.seq

    @property
    def oldest(self) -> int:
        """The seq of the oldest event that is kept, or of the next one."""
        return self._kept[0].seq if self._kept else self.newest + 1

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
        while self.newest <= after:
            await self._more.wait()

    def _see(self, event: Event) -> None:
        with self._lock:
            self._waiting.append(event)
            loop = self._loop if len(self._waiting) == 1 else None
        if loop is not None:
            # The loop may have closed meanwhile, and the recording of an event must not fail for it.
            with contextlib.suppress(RuntimeError):
                # Once for all events that come until the loop takes them.
                loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        with self._lock:
            if self._loop is None:
                return
            events, self._waiting = self._waiting, deque(maxlen=WAITING)
        if not events:
            return
        if events[0].seq != self.newest + 1:
            # Events were lost while the loop was blocked. What is kept has no holes.
            self._kept.clear()
            self.size = 0
        for event in events:
            kept = KeptEvent(event.seq, event.kind, line_of(event))
            self._kept.append(kept)
            self.size += len(kept.line)
        self.newest = events[-1].seq
        while len(self._kept) > self._events or (self.size > self._most_bytes and len(self._kept) > 1):
            self.size -= len(self._kept.popleft().line)
        self._more.set()
        self._more = anyio.Event()


def line_of(event: Event) -> bytes:
    """The line of an event in a trace, without a line end; a text that is no UTF-8 is replaced."""
    try:
        return trace.encode_event(event)
    except UnicodeEncodeError:
        # Half of a pair from a platform's JSON: one text must not end the stream of all the others.
        body = msgspec.convert(_encodable(msgspec.to_builtins(event.body)), type(event.body))
        names = [name for name in event.__struct_fields__ if name != "body"]
        rest = {name: _encodable(getattr(event, name)) for name in names}
        return trace.encode_event(msgspec.structs.replace(event, body=body, **rest))


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inside) for key, inside in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_encodable(inside) for inside in cast("list[Any]", value)]
    return value


STREAMS = 100
#: seconds after which a silent stream says that it is alive
HEARTBEAT = 15.0
#: events of a snapshot that are sent at once
SHOWN = 100
#: milliseconds after which a client connects again
RETRY = 1_000
_ID = re.compile(r"(?P<process>[A-Za-z0-9_.-]{1,100})-(?P<seq>\d{1,18})")
_encode = msgspec.json.Encoder().encode


class EventsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The query of the stream."""

    #: id of the last event that the client has, or ``0`` for all that are kept; none: from now on
    after: str | None = None
    #: kinds to send, with commas between them; empty: all
    kinds: str = ""
    #: begin with what the store holds, as a trace of its own; then come the events since
    snapshot: bool = False


class Missing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Data of the markers ``gap`` and ``lagged``: events that the stream does not have."""

    #: this process, whose events the ids of the stream name
    process: str
    #: number of the next event that the stream has
    next: int
    #: how many events are missing; none: unknown, since the position is of another process
    missing: int | None = None
    #: the other process
    of: str | None = None


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Data of the marker ``snapshot``: so many events with the type ``shown`` follow, numbered from 1."""

    process: str
    events: int
    #: number of the last event of this process whose effects they show
    after: int


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """The event after which a stream begins. `process`: none: this one."""

    process: str | None = None
    seq: int


class EventStreams:
    """The streams of a server over one feed; `route` is their address."""

    def __init__(self, served: Served, feed: RecentEvents) -> None:
        self._served = served
        self.feed = feed
        served.metrics.event_streams.count = lambda: feed.readers

    def route(self) -> BaseRoute:
        return Route("/v1/events", self.answer, methods=["GET"])

    async def answer(self, request: Request) -> Response:
        """Open a stream. Raises `Problem` for an unusable token or query, and while too many are open."""
        tokens: Tokens = request.app.state.tokens
        token = bearer(request.headers)
        caller = tokens.caller(token)
        request.state.caller = caller.name
        require(caller, TokenScope.READ)
        query: EventsQuery = query_of(request.scope, EventsQuery)
        kinds = kinds_of(query.kinds)
        self.feed.open()
        last = request.headers.get("last-event-id")
        after = position_of(last or query.after, self.feed)
        if self.feed.readers >= STREAMS:
            raise unavailable("busy", f"{STREAMS} streams of events are open.")
        shown: list[Event] = []
        if query.snapshot and not last:
            if query.after is not None or kinds:
                raise Problem(
                    422, "invalid-query", "`snapshot` goes with neither `after` nor `kinds`.", field="snapshot"
                )
            # Each one holds all that the store shows.
            with self.feed.reading():
                shown = await self._snapshot()
            joined = shown[0].body
            assert isinstance(joined, gateway.RunJoined)
            after = Position(seq=joined.after)
        lines = self._lines(shown, after, kinds)
        check = partial(require, scope=TokenScope.READ)
        return _Stream(self.feed, lines, self._served.stopping, lambda: tokens.until_refused(token, check))

    async def _snapshot(self) -> list[Event]:
        served = self._served
        if not served.gateway.serving:
            raise unavailable("standby", "The gateway waits for its store, or recovers.")
        present = await served.store.read(ReadPresent(mark=lambda: served.log.seq))
        return snapshot_of(present, process_started(served.gateway.config), served.env.now())

    async def _lines(self, shown: list[Event], after: Position, kinds: frozenset[str]) -> AsyncIterator[bytes]:
        feed = self.feed
        yield b"retry: %d\n\n" % RETRY
        if shown:
            begin = _encode(Snapshot(process=feed.process, events=len(shown), after=after.seq))
            yield b"event: snapshot\ndata: %b\n\n" % begin
            for start in range(0, len(shown), SHOWN):
                lines = (line_of(event) for event in shown[start : start + SHOWN])
                yield b"".join(b"event: shown\ndata: %b\n\n" % line for line in lines)
            # From here on the client can connect again with this id.
            yield f"id: {feed.process}-{after.seq}\n\n".encode()
            shown.clear()
        seq = after.seq
        if after.process is not None or seq + 1 < feed.oldest:
            known = after.process is None
            missing = feed.oldest - 1 - seq if known else None
            seq = feed.oldest - 1
            yield self._marker(
                "gap", seq, Missing(process=feed.process, next=seq + 1, missing=missing, of=after.process)
            )
        while True:
            try:
                batch = feed.read(seq)
            except Lagged:
                missing = feed.oldest - 1 - seq
                yield self._marker("lagged", seq, Missing(process=feed.process, next=feed.oldest, missing=missing))
                return
            if batch:
                seq = batch[-1].seq
                yield self._block(batch, kinds)
                continue
            with anyio.move_on_after(HEARTBEAT) as waited:
                await feed.wait(seq)
            if waited.cancelled_caught:
                yield b":\n\n"

    def _block(self, batch: list[KeptEvent], kinds: frozenset[str]) -> bytes:
        start = f"id: {self.feed.process}-".encode()
        wanted = [kept for kept in batch if kept.kind in kinds] if kinds else batch
        lines = [b"%b%d\ndata: %b\n\n" % (start, kept.seq, kept.line) for kept in wanted]
        if not wanted or wanted[-1] is not batch[-1]:
            # So that a client that connects again does not go through them again.
            lines.append(b"%b%d\n\n" % (start, batch[-1].seq))
        return b"".join(lines)

    def _marker(self, name: str, seq: int, data: Missing) -> bytes:
        return b"event: %b\nid: %b-%d\ndata: %b\n\n" % (name.encode(), self.feed.process.encode(), seq, _encode(data))


class _Stream(Response):
    """A response that sends lines until the client disconnects, its token no longer counts, or the server stops."""

    media_type = "text/event-stream"

    def __init__(
        self,
        feed: RecentEvents,
        lines: AsyncIterator[bytes],
        stopping: anyio.Event,
        until_revoked: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__()
        del self.headers["content-length"]
        # For proxies, which would collect the events.
        self.headers["X-Accel-Buffering"] = "no"
        self._feed = feed
        self._lines = lines
        self._stopping = stopping
        self._until_revoked = until_revoked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:

        async def write(data: bytes, *, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": more})

        with self._feed.reading():
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with anyio.create_task_group() as group:
                group.start_soon(_call_when_gone, receive, group.cancel_scope.cancel)
                with anyio.CancelScope() as sending:
                    group.start_soon(_call_after, self._stopping.wait, sending.cancel)
                    group.start_soon(_call_after, self._until_revoked, sending.cancel)
                    async for data in self._lines:
                        await write(data)
                if sending.cancelled_caught and self._stopping.is_set():
                    await write(b"event: stopping\ndata: {}\n\n")
                await write(b"", more=False)
                group.cancel_scope.cancel()


async def _call_when_gone(receive: Callable[[], Awaitable[Message]], call: Callable[[], None]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    call()


async def _call_after(wait: Callable[[], Awaitable[None]], call: Callable[[], None]) -> None:
    await wait()
    call()


def kinds_of(text: str) -> frozenset[str]:
    """Kinds of events with commas between them. Raises `Problem` 422 for an unknown one."""
    found = frozenset(kind for kind in text.split(",") if kind)
    unknown = sorted(found - BODIES.keys())
    if unknown:
        raise Problem(422, "invalid-query", f"There is no kind of event {unknown[0]!r}.", field="kinds")
    return found


def position_of(text: str | None, feed: RecentEvents) -> Position:
    """The position where a stream begins. Raises `Problem` 422 for what is no id of an event."""
    if text is None:
        return Position(seq=feed.newest)
    if text == "0":
        return Position(seq=0)
    named = _ID.fullmatch(text)
    if named is None:
        raise Problem(422, "invalid-query", f"{text[:100]!r} is not the id of an event.", field="after")
    if named["process"] != feed.process:
        return Position(process=named["process"], seq=0)
    seq = int(named["seq"])
    if seq > feed.log.seq:
        raise Problem(422, "invalid-query", f"There is no event {text} yet.", field="after")
    return Position(seq=seq)


def event_streams(served: Served) -> EventStreams:
    """The streams of a server, over a feed of the log."""
    feed = RecentEvents(served.log, served.env.ids.new("log"))
    served.admin.forget_events.append(feed.forget)
    return EventStreams(served, feed)
