"""A running gateway as a trace that grows: the HTTP client, the stream and the feed together."""

import queue
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

import msgspec
from httpx_sse import EventSource

from trunkline.app.operators.http_client import HttpClient
from trunkline.app.operators.port import Unavailable
from trunkline.app.runs.live_run import MIB, Budget, FeedState, GrowingTrace
from trunkline.core.errors import UsageError
from trunkline.core.events import Event, TraceError, TraceHeader, decode_event
from trunkline.sim.events.processes import ProcessCrashed

# Reads the event stream of a running gateway in a thread: connects again where it broke off, and says what it did.
#
# What comes is put into a bounded queue. While the queue is full nothing is read, so a gateway that is faster than the
# screen cuts the stream, and the reader begins again with a snapshot.

if TYPE_CHECKING:
    import httpx

#: what may wait for the screen
WAITING = 20_000
#: seconds before the stream is tried again, at first and at most
_FIRST, _MOST = 0.5, 15.0

#: opens the stream with a query and headers; raises `UsageError` for what will not pass, `Unavailable` for what may
OpenStream = Callable[[Mapping[str, str], Mapping[str, str]], "AbstractContextManager[httpx.Response]"]


class ItemKind(StrEnum):
    #: another run begins; `line` says why, and is empty for the first one
    BEGIN = "begin"
    #: a line of the snapshot, and one of the log
    SHOWN = "shown"
    EVENT = "event"
    #: another process runs the gateway, and its whole log follows
    RESTARTED = "restarted"
    #: nothing more comes; `line` says why
    FAILED = "failed"


class StreamItem(msgspec.Struct, frozen=True, gc=False):
    """An item of the stream: an event, a gap, a problem or the end."""

    kind: ItemKind
    line: str = ""


class _Gap(msgspec.Struct, frozen=True):
    """The fields in use of the markers ``gap`` and ``lagged``."""

    next: int
    missing: int | None = None
    of: str | None = None


class _BeginAgain(Exception):
    """The stream has a hole, so the events so far are of no more use."""


class GatewayStream:
    """The events of a gateway, as items in order. `start` begins to read."""

    def __init__(self, open_stream: OpenStream) -> None:
        self._open = open_stream
        self._items: queue.Queue[StreamItem] = queue.Queue(WAITING)
        self._closing = threading.Event()
        self._anew = threading.Event()
        self._last = ""
        #: whether a snapshot of this run has begun
        self._shown = False
        self._response: httpx.Response | None = None
        #: when the next attempt is due; none: connected, or trying now
        self._retry_at: float | None = None
        self._why_not = ""
        self._connected = False
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gateway events", daemon=True)

    def start(self, patience: float = 30.0) -> None:
        """Begin to read, and wait for the first answer. Raises `UsageError` if there is none."""
        self._thread.start()
        self._ready.wait(patience)
        if not self._connected:
            self.close()
            raise UsageError(self._why_not or "the gateway does not answer")

    def close(self) -> None:
        self._closing.set()
        self._shut()

    def begin_anew(self) -> None:
        """Ask for a snapshot again: the next `BEGIN` follows."""
        self._anew.set()
        self._shut()

    def _shut(self) -> None:
        """End the connection that the other thread reads: closing it alone would not wake that thread."""
        response = self._response
        stream = None if response is None else response.extensions.get("network_stream")
        raw = None if stream is None else stream.get_extra_info("socket")
        if raw is not None:
            with suppress(OSError):
                raw.shutdown(socket.SHUT_RDWR)

    def take_item(self) -> StreamItem | None:
        try:
            return self._items.get_nowait()
        except queue.Empty:
            return None

    def state(self) -> str:
        """The state of the connection, in a few words."""
        if self._connected:
            return "connected"
        due = self._retry_at
        if due is None:
            return f"connecting again ({self._why_not})"
        return f"reconnecting in {max(due - monotonic(), 0.0):.0f} s ({self._why_not})"

    def _run(self) -> None:
        wait = _FIRST
        while not self._closing.is_set():
            self._retry_at = None
            try:
                self._read()
                wait, self._why_not = _FIRST, "the gateway ended the stream"
            except Unavailable as error:
                wait, self._why_not = (_FIRST if self._connected else min(wait * 2, _MOST)), error.facts
            except UsageError as error:
                self._fail(error.facts)
                return
            except _BeginAgain as error:
                self._last, self._shown = "", False
                self._enqueue(StreamItem(ItemKind.BEGIN, str(error)))
                self._connected = False
                self._closing.wait(_FIRST)
                continue
            was, self._connected = self._connected, False
            if not was and not self._ready.is_set():
                self._ready.set()
                return
            if self._anew.is_set():
                continue
            self._retry_at = monotonic() + wait
            self._closing.wait(wait)

    def _fail(self, why: str) -> None:
        self._why_not, self._connected = why, False
        self._enqueue(StreamItem(ItemKind.FAILED, why))
        self._ready.set()

    def _read(self) -> None:
        self._obey_begin_anew()
        query = {} if self._last else {"snapshot": "true"}
        headers = {"Last-Event-ID": self._last} if self._last else {}
        with self._open(query, headers) as response:
            self._response = response
            try:
                # It may have been asked for since, when there was no connection yet to end.
                self._obey_begin_anew()
                self._connected = True
                self._ready.set()
                for event in EventSource(response).iter_sse():
                    if self._closing.is_set():
                        return
                    self._handle(event.event, event.data)
                    self._last = event.id or self._last
            finally:
                self._response = None

    def _obey_begin_anew(self) -> None:
        if self._anew.is_set():
            self._anew.clear()
            raise _BeginAgain("shown from the start again, since it had grown beyond --limit")

    def _handle(self, kind: str, data: str) -> None:
        match kind:
            case "message" if data:
                self._enqueue(StreamItem(ItemKind.EVENT, data))
            case "snapshot":
                if self._shown:
                    self._enqueue(
                        StreamItem(
                            ItemKind.BEGIN, "the connection broke before all was shown: shown from the start again"
                        )
                    )
                self._shown = True
            case "shown":
                self._enqueue(StreamItem(ItemKind.SHOWN, data))
            case "gap" | "lagged":
                self._handle_gap(msgspec.json.decode(data, type=_Gap))
            case _:
                pass

    def _handle_gap(self, gap: _Gap) -> None:
        if gap.of is None:
            raise _BeginAgain(f"{gap.missing or 0:,} events are missing, so it is shown from the start again")
        if gap.next != 1:
            raise _BeginAgain(
                "another process runs the gateway and has recorded more than is kept: shown from the start again"
            )
        self._enqueue(StreamItem(ItemKind.RESTARTED))

    def _enqueue(self, item: StreamItem) -> None:
        while not self._closing.is_set():
            try:
                self._items.put(item, timeout=0.2)
            except queue.Full:
                continue
            return


