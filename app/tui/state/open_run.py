"""A run with everything that the screens show, and the run that it is compared with."""

from collections.abc import Callable, Collection, Container
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TypeVar

from trunkline.app import gc_policy
from trunkline.app.errors import error_line
from trunkline.app.runs.model import BranchSource, Run, RunSource, ScenarioEntry
from trunkline.app.text.cells import clean
from trunkline.app.view.diff.compare import Diff
from trunkline.app.view.faults.catalog import PlacedFault, with_faults
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.app.view.invariants.results import Verdicts
from trunkline.app.view.messages.rows import MessageRows
from trunkline.app.view.queue.rows import QueueRows
from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.app.view.sessions.transcripts import Sessions
from trunkline.app.view.timeline.status_line import PlaybackMode
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.app.view.wire_side.facts import QuestionRows, RequestRows, WireSends, question_rows
from trunkline.app.view.wire_side.places import WirePlaces
from trunkline.core.errors import UsageError
from trunkline.core.events import Trace
from trunkline.sim.scenario import ScenarioError, ScenarioFile

# Playback: one cursor over a computed run, moved by hand or by virtual time.
#
# Virtual time is uneven: twenty events may share a millisecond, and then nothing happens for an hour. Playing keeps its
# order and rhythm, but gives every visible row a moment, and no wait more than `LONGEST`.

#: seconds on the wall that a visible row stays alone, at speed 1
SHORTEST = 0.22
#: the longest that playing waits for the next event, at speed 1
LONGEST = 0.9
#: seconds of virtual time without an event, after which the next event counts as triggered by a timer
A_TIMER = 0.5
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 1024.0, 4096.0)


class Playback:
    """Cursor, head and playing state of one run. `cursor` 0 is before the first event."""

    def __init__(self, view: RunView, visible: Container[int], *, start: int = 0) -> None:
        self.view = view
        #: seqs with a visible row
        self.visible = visible
        self.cursor = max(0, min(start, view.last))
        #: the furthest event reached
        self.head = self.cursor
        self.playing = False
        self.speed = 1.0
        #: events at which playing stops, besides those where an invariant breaks
        self.breaks: frozenset[int] = frozenset()
        self.stops_at_broken = True
        #: whether the cursor stays at the end while the run grows
        self.following = False
        #: whether the run grows, and whether reading is paused
        self.live = False
        self.held = False
        #: whether the trace broke off before the run ended
        self.cut = False
        self._auto_paused_at: int | None = None
        self._stopped_at: int | None = None
        self._stops = set(view.marks.stops)
        self._found = view.marks.version
        self._waited = 0.0

    @property
    def mode(self) -> PlaybackMode:
        if self.playing:
            return PlaybackMode.PLAYING
        if self.held:
            return PlaybackMode.PAUSED
        if self.live and not self.view.last:
            return PlaybackMode.WAITING
        if self.following:
            return PlaybackMode.LIVE if self.live else PlaybackMode.FOLLOWING
        if self._auto_paused_at == self.cursor:
            return PlaybackMode.AUTO_PAUSED
        if self._stopped_at == self.cursor:
            return PlaybackMode.BREAKPOINT
        if self.cursor < self.head or self.live:
            return PlaybackMode.REWOUND
        if self.cursor < self.view.last:
            return PlaybackMode.PAUSED
        return PlaybackMode.CUT if self.cut else PlaybackMode.ENDED

    def play(self) -> None:
        """Play from the cursor, or from the start if it is at the end."""
        if self.cursor >= self.view.last:
            self.seek(0)
        self.playing = True
        self._waited = 0.0

    def pause(self) -> None:
        self.playing = False

    def seek(self, seq: int) -> None:
        """Put the cursor on an event and stop there."""
        self.playing = self.following = False
        self._auto_paused_at = self._stopped_at = None
        self._move(seq)

    def follow(self) -> None:
        """Stay at the end until the cursor is moved by hand."""
        self.seek(self.view.last)
        self.following = True

    def grown(self, breaks: Collection[int] = ()) -> None:
        """Take new events into account; while following, move to the end or to the first event that stops.

        `breaks`: new events with a breakpoint.
        """
        self.head = self.view.last
        marks = self.view.marks
        new = {violation.at for violation in marks.found[self._found :]} - self._stops
        self._found = marks.version
        self._stops |= new
        if not self.following:
            return
        broken = min(new, default=0) if self.stops_at_broken else 0
        at = min(breaks, default=0)
        if broken and (not at or broken <= at):
            self.stop_at_violation(broken)
        elif at:
            self._stop_at_break(at)
        else:
            self._move(self.view.last)

    def next_timer(self) -> int | None:
        """The next event that a timer triggers: the first that is `A_TIMER` or more after the cursor."""
        at = self.view.time(self.cursor) + A_TIMER
        found = self.view.seq_before(at) + 1
        return found if self.cursor < found <= self.view.last else None

    def stop_at_violation(self, seq: int) -> None:
        """Stop at an event because an invariant was violated there."""
        self.seek(seq)
        self._auto_paused_at = self.cursor

    def faster(self, steps: int) -> None:
        """The next speed up (1) or down (-1)."""
        faster = [speed for speed in SPEEDS if speed > self.speed]
        slower = [speed for speed in reversed(SPEEDS) if speed < self.speed]
        onward = faster if steps > 0 else slower
        if onward:
            self.speed = onward[min(abs(steps), len(onward)) - 1]

    def set_speed(self, speed: float) -> None:
        self.speed = max(SPEEDS[0], min(speed, SPEEDS[-1]))

    def tick(self, seconds: float) -> bool:
        """Let wall time pass. True when the cursor moved; stops by itself at a violation and at the end."""
        if not self.playing:
            return False
        self._waited += seconds * self.speed
        moved = False
        while self.playing and self.cursor < self.view.last and self._waited >= (wait := self._wait()):
            self._waited -= wait
            self._move(self.cursor + 1)
            moved = True
            self._check()
        return moved

    def _wait(self) -> float:
        following = self.cursor + 1
        gap = self.view.time(following) - self.view.time(self.cursor)
        least = SHORTEST if following in self.visible else 0.0
        return max(least, min(gap, LONGEST))

    def _check(self) -> None:
        if self.cursor in self._stops and self.stops_at_broken:
            self.stop_at_violation(self.cursor)
        elif self.cursor in self.breaks:
            self._stop_at_break(self.cursor)
        elif self.cursor >= self.view.last:
            self.playing = False

    def _stop_at_break(self, seq: int) -> None:
        self.seek(seq)
        self._stopped_at = self.cursor

    def _move(self, seq: int) -> None:
        self.cursor = max(0, min(seq, self.view.last))
        self.head = max(self.head, self.cursor)


