"""The open run, its views, the cursor and the switches: one workspace for the whole app, which the screens show."""

import gc
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import perf_counter
from weakref import WeakKeyDictionary

from trunkline.app import gc_policy
from trunkline.app.runs.live_run import Budget, FeedState, LiveRun
from trunkline.app.runs.model import Run, RunSource, ScenarioEntry
from trunkline.app.text.cells import seconds
from trunkline.app.tui.state.open_run import Branch, OpenRun, aside, compute
from trunkline.app.view.explain.explanation import reproduction
from trunkline.app.view.faults.catalog import PlacedFault
from trunkline.app.view.index.growing import next_around
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.picker.scenario_results import ScenarioResults, result_of
from trunkline.app.view.timeline import filters
from trunkline.app.view.timeline.filters import hidden_lanes
from trunkline.app.view.timeline.timeline import Timeline, VisibleRows, is_delivery
from trunkline.app.view.wire_side.facts import gateway_name, not_known
from trunkline.core.errors import UsageError
from trunkline.core.events import Event, Trace, delivery
from trunkline.sim import Verdict, judge
from trunkline.sim.events.wire import WireAccepted

# The filter of the rows, and the breakpoints. Both stay when another run is opened.


class FilteredRows(VisibleRows):
    """The rows that one filter keeps of one timeline; of a run that grows, it looks again at those that may change."""

    def __init__(self, timeline: Timeline, filter_: filters.TimelineFilter) -> None:
        super().__init__(timeline.lanes, timeline.row)
        self._of = timeline
        self._filter = filter_
        self._made_of = timeline.version, len(timeline.seqs), timeline.seqs.version
        self._touched = len(self.marks.touched)
        self._done = 0

    def fits(self, timeline: Timeline, filter_: filters.TimelineFilter, *, resting: bool) -> bool:
        """Whether the kept rows are those of this timeline and filter, and still current.

        Rows change while a run grows, and not every change comes with a violation: then all of them are
        looked at again when the run rests, and in between as rarely as it has grown by a part.
        """
        version, length, order = self._made_of
        if timeline is not self._of or filter_ is not self._filter or timeline.seqs.version != order:
            return False
        return version == timeline.version or (not resting and len(timeline.seqs) * 8 < length * 9)

    def follow(self) -> None:
        """Take the rows that are new, and those that new evidence may have changed."""
        self.version = self._of.version
        last, touched = self._of.view.last, len(self.marks.touched)
        if (last, touched) == (self._done, self._touched):
            return
        matcher = filters.FilterMatcher(self._of.view, self._of.lanes)
        for row in map(self._of.row, sorted(self._named(self.marks.touched[self._touched :]))):
            kept = matcher.keeps(self._filter, row)
            if kept is not (row.seq in self):
                self._broken_of = (-1, 0)
                if kept:
                    self.list_row(row)
                else:
                    self.seqs.remove(row.seq)
        for row in matcher.rows(self._filter, self._of.rows[self._of.row_at(self._done) + 1 :]):
            self.list_row(row)
        self._done, self._touched = last, touched

    def _named(self, touched: Iterable[int]) -> set[int]:
        """Known rows that new evidence names; a wrong mirror is shown at its delivery."""
        view, found = self._of.view, set(touched)
        for seq in list(found):
            event = view.event(seq) if 0 < seq <= view.last else None
            if event is not None and isinstance(event.body, delivery.MirrorAppended):
                found |= {accepted.seq for accepted in view.of_intent(event.intent, WireAccepted)}
        return {seq for seq in found if seq <= self._done and seq in self._of}