# Follows a running gateway over HTTP as one trace: a snapshot of its store, then every event since.
#
# The events get numbers of their own, from 1. Causes that lie before the snapshot are left out. A restart of the
# gateway is an event of the trace, and the run goes on; where events are missing, a new run begins. Independent of
# Textual.

#: recorder of what only the reader knows
NODE = "watch"


class GatewayFeed(GrowingTrace):
    """The trace of a gateway as it grows."""

    def __init__(self, url: str, stream: GatewayStream, *, limit: int = 256) -> None:
        super().__init__(url, FeedState.OPEN, limit, perf_counter)
        name = url.partition("://")[2]
        self.header = TraceHeader(scenario=name, title="a gateway that runs", path=url, of_gateway=True)
        self._stream = stream
        self._seq = 0
        self._at = 0.0
        self._size = 0
        #: what is added to the numbers of the log; none until its first event
        self._offset: int | None = None
        #: number of that first event
        self._first = 0
        self._process = 1
        #: what comes is skipped until another run begins
        self._skipping = False
        self._began = ""
        #: what follows in the next pull, since a run ends before it
        self._new_run = False

    def close(self) -> None:
        self._stream.close()

    def waiting_for(self) -> str:
        """The state of the connection, and why another run began if one did."""
        began = f"; {self._began}" if self._began else ""
        state = self._stream.state()
        # Why the connection broke may name the gateway already.
        return f"{state if self.name in state else f'{self.name}: {state}'}, reading only{began}"

    def pop_new_run(self) -> bool:
        new_run, self._new_run = self._new_run, False
        return new_run

    def pull(self, budget: Budget) -> list[Event]:
        found = super().pull(budget)
        return [] if self._new_run else found

    def _take_next(self, found: list[Event]) -> bool:
        item = None if self._new_run else self._stream.take_item()
        if item is None:
            return False
        try:
            self._take(item, found)
        except (TraceError, ValueError, RecursionError) as error:
            # Of another version, most likely: nothing after it could be trusted.
            facts = error.facts if isinstance(error, TraceError) else str(error)
            self._break(f"{self.name}: {facts}")
        return True

    def _take(self, item: StreamItem, found: list[Event]) -> None:
        self.lines += 1
        if item.kind is ItemKind.BEGIN:
            self._began, self._new_run, self._skipping = item.line, True, False
            self._seq, self._at, self._size, self._offset, self._process = 0, 0.0, 0, None, 1
        elif item.kind is ItemKind.FAILED:
            self._break(item.line)
        elif self._skipping:
            pass
        elif item.kind is ItemKind.RESTARTED:
            self._process, self._offset = self._process + 1, None
            why = "the process of the gateway ended, and another one runs it"
            found.append(self._next(Event(seq=0, at=self._at, node=NODE, body=ProcessCrashed(why=why))))
        else:
            self._size += len(item.line)
            found.append(self._renumbered(item))
            if self._size > self._limit and item.kind is ItemKind.SHOWN:
                # Shown once more it would be as large, again and again.
                limit = self._limit // MIB
                self._break(f"{self.name}: what the gateway holds is beyond --limit {limit} (MiB); give a higher one")
            elif self._size > self._limit:
                self._skipping = True
                self._stream.begin_anew()

    def _renumbered(self, item: StreamItem) -> Event:
        event = decode_event(item.line.encode())
        if item.kind is ItemKind.SHOWN:
            return self._next(event)
        if self._offset is None:
            self._offset = self._seq + 1 - event.seq
            self._first = event.seq
        if event.seq + self._offset != self._seq + 1:
            raise TraceError(f"event {event.seq} of the gateway does not follow the one before it")
        cause = event.cause
        return self._next(event, None if cause is None or cause < self._first else cause + self._offset)

    def _next(self, event: Event, cause: int | None = None) -> Event:
        self._seq, self._at = self._seq + 1, event.at
        return msgspec.structs.replace(event, seq=self._seq, cause=cause, generation=self._process)


#: seconds after which a stream that says nothing counts as broken; a gateway says something every 15 s
SILENCE = 45.0


def watched_gateway(url: str, token_file: Path | None, *, limit: int = 256) -> GatewayFeed:
    """The feed of a gateway, once it has answered. Raises `UsageError`."""
    client = HttpClient(url, token_file)
    stream = GatewayStream(partial(client.stream, "/v1/events", silence=SILENCE))
    stream.start()
    return GatewayFeed(str(client.url).rstrip("/"), stream, limit=limit)
