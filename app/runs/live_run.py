"""A run that is still going on: what its trace says so far, judged event by event. No screen library here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from trunkline.app.cli.io.trace_input import believing
from trunkline.app.runs.model import Run
from trunkline.app.runs.trace_follower import Budget, Feed, FeedState
from trunkline.core.events import Event, Trace, TraceError, TraceHeader
from trunkline.sim.invariants import CHECKERS, Judge, Verdict

#: events that are judged and shown to the views at once; the clock is looked at between two such steps
STEP = 64

Take = Callable[[Sequence[Event], Sequence[Verdict]], None]


class LiveRun:
    """Pulls a feed into views. Paused, it does nothing at all."""

    def __init__(self, feed: Feed, *, clock: Callable[[], float] = perf_counter) -> None:
        self.feed = feed
        self.paused = False
        #: what the views could not make sense of, and the events that were given to them at once then
        self.problem = ""
        self.doubted: Sequence[Event] = ()
        self._clock = clock
        self._judge = Judge(CHECKERS)

    @property
    def over(self) -> bool:
        """Nothing more will come."""
        return bool(self.problem) or self.feed.over

    @property
    def pulling(self) -> bool:
        """More is asked for, frame by frame."""
        return not self.over and not self.paused

    def begin(self) -> Run:
        """The run before its first event; its header is not known yet."""
        name = Path(self.feed.name).stem if self.feed.name else "live"
        return Run(trace=Trace(header=TraceHeader(scenario=name), events=()), verdicts=self._judge.verdicts())

    def pull(self, take: Take, budget: Budget) -> int:
        """Give `take` what is new, with the verdicts by now; how many events that were.

        The budget is for all of it: reading, judging, and what `take` does.
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
                with believing(f"{self.feed.name}:{self.feed.lines}"):
                    self._see(events)
                    take(events, self._judge.verdicts())
            except TraceError as error:
                self.problem, self.doubted = error.facts, events
        return done

    def sort_out(self, run: Run, take: Take) -> int:
        """Of what makes no sense, find the event with which it begins: `take` is given the others again, one by one.

        `run` is what came before all of them. How many of them are good; the problem names the line of the next one.
        """
        judging = Judge(CHECKERS)
        for event in run.trace.events:
            judging.see(event)
        for good, event in enumerate(self.doubted):
            try:
                # The header is the first line.
                with believing(f"{self.feed.name}:{event.seq + 1}"):
                    judging.see(event)
                    take([event], judging.verdicts())
            except TraceError as error:
                self.problem = error.facts
                return good
        return len(self.doubted)

    def _see(self, events: Sequence[Event]) -> None:
        for event in events:
            self._judge.see(event)
        if self.feed.flow is FeedState.ENDED:
            self._judge.finish()

    def said(self) -> str:
        """What is to be told of the feed: what it waits for, or what is wrong; nothing while all is well."""
        if self.problem or self.feed.problem:
            return self.problem or self.feed.problem
        if self.feed.flow is FeedState.WAITING:
            return f"{self.feed.name}: waits for a first line; nothing is written yet"
        return ""
