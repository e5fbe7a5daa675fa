"""Feeds a growing trace into the workspace, within a budget per frame; pauses with the user."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import perf_counter

from trunkline.app import gc_policy
from trunkline.app.runs.live_run import LiveRun
from trunkline.app.runs.model import Run
from trunkline.app.runs.trace_follower import Budget, FeedState
from trunkline.app.tui.state.open_run import OpenRun
from trunkline.app.tui.state.search import Search
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Event, Trace
from trunkline.sim import judge
from trunkline.sim.invariants.base import Verdict

#: what a frame may spend on reading, judging and indexing; the rest is for the picture
FRAME = Budget(2000, 0.012)
#: seconds of a frame for views that are rebuilt step by step
SETTLING = 0.004
#: number of new events after which the survivors are frozen: a full collection would take several frames
SETTLED = 5000


class LiveSession:
    """Feeds a growing trace into the workspace, within a frame budget."""

    def __init__(self, live: LiveRun) -> None:
        self.live = live
        #: what a frame may spend on new events, and the seconds for rebuilding views
        self.budget = FRAME
        self.settling = SETTLING
        self._unsettled = 0
        self._said: str | None = None

    @property
    def going_on(self) -> bool:
        """Whether more may come."""
        return not self.live.over

    @property
    def pulling(self) -> bool:
        """Whether each frame reads more."""
        return self.live.pulling

    def begin(self, opened: OpenRun) -> None:
        """Follow the end of the run."""
        self._mark(opened)
        opened.playback.follow()

    def hold(self, opened: OpenRun) -> bool:
        """Pause reading, or resume. Returns whether it is paused."""
        self.live.paused = opened.playback.held = not self.live.paused
        return self.live.paused

    def read_on(self, opened: OpenRun) -> None:
        """Resume reading."""
        self.live.paused = opened.playback.held = False

    def _grow(self, view: RunView, events: Sequence[Event], verdicts: Sequence[Verdict]) -> None:
        """Let a view take events; the header, which says what can be known of them, goes first."""
        if self.live.feed.header is not None:
            view.begin(self.live.feed.header)
        view.grow(events, verdicts)

    def pull(self, opened: OpenRun, search: Search) -> tuple[OpenRun, bool]:
        """Read new events. Returns the run, a new one if events were rejected, and whether anything changed."""
        before = opened.view.last
        opened.playback.stops_at_broken = search.breakpoints.on_broken
        done = self.live.pull(partial(self._grow, opened.view), self.budget)
        anew = self.live.feed.take_anew()
        if anew:
            # Of what was pulled before nothing is shown any more.
            opened = OpenRun(self.live.begin())
            self.begin(opened)
            done = 0
        if self.live.problem:
            opened = _rescued(opened, self.live)
        if self.live.feed.header is not None:
            opened.view.begin(self.live.feed.header)
        if done and not self.live.problem:
            opened.playback.grown(search.met(opened, before))
            self._settle(done)
        self._mark(opened)
        until = perf_counter() + self.settling
        settled = opened.settle(lambda: perf_counter() >= until)
        said, self._said = self._said, self.live.status()
        return opened, anew or bool(done) or settled or said != self._said

    def _mark(self, opened: OpenRun) -> None:
        view, playback = opened.view, opened.playback
        view.growing = playback.live = self.going_on
        playback.cut = not self.going_on and (self.live.feed.flow is not FeedState.ENDED or bool(self.live.problem))
        view.lost(self.said() if playback.cut else "")
        if not self.going_on:
            playback.following = playback.held = False

    def _settle(self, events: int) -> None:
        self._unsettled += events
        if self._unsettled >= SETTLED:
            self._unsettled = 0
            gc_policy.freeze_survivors()

    def said(self) -> str:
        """The state of the feed to show; blank while all is well."""
        return self.live.status()

    def leave(self) -> None:
        """Stop reading: another run is opened."""
        self.live.feed.close()


def _rescued(was: OpenRun, live: LiveRun) -> OpenRun:
    """Rebuild the run up to the event before the contradictory ones, which may be indexed in part."""
    first = live.rejected[0].seq
    tried = _up_to(was, was.view.events[: first - 1])
    # A view of the run may be what fails on these events.
    tried.make_like(was)
    good = live.find_bad_event(tried.view.run, tried.view.grow)
    return _up_to(was, [*was.view.events[: first - 1], *live.rejected[:good]])


def _up_to(was: OpenRun, events: Sequence[Event]) -> OpenRun:
    kept = OpenRun(Run(trace=Trace(header=was.view.header, events=tuple(events)), verdicts=judge(events)))
    end, playback = kept.view.last, kept.playback
    playback.seek(end)
    if not was.playback.following:
        playback.seek(was.playback.cursor)
    return kept