class Search:
    """The search of the whole app; caches the rows that the filter keeps."""

    def __init__(self) -> None:
        self.filter: filters.TimelineFilter | None = None
        self.breakpoints = filters.Breakpoints()
        self._kept: FilteredRows | None = None
        self._armed: tuple[object, ...] = ()
        self._field: tuple[object, filters.BreakpointTargets] | None = None

    def set_filter(self, text: str) -> None:
        """Filter the rows; a blank text shows all of them. Raises `UsageError`."""
        self.filter = filters.parse_filter(text)

    def kept(self, opened: OpenRun, timeline: Timeline) -> VisibleRows:
        """The rows that the filter keeps; all of them without a filter."""
        if self.filter is None:
            return timeline
        resting = not opened.view.growing or opened.playback.held
        if self._kept is None or not self._kept.fits(timeline, self.filter, resting=resting):
            self._kept = FilteredRows(timeline, self.filter)
        self._kept.follow()
        return self._kept

    def messages(self, opened: OpenRun) -> Callable[[str], bool]:
        """A predicate of intents that the filter keeps; true for all without a filter."""
        kept = self.filter
        if kept is None:
            return lambda _intent: True
        found = filters.FilterMatcher(opened.view, opened.lanes).intents(kept, opened.folded.rows)
        return lambda intent: (intent in found) is not kept.inverse

    def field(self, opened: OpenRun) -> filters.BreakpointTargets:
        """The open run in the form that breakpoints need."""
        if self._field is None or self._field[0] is not opened:
            self._field = opened, filters.BreakpointTargets(opened.view, opened.lanes, opened.folded.rows)
        return self._field[1]

    def met(self, opened: OpenRun, since: int) -> frozenset[int]:
        """The events after `since` at which a breakpoint stops, of a run that has grown."""
        if not self.breakpoints.set:
            return frozenset()
        rows = opened.folded.rows[opened.folded.row_at(since) + 1 :]
        return self.breakpoints.stops(filters.BreakpointTargets(opened.view, opened.lanes, rows, since=since))

    def arm(self, opened: OpenRun) -> None:
        asked = (opened, self.breakpoints.set, self.breakpoints.on_broken)
        if asked == self._armed:
            return
        self._armed = asked
        opened.playback.stops_at_broken = self.breakpoints.on_broken
        opened.playback.breaks = self.breakpoints.stops(self.field(opened)) if self.breakpoints.set else frozenset()


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
        return not self.live.over

    @property
    def pulling(self) -> bool:
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
        new_run = self.live.feed.pop_new_run()
        if new_run:
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
        return opened, new_run or bool(done) or settled or said != self._said

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
    tried = _up_to(was, was.view.events[: first - 1], live)
    # A view of the run may be what fails on these events.
    tried.make_like(was)
    good = live.find_bad_event(tried.view.run, tried.view.grow)
    return _up_to(was, [*was.view.events[: first - 1], *live.rejected[:good]], live)


def _up_to(was: OpenRun, events: Sequence[Event], live: LiveRun) -> OpenRun:
    kept = OpenRun(
        Run(trace=Trace(header=was.view.header, events=tuple(events)), verdicts=judge(events, live.checkers))
    )
    end, playback = kept.view.last, kept.playback
    playback.seek(end)
    if not was.playback.following:
        playback.seek(was.playback.cursor)
    return kept


class ViewOptions:
    """Hidden lanes and used actions stay when another run is opened; marks belong to one run."""

    def __init__(self) -> None:
        #: names of lanes that are not drawn
        self.hidden: set[str] = set()
        #: actions that were used at least once: their hints are no longer shown
        self.used: set[str] = set()
        self._marks: WeakKeyDictionary[OpenRun, dict[int, str]] = WeakKeyDictionary()

    def use(self, action: str, screen: str) -> None:
        name = action.removeprefix("screen.")
        self.used |= {name, f"{screen}:{name}"}

    def hidden_in(self, opened: OpenRun) -> frozenset[int]:
        return hidden_lanes(opened.lanes, self.hidden)

    def marks(self, opened: OpenRun) -> dict[int, str]:
        """The marked events of a run, with the names of their marks."""
        return self._marks.setdefault(opened, {})


