"""``GET /v1/events``: the events of the gateway as server-sent events, from now on or from where a client left off."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from trunkline.core.events import BODIES, Event
from trunkline.core.events.gateway import RunJoined
from trunkline.core.http.auth import Tokens, bearer, require
from trunkline.core.http.clients import Scope as TokenScope
from trunkline.core.http.event_feed import KeptEvent, Lagged, RecentEvents, line_of
from trunkline.core.http.event_snapshot import snapshot_of
from trunkline.core.http.problems import AGAIN, Problem
from trunkline.core.http.requests import query_of
from trunkline.core.http.served import Served
from trunkline.core.runtime.process_started import process_started
from trunkline.core.store.operators.present import ReadPresent

#: streams open at once
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
        #: streams that are open
        self.open = 0
        served.metrics.event_streams = lambda: self.open

    def route(self) -> BaseRoute:
        """The route of the streams."""
        return Route("/v1/events", self.answer, methods=["GET"])

    async def answer(self, request: Request) -> Response:
        """Open a stream. Raises `Problem` for an unusable token or query, and while too many are open."""
        tokens: Tokens = request.app.state.tokens
        caller = tokens.caller(bearer(request.headers))
        request.state.caller = caller.name
        require(caller, TokenScope.READ)
        query: EventsQuery = query_of(request.scope, EventsQuery)
        kinds = kinds_of(query.kinds)
        self.feed.open()
        last = request.headers.get("last-event-id")
        after = position_of(last or query.after, self.feed)
        if self.open >= STREAMS:
            headers = {"Retry-After": str(AGAIN)}
            raise Problem(503, "busy", f"{STREAMS} streams of events are open.", headers=headers)
        shown: list[Event] = []
        if query.snapshot and not last:
            if query.after is not None or kinds:
                raise Problem(
                    422, "invalid-query", "`snapshot` goes with neither `after` nor `kinds`.", field="snapshot"
                )
            shown = await self._counted_snapshot()
            joined = shown[0].body
            assert isinstance(joined, RunJoined)
            after = Position(seq=joined.after)
        token = bearer(request.headers)
        lines = self._lines(shown, after, kinds)
        return _Stream(self, lines, self._served.stopping, lambda: tokens.until_revoked(token, TokenScope.READ))

    async def _counted_snapshot(self) -> list[Event]:
        """A snapshot, during which the stream counts as open: each one holds all that the store shows."""
        self.open += 1
        try:
            return await self._snapshot()
        finally:
            self.open -= 1

    async def _snapshot(self) -> list[Event]:
        served = self._served
        if not served.gateway.serving:
            headers = {"Retry-After": str(AGAIN)}
            raise Problem(503, "standby", "The gateway waits for its store, or recovers.", headers=headers)
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
        streams: EventStreams,
        lines: AsyncIterator[bytes],
        stopping: anyio.Event,
        until_revoked: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__()
        del self.headers["content-length"]
        # For proxies, which would collect the events.
        self.headers["X-Accel-Buffering"] = "no"
        self._streams = streams
        self._lines = lines
        self._stopping = stopping
        self._until_revoked = until_revoked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""

        async def write(data: bytes, *, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": more})

        self._streams.open += 1
        try:
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
        finally:
            self._streams.open -= 1


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
    """The streams of a server, over a feed of its log."""
    return EventStreams(served, RecentEvents(served.log, served.env.ids.new("log")))
