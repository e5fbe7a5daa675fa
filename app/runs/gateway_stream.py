"""Reads the event stream of a running gateway in a thread: connects again where it broke off, and says what it did.

What comes is put into a bounded queue. While the queue is full nothing is read, so a gateway that is faster than the
screen cuts the stream, and the reader begins again with a snapshot.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from time import monotonic
from typing import TYPE_CHECKING

import msgspec
from httpx_sse import EventSource

from trunkline.app.operators.port import Unavailable
from trunkline.core.errors import UsageError

if TYPE_CHECKING:
    import httpx

#: what may wait for the screen
WAITING = 20_000
#: seconds before the stream is tried again, at first and at most
_FIRST, _MOST = 0.5, 15.0

#: opens the stream with a query and headers; raises `UsageError` for what will not pass, `Unavailable` for what may
OpenStream = Callable[[Mapping[str, str], Mapping[str, str]], "AbstractContextManager[httpx.Response]"]


class ItemKind(StrEnum):
    """The kind of an item of the stream."""

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

    def __init__(self, open_stream: OpenStream, *, clock: Callable[[], float] = monotonic) -> None:
        self._open = open_stream
        self._clock = clock
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
        """End reading."""
        self._closing.set()
        response = self._response
        if response is not None:
            _shut(response)

    def begin_anew(self) -> None:
        """Ask for a snapshot again: the next `BEGIN` follows."""
        self._anew.set()
        response = self._response
        if response is not None:
            _shut(response)

    def take(self) -> StreamItem | None:
        """The next item, if there is one."""
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
        return f"reconnecting in {max(due - self._clock(), 0.0):.0f} s ({self._why_not})"

    # ------------------------------------------------------------ in the reading thread

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
            self._retry_at = self._clock() + wait
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


def _shut(response: httpx.Response) -> None:
    """End a connection that another thread reads: closing it alone would not wake that thread."""
    import socket
    from contextlib import suppress

    stream = response.extensions.get("network_stream")
    raw = None if stream is None else stream.get_extra_info("socket")
    if raw is not None:
        with suppress(OSError):
            raw.shutdown(socket.SHUT_RDWR)