# Views that are made when they are first asked for, and their replacement where a trace makes no sense.

#: views that read the message histories
OF_HISTORIES = ("messages", "queue", "hands")
#: names of views in messages, where they differ from the attribute
_LABELS = {"unfolded": "internal events", "histories": "messages"}

Made = TypeVar("Made")


class LazyViews:
    """Makes the views of one run. A readable trace may still contradict itself: the app reports that and goes on."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._why: dict[str, str] = {}
        self._problems: list[str] = []
        #: names of the growing views that were made, in order
        self.made: list[str] = []

    def make(self, name: str, make: Callable[[], Made], instead: Callable[[RunView], Made]) -> Made:
        """Make a view and let it grow with the run. If that fails: `instead`, made of the run without its events."""
        try:
            # A collection in the middle of a frame would take several frames to visit the new objects.
            with gc_policy.paused(len(self._view.events)):
                made = make()
        except Exception as error:  # noqa: BLE001 -- an altered trace may break anything
            self._why[name] = f"the {_LABELS.get(name, name)} of this trace cannot be shown: the trace makes no sense"
            self._problems.append(clean(f"{self._why[name]} ({error_line(error)})"))
            return instead(self.nothing)
        if isinstance(made, GrowingView):
            self._view.register(made)
            self.made.append(name)
        return made

    @property
    def nothing(self) -> RunView:
        """The same run without its events."""
        return RunView(Run(trace=Trace(header=self._view.header, events=()), verdicts=()))

    def why(self, name: str) -> str:
        """Why a view could not be made; empty for one that could."""
        return self._why.get(name, self._why.get("histories", "") if name in OF_HISTORIES else "")

    def take_problems(self) -> list[str]:
        """The views that could not be made since the last call, and why."""
        problems, self._problems = self._problems, []
        return problems


class OpenRun:
    def __init__(self, run: Run, *, at_violation: bool = False) -> None:
        with gc_policy.paused(len(run.trace.events)):
            self.view = RunView(run)
            self.lanes = self.view.register(TimelineLanes(self.view))
            self.folded = self.view.register(Timeline(self.view, self.lanes))
            self.verdicts = self.view.register(Verdicts(self.view))
        self.lazy = LazyViews(self.view)
        self._sessions: Sessions | None = None
        #: sessions that are being rebuilt, and whether they were used since the last rebuild
        self._making: Sessions | None = None
        self._wanted = False
        self.playback = Playback(self.view, self.folded)
        if at_violation and self.view.marks.stops:
            self.playback.stop_at_violation(self.view.marks.stops[0])

    @cached_property
    def unfolded(self) -> Timeline:
        """The timeline with a row for every event, made on first use."""
        return self.lazy.make("unfolded", lambda: Timeline(self.view, self.lanes, unfolded=True), lambda _: self.folded)

    def make_like(self, other: "OpenRun") -> None:
        """Make the views now that were made of another run."""
        for name in other.lazy.made:
            getattr(self, name)

    @property
    def sessions(self) -> Sessions:
        """The sessions and their alignments, made on first use; while the run grows, `settle` rebuilds them."""
        known = self._sessions
        resting = not self.view.growing or self.playback.held
        if known is None or (resting and self._stale(known)):
            kind = WirePlaces if self.view.wire_side else Sessions
            known = self.lazy.make("sessions", lambda: kind(self.view), kind)
            self._sessions, self._making = known, None
        self._wanted = True
        return known

    def _stale(self, sessions: Sessions) -> bool:
        """Whether the run has grown since they were made; those that could not be made are kept."""
        return sessions.last != self.view.last and not self.lazy.why("sessions")

    def settle(self, late: Callable[[], bool]) -> bool:
        """Rebuild views that cannot grow, until `late` is true. Returns whether one was replaced."""
        if self._sessions is None or not self._wanted or not self._stale(self._sessions):
            return False
        kind = WirePlaces if self.view.wire_side else Sessions
        self._making = self._making or kind(self.view, slowly=True)
        if not self._making.step(late):
            return False
        self._sessions, self._making, self._wanted = self._making, None, False
        return True

    @cached_property
    def questions(self) -> QuestionRows:
        """The questions of people, where only the wire of the gateway is known."""
        return self.lazy.make("questions", lambda: question_rows(self.view), question_rows)

    @cached_property
    def requests(self) -> RequestRows:
        """The requests of the gateway, where only its wire is known."""
        return self.lazy.make(
            "requests",
            lambda: RequestRows(self.view, self.questions.sends),
            lambda none: RequestRows(none, WireSends(none)),
        )

    @cached_property
    def histories(self) -> MessageHistories:
        return self.lazy.make("histories", lambda: MessageHistories(self.view), MessageHistories)

    @cached_property
    def messages(self) -> MessageRows:
        return self._of_histories("messages", MessageRows)

    @cached_property
    def queue(self) -> QueueRows:
        return self._of_histories("queue", QueueRows)

    @cached_property
    def hands(self) -> HandRuns:
        return self._of_histories("hands", HandRuns)

    def _of_histories(self, name: str, make: Callable[[RunView, MessageHistories], Made]) -> Made:
        histories = self.histories
        view = self.lazy.nothing if self.lazy.why("histories") else self.view
        return self.lazy.make(name, lambda: make(view, histories), lambda none: make(none, MessageHistories(none)))


# The run that the open one is compared with, the faults placed on it, and computing a branch.

Result = TypeVar("Result")


class Branch:
    """The run that the open one is compared with, and the faults that were placed."""

    def __init__(self) -> None:
        #: faults that were placed on the open run, in order
        self.faults: tuple[PlacedFault, ...] = ()
        #: run A, if one is pinned
        self.pinned: OpenRun | None = None
        #: run A if none is pinned: the run that was open before this one was computed
        self.before: OpenRun | None = None
        self._made: tuple[object, object, Diff] | None = None

    def opens(self, was: OpenRun | None, again: tuple[PlacedFault, ...] | None) -> None:
        """Another run is opened; `again`: of the same scenario, with these faults."""
        if again is None:
            self.before = None
        elif not self.faults:
            # All faults of a branch are compared with the run without any.
            self.before = was
        self.faults = again or ()

    def pin(self, opened: OpenRun) -> bool:
        """Pin the open run as A, or release it. Returns whether it is pinned."""
        self.pinned = None if self.pinned is opened else opened
        return self.pinned is not None

    def other(self, opened: OpenRun | None) -> OpenRun | None:
        found = self.pinned or self.before
        return found if found is not opened else None

    def letter(self, opened: OpenRun) -> str:
        """A if the run is pinned, B if there is another run A; else blank."""
        if self.pinned is opened:
            return "A"
        return "B" if self.other(opened) is not None else ""

    def diff(self, opened: OpenRun | None) -> Diff | None:
        """The open run compared with run A, computed once; none with one run only."""
        other = self.other(opened)
        if opened is None or other is None:
            return None
        if self._made is None or self._made[0] is not other or self._made[1] is not opened:
            self._made = (other, opened, Diff(other.view, opened.view))
        return self._made[2]


def aside(work: Callable[[], Result]) -> Result:
    """Run `work` in its own thread: a simulation has its own event loop, and this thread may run the app's."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(work).result()


def compute(
    source: RunSource, entry: ScenarioEntry, seed: int, bugs: tuple[str, ...], faults: tuple[PlacedFault, ...]
) -> Run:
    """A run of a scenario, with the faults that are placed on it. Raises `UsageError`."""
    if not faults:
        return source.run(entry, seed=seed, bugs=bugs)
    return branch_source(source).run_file(branched(source, entry, faults), seed=seed, bugs=bugs)


def branched(source: RunSource, entry: ScenarioEntry, faults: tuple[PlacedFault, ...]) -> ScenarioFile:
    """The scenario with faults placed on it. Raises `UsageError`."""
    try:
        return with_faults(branch_source(source).file(entry), faults)
    except ScenarioError as error:
        raise UsageError(str(error)) from error


def branch_source(source: RunSource) -> BranchSource:
    """The source, if its scenarios can be branched. Raises `UsageError`."""
    if not isinstance(source, BranchSource):
        raise UsageError("these runs cannot be changed: their scenarios are not at hand")
    return source