class Workspace:
    def __init__(
        self,
        source: RunSource,
        *,
        entry: ScenarioEntry | None = None,
        run: Run | None = None,
        seed: int = 0,
        bugs: tuple[str, ...] = (),
        live: LiveRun | None = None,
    ) -> None:
        self.source = source
        #: the source of a growing run
        self.live = LiveSession(live) if live is not None else None
        self.entry = entry
        self.seed = seed
        self.bugs = bugs
        self.open_run = OpenRun(run) if run else None
        #: run A, and the faults placed on the open run
        self.branch = Branch()
        self.search = Search()
        self.view_options = ViewOptions()
        #: the latest result of each scenario
        self.results = ScenarioResults()
        self.show_internal = False
        #: the event whose causal chain is lit; none: all rows are lit
        self.chain_of: int | None = None
        self._lit: frozenset[int] = frozenset()
        #: run and cursor at the selection of a row, and the event of that row
        self._picked: tuple[object, int, int] | None = None
        if live is not None and self.live is not None:
            self.open_run = OpenRun(live.begin())
            self.live.begin(self.open_run)

    def open(
        self,
        entry: ScenarioEntry,
        *,
        seed: int,
        bugs: tuple[str, ...],
        at_violation: bool = False,
        again: tuple[PlacedFault, ...] | None = None,
    ) -> None:
        """Compute a run and show it from its start. Raises `UsageError` and keeps the open run if that fails.

        `again`: the open scenario once more, with these faults.
        """
        run = aside(lambda: compute(self.source, entry, seed, bugs, again or ()))
        if not again:
            self.results.note(entry, result_of(run), defect=bool(bugs))
        if self.open_run is not None and self.open_run.view.last >= gc_policy.LARGE_RUN:
            # So that the run that is closed can be freed.
            gc.unfreeze()
        self.branch.opens(self.open_run, again)
        if self.live is not None:
            self.live.leave()
            self.live = None
        self.open_run = OpenRun(run, at_violation=at_violation)
        self.entry, self.seed, self.bugs = entry, seed, bugs
        self.chain_of = None

    def rerun(self, *, seed: int | None = None, bugs: tuple[str, ...] | None = None) -> None:
        """Compute the open scenario again, with another seed or other defects. Raises `UsageError`."""
        if self.entry is None:
            raise UsageError(self.repeated or f"{self.kind_of_trace} cannot be run again: open its scenario with s")
        self.open(
            self.entry,
            seed=self.seed if seed is None else seed,
            bugs=self.bugs if bugs is None else bugs,
            again=self.branch.faults,
        )

    @property
    def kind_of_trace(self) -> str:
        """The kind of run that is open, if it is no scenario."""
        return "a run that is watched" if self.live is not None else "a recorded trace"

    @property
    def repeated(self) -> str:
        """How a run of a gateway that is not ours is repeated, which no key does; empty for any other."""
        view = self.open_run.view if self.open_run is not None else None
        if view is None or not view.wire_side:
            return ""
        known = bool(reproduction(view.header, view.events))
        how = "y copies the command that plays its scenario again" if known else "trunkline attach records another one"
        return f"this is a run of {gateway_name(view.header)}: {how}"

    def inside_unknown(self) -> str:
        """Why the inside of the gateway is not shown; empty where it is known."""
        view = self.open_run.view if self.open_run is not None else None
        return not_known(view.header) if view is not None and view.wire_side else ""

    def seed_for(self, entry: ScenarioEntry) -> int:
        """The seed to run a scenario with: the current one if it is open, else its own."""
        known = self.entry is not None and self.entry.id == entry.id
        return self.seed if known or entry.seed is None else entry.seed

    def other_bugs(self) -> tuple[str, ...]:
        """The defects after toggling them: none, or those of the scenario. Raises `UsageError`."""
        if self.repeated:
            raise UsageError(self.repeated)
        declared = self.entry.bugs if self.entry else ()
        if not self.bugs and not declared:
            raise UsageError("this scenario declares no defect to switch on")
        return () if self.bugs else declared

    @property
    def run(self) -> OpenRun:
        """The open run; there must be one."""
        assert self.open_run is not None
        return self.open_run

    def unmade(self, view: str) -> str:
        """Why a view could not be made of a contradictory trace; else blank."""
        return self.open_run.lazy.why(view) if self.open_run is not None else ""

    @property
    def timeline(self) -> VisibleRows:
        """The rows as they are folded and filtered now."""
        return self.search.kept(self.run, self.all_rows)

    @property
    def all_rows(self) -> Timeline:
        """The rows as they are folded now, without the filter."""
        return self.run.unfolded if self.show_internal else self.run.folded

    @property
    def cursor(self) -> int:
        return self.run.playback.cursor

    @property
    def moment(self) -> str:
        """The cursor and its time, in words."""
        return f"after #{self.cursor}, t={seconds(self.run.view.time(self.cursor))} s"

    def pick(self, seq: int | None) -> None:
        """Select a row without moving the cursor; other screens select what belongs to its event."""
        self._picked = (self.open_run, self.cursor, seq) if seq else None

    @property
    def subject(self) -> int:
        if self._picked is not None and self._picked[:2] == (self.open_run, self.cursor):
            return self._picked[2]
        return self.cursor

    def lit(self, seq: int) -> bool:
        """Whether a row is lit: part of the lit causal chain, or none is lit."""
        return self.chain_of is None or seq in self._lit

    def seek(self, seq: int) -> None:
        self.run.playback.seek(seq)

    def tick(self, seconds: float) -> bool:
        if self.live is not None and self.live.pulling:
            self.open_run, changed = self.live.pull(self.run, self.search)
            return changed
        self.search.arm(self.run)
        return self.run.playback.tick(seconds)

    def follow(self) -> None:
        if self.live is not None:
            self.live.read_on(self.run)
        self.run.playback.follow()

    @property
    def ticking(self) -> bool:
        """Whether the clock must run: a run plays, or more of it may come."""
        if self.live is not None and self.live.going_on:
            return self.live.pulling
        return self.open_run is not None and self.open_run.playback.playing

    def next_timer(self) -> bool:
        return self._go(self.run.playback.next_timer())

    def next_match(self, direction: int) -> bool:
        """Move to the next or previous row that the filter keeps, wrapping around. False when it keeps none."""
        return self._go(next_around(self.timeline.seqs, self.cursor, direction))

    def step(self, events: int) -> None:
        self.seek(self.cursor + events)

    def step_rows(self, rows: int) -> None:
        self.seek(self.timeline.neighbour(self.cursor, rows))

    def step_delivery(self, direction: int) -> bool:
        """Move to the next or previous message between people and the gateway."""
        return self._go(self.timeline.find(self.cursor, direction, is_delivery))

    def next_violation(self, direction: int) -> bool:
        """Move to the next or previous violation, wrapping around. False when there is none."""
        return self._go(next_around(self.run.view.marks.stops, self.cursor, direction))

    def first_violation(self) -> bool:
        return self._go(next(iter(self.run.view.marks.stops), None))

    def next_on_trail(self) -> bool:
        """Move to the first culprit; from there to what it led to, one after another. False when there is none."""
        culprits = self.run.view.culprits
        if not culprits:
            return False
        trail = [
            *(culprit.seq for culprit in culprits),
            *(found.at for culprit in culprits for found in culprit.led_to),
        ]
        return self._go(next_around(sorted({*trail}), self.cursor, 1) if self.cursor in trail else culprits[0].seq)

    def twin(self) -> bool:
        """Move to the next copy of the thing under the cursor. False when it has none."""
        return self._go(self._twin())

    @property
    def has_twin(self) -> bool:
        """The thing under the cursor is one of several copies."""
        return self._twin() is not None

    def _twin(self) -> int | None:
        marks = self.run.view.marks
        index = self.timeline.row_at(self.cursor)
        row = self.timeline.seqs[index] if index >= 0 else 0
        return marks.twin(self.cursor) or marks.twin(row)

    def arrive(self) -> None:
        """Go to the first violation, else to the end."""
        playback = self.run.playback
        stops = self.run.view.marks.stops
        if stops:
            playback.stop_at_violation(stops[0])
        else:
            playback.seek(self.run.view.last)

    def toggle_chain(self) -> None:
        """Light the causal chain of the event under the cursor, or everything again."""
        if self.chain_of is not None or not self.cursor:
            self.chain_of = None
            return
        self.chain_of = self.cursor
        self._lit = self.run.view.causes.family(self.cursor)

    def _go(self, seq: int | None) -> bool:
        if seq is None:
            return False
        self.seek(seq)
        return True
