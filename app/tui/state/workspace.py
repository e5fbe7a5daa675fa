"""The open run, its views, the cursor and the switches: one workspace for the whole app, which the screens show."""

from __future__ import annotations

from trunkline.app import gc_policy
from trunkline.app.runs.live_run import LiveRun
from trunkline.app.runs.model import Run, RunSource, ScenarioEntry
from trunkline.app.tui.state.branch import Branch, aside, compute
from trunkline.app.tui.state.live_session import LiveSession
from trunkline.app.tui.state.open_run import OpenRun
from trunkline.app.tui.state.search import Search
from trunkline.app.tui.state.view_options import ViewOptions
from trunkline.app.view.explain.explanation import Explanation, explain, reproduction
from trunkline.app.view.faults.palette import PlacedFault
from trunkline.app.view.picker.scenario_results import ScenarioResults, result_of
from trunkline.app.view.timeline.status_line import StatusLine, status_line
from trunkline.app.view.timeline.timeline import Timeline, VisibleRows, is_delivery
from trunkline.app.view.wire_side.unknown import gateway_name, not_known
from trunkline.core.errors import UsageError


class Workspace:
    """The open run and how it is viewed."""

    def __init__(
        self,
        source: RunSource,
        *,
        entry: ScenarioEntry | None = None,
        run: Run | None = None,
        seed: int = 0,
        bugs: tuple[str, ...] = (),
        at_violation: bool = False,
        live: LiveRun | None = None,
    ) -> None:
        self.source = source
        #: the source of a growing run
        self.live = LiveSession(live) if live is not None else None
        self.entry = entry
        self.seed = seed
        self.bugs = bugs
        self.open_run = OpenRun(run, at_violation=at_violation) if run else None
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

    # ------------------------------------------------------------ runs

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
        run = self._compute(entry, seed, bugs, again or ())
        if not again:
            self.results.note(entry, result_of(run), defect=bool(bugs))
        if self.open_run is not None and self.open_run.view.last >= gc_policy.LARGE_RUN:
            gc_policy.unfreeze()
        self.branch.opens(self.open_run, again)
        if self.live is not None:
            self.live.leave()
            self.live = None
        self.open_run = OpenRun(run, at_violation=at_violation)
        self.entry, self.seed, self.bugs = entry, seed, bugs
        self.chain_of = None

    def _compute(self, entry: ScenarioEntry, seed: int, bugs: tuple[str, ...], faults: tuple[PlacedFault, ...]) -> Run:
        return aside(lambda: compute(self.source, entry, seed, bugs, faults))

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

    # ------------------------------------------------------------ the current state

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

    def pick(self, seq: int | None) -> None:
        """Select a row without moving the cursor; other screens select what belongs to its event."""
        self._picked = (self.open_run, self.cursor, seq) if seq else None

    @property
    def subject(self) -> int:
        if self._picked is not None and self._picked[:2] == (self.open_run, self.cursor):
            return self._picked[2]
        return self.cursor

    def status(self) -> StatusLine | None:
        """The facts of the status line; none while nothing is open."""
        if self.open_run is None:
            return None
        playback = self.open_run.playback
        return status_line(
            self.open_run.view,
            seq=playback.cursor,
            head=playback.head,
            mode=playback.mode,
            speed=playback.speed,
            letter=self.branch.letter(self.open_run),
        )

    def why(self) -> Explanation:
        return explain(self.run.view, self.cursor)

    def repro(self) -> str:
        """The line that runs the same again."""
        return reproduction(self.run.view.header, self.run.view.events)

    def lit(self, seq: int) -> bool:
        """Whether a row is lit: part of the lit causal chain, or none is lit."""
        return self.chain_of is None or seq in self._lit

    # ------------------------------------------------------------ moving

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
        seqs = self.timeline.seqs
        found = self.timeline.find(self.cursor, direction, lambda _row: True)
        return self._go(found or ((seqs[0] if direction > 0 else seqs[-1]) if seqs else None))

    def step(self, events: int) -> None:
        self.seek(self.cursor + events)

    def step_rows(self, rows: int) -> None:
        self.seek(self.timeline.neighbour(self.cursor, rows))

    def step_delivery(self, direction: int) -> bool:
        """Move to the next or previous message between people and the gateway."""
        return self._go(self.timeline.find(self.cursor, direction, is_delivery))

    def next_violation(self, direction: int) -> bool:
        """Move to the next or previous violation, wrapping around. False when there is none."""
        view = self.run.view
        stops = view.marks.stops
        if not stops:
            return False
        found = view.next_violation(self.cursor) if direction > 0 else view.previous_violation(self.cursor)
        return self._go(found or (stops[0] if direction > 0 else stops[-1]))

    def first_violation(self) -> bool:
        return self._go(next(iter(self.run.view.marks.stops), None))

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
