"""A run that is still going on, judged event by event as its trace grows. Independent of Textual."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Protocol

from trunkline.app.errors import inconsistent_as_error
from trunkline.app.runs.model import Run
from trunkline.app.runs.trace_follower import Budget, FeedState
from trunkline.core.events import Event, Trace, TraceError, TraceHeader
from trunkline.sim.invariants import CHECKERS, Judge, Verdict

#: events that are judged and shown to the views at once; the clock is read between two such steps
STEP = 64

Take = Callable[[Sequence[Event], Sequence[Verdict]], None]


class GrowingTrace(Protocol):
    """A trace that grows: a file, a pipe, or the stream of a gateway. Errors never raise: `problem` has them."""

    name: str
    problem: str
    flow: FeedState
    #: number of lines read
    lines: int

    @property
    def header(self) -> TraceHeader | None:
        """The header; none until it is read."""
        ...

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        ...

    def pull(self, budget: Budget) -> list[Event]:
        """The events available now, as many as the budget allows."""
        ...

    def waiting_for(self) -> str:
        """The feed's line while all is well: what the feed waits for, or its connection; blank while it reads."""
        ...

    def take_anew(self) -> bool:
        """Whether a new run has begun since the last call: what was pulled before is of no more use."""
        ...

    def close(self) -> None:
        """End reading."""
        ...


class LiveRun:
    """Pulls events from a feed into views. While paused, it does nothing."""

    def __init__(self, feed: GrowingTrace, *, clock: Callable[[], float] = perf_counter) -> None:
        self.feed = feed
        self.paused = False
        #: why the views rejected the trace, and the events of that step
        self.problem = ""
        self.rejected: Sequence[Event] = ()
        self._clock = clock
        self._judge = Judge(CHECKERS)

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return bool(self.problem) or self.feed.over

    @property
    def pulling(self) -> bool:
        """Whether each frame pulls more."""
        return not self.over and not self.paused

    def begin(self) -> Run:
        """The run before its first event; its header is still unknown."""
        self._judge = Judge(CHECKERS)
        header = self.feed.header or TraceHeader(scenario=Path(self.feed.name).stem if self.feed.name else "live")
        return Run(trace=Trace(header=header, events=()), verdicts=self._judge.verdicts())

    def pull(self, take: Take, budget: Budget) -> int:
        """Pass new events and the current verdicts to `take`. Returns the number of events.

        The budget covers reading, judging, and what `take` does.
        """
        until = self._clock() + budget.seconds
        done = 0
        while self.pulling and done < budget.events:
            left = until - self._clock()
            if left <= 0:
                break
            events = self.feed.pull(Budget(min(STEP, budget.events - done), left))
            if not events:
                break
            done += len(events)
            try:
                with inconsistent_as_error(f"{self.feed.name}:{self.feed.lines}"):
                    for event in events:
                        self._judge.see(event)
                    if self.feed.flow is FeedState.ENDED:
                        self._judge.finish()
                    take(events, self._judge.verdicts())
            except TraceError as error:
                self.problem, self.rejected = error.facts, events
        return done

    def find_bad_event(self, run: Run, take: Take) -> int:
        """Pass the rejected events to `take` one by one until one fails; then the problem names its line.

        `run` holds the events before them. Returns how many of them are good.
        """
        judging = Judge(CHECKERS)
        for event in run.trace.events:
            judging.see(event)
        for good, event in enumerate(self.rejected):
            try:
                # The header is the first line.
                with inconsistent_as_error(f"{self.feed.name}:{event.seq + 1}"):
                    judging.see(event)
                    take([event], judging.verdicts())
            except TraceError as error:
                self.problem = error.facts
                return good
        return len(self.rejected)

    def status(self) -> str:
        """The problem of the feed, or what it waits for; empty while all is well."""
        return self.problem or self.feed.problem or self.feed.waiting_for()
