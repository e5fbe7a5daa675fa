"""Follows a running gateway over HTTP as one trace: a snapshot of its store, then every event since.

The events get numbers of their own, from 1. Causes that lie before the snapshot are left out. A restart of the
gateway is an event of the trace, and the run goes on; where events are missing, a new run begins. Independent of
Textual.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import msgspec

from trunkline.app.runs.gateway_stream import GatewayStream, ItemKind, StreamItem
from trunkline.app.runs.trace_follower import EVERY, Budget, FeedState
from trunkline.core.events import Event, TraceError, TraceHeader
from trunkline.core.events.trace import decode_event
from trunkline.sim.events.processes import ProcessCrashed

#: recorder of what only the reader knows
NODE = "watch"
_MIB = 1 << 20


class GatewayFeed:
    """The trace of a gateway as it grows; see `LiveRun` for what it is read by."""

    def __init__(
        self, url: str, stream: GatewayStream, *, limit: int = 256, clock: Callable[[], float] = perf_counter
    ) -> None:
        self.name = url
        self.header: TraceHeader = TraceHeader(
            scenario=url.partition("://")[2], title="a gateway that runs", path=url, of_gateway=True
        )
        self.problem = ""
        self.flow = FeedState.OPEN
        self.lines = 0
        self._stream = stream
        self._limit = limit * _MIB
        self._clock = clock
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
        self._begins_anew = False

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.flow is FeedState.BROKEN

    def close(self) -> None:
        """End reading."""
        self._stream.close()

    def waiting_for(self) -> str:
        """The state of the connection, and why another run began if one did."""
        began = f"; {self._began}" if self._began else ""
        state = self._stream.state()
        # Why the connection broke may name the gateway already.
        return f"{state if self.name in state else f'{self.name}: {state}'}, reading only{began}"

    def take_anew(self) -> bool:
        """Whether a new run has begun: what was pulled before is of no more use. Asking forgets it."""
        anew, self._begins_anew = self._begins_anew, False
        return anew

    def pull(self, budget: Budget) -> list[Event]:
        """The events available now, as many as the budget allows, and all of one run."""
        found: list[Event] = []
        until = self._clock() + budget.seconds
        while not self.over and not self._begins_anew and len(found) < budget.events:
            item = self._stream.take()
            if item is None:
                break
            try:
                self._take(item, found)
            except (TraceError, ValueError, RecursionError) as error:
                # Of another version, most likely: nothing after it could be trusted.
                facts = error.facts if isinstance(error, TraceError) else str(error)
                self._break(f"{self.name}: {facts}")
            if not len(found) % EVERY and self._clock() >= until:
                break
        if self._begins_anew:
            return []
        return found

    def _take(self, item: StreamItem, found: list[Event]) -> None:
        self.lines += 1
        if item.kind is ItemKind.BEGIN:
            self._began, self._begins_anew, self._skipping = item.line, True, False
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
                limit = self._limit // _MIB
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

    def _break(self, problem: str) -> None:
        self.problem, self.flow = problem, FeedState.BROKEN
        self._stream.close()
