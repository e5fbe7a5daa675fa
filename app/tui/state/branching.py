"""Run A and run B: the pinned run, the faults placed on the open run, and writing it as a scenario."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trunkline.app.runs.model import BranchSource, Run, RunSource, ScenarioEntry
from trunkline.app.tui.platform.file_export import write_new
from trunkline.app.view.diff.compare import Diff
from trunkline.app.view.faults.catalog import PaletteContext, options
from trunkline.app.view.faults.cursor_context import cursor_context
from trunkline.app.view.faults.palette import FaultOption, FaultTime, PlacedFault, with_faults
from trunkline.app.view.faults.save_as_scenario import saved_text, violated
from trunkline.app.view.faults.upcoming import upcoming_after
from trunkline.core.errors import UsageError
from trunkline.sim.scenario import ScenarioError, ScenarioFile, load_text
from trunkline.sim.scenario.edit import BRANCH

if TYPE_CHECKING:
    from trunkline.app.tui.state.workspace import OpenRun, Workspace

Result = TypeVar("Result")

#: suffix of the file name of a run without faults
OBSERVED = "-observed"


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
        """Run A, if there are two runs."""
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
    return _source(source).run_file(_branched(source, entry, faults), seed=seed, bugs=bugs)


def offered(workspace: Workspace) -> tuple[FaultOption, ...]:
    """The faults that can be placed at the cursor. Raises `UsageError` if none can."""
    entry = _entry(workspace)
    file = _branched(workspace.source, entry, workspace.branch.faults)
    view = workspace.run.view
    cursor = cursor_context(view, file, workspace.cursor)
    return options(
        PaletteContext(
            cursor=cursor,
            upcoming=upcoming_after(view, cursor),
            file=file,
            active=workspace.bugs,
            declared=entry.bugs,
        )
    )


def inject(workspace: Workspace, option: FaultOption, moment: FaultTime) -> PlacedFault:
    """Run branch B: the same with one more fault. The cursor stays at its time. Raises `UsageError`."""
    before = None if moment.bugs is None else workspace.bugs
    fault = PlacedFault(word=option.word, at=moment.at, step=moment.step, before=before)
    _again(workspace, (*workspace.branch.faults, fault), workspace.bugs if moment.bugs is None else moment.bugs)
    return fault


def undo(workspace: Workspace) -> PlacedFault:
    """Run the branch without its last fault. Raises `UsageError` when there is none."""
    if not workspace.branch.faults:
        raise UsageError("no fault is placed on this run: i places one at the cursor")
    *left, last = workspace.branch.faults
    _again(workspace, tuple(left), workspace.bugs if last.before is None else last.before)
    return last


def _again(workspace: Workspace, faults: tuple[PlacedFault, ...], bugs: tuple[str, ...]) -> None:
    seq, at = workspace.cursor, workspace.run.view.time(workspace.cursor)
    workspace.open(_entry(workspace), seed=workspace.seed, bugs=bugs, again=faults)
    view = workspace.run.view
    workspace.seek(seq if seq <= view.last and view.time(seq) == at else view.seq_at(at))


# ---------------------------------------------------------------- keeping it


def save(workspace: Workspace, folder: Path) -> tuple[Path, str]:
    """Write the open run as a scenario file that expects what was observed. Returns the file and the result of a run.

    Nothing is overwritten: a name that is taken gets a number. Raises `UsageError`.
    """
    # Report first that the open run is live or recorded: that is the reason why it cannot be written.
    entry, faults = _entry(workspace), workspace.branch.faults
    source = _source(workspace.source)
    file = _branched(source, entry, faults)
    seen = workspace.run.view.run
    extra = [bug for bug in seen.trace.header.bugs if bug not in file.scenario.with_bugs]
    sound = aside(lambda: source.run_file(file, seed=workspace.seed, bugs=())) if extra else seen
    words = [fault.word for fault in faults if fault.step is not None]

    def kept(bugs: list[str]) -> tuple[str, ScenarioFile]:
        text = saved_text(file, sound, defective=seen if bugs else None, bugs=bugs, faults=words)
        return text, load_text(text)

    def run(of: ScenarioFile, *bugs: str) -> Run:
        return aside(lambda: source.run_file(of, seed=workspace.seed, bugs=bugs))

    try:
        _, draft = kept(extra)
        # `--bug own` tries each of them alone: one that breaks nothing by itself proves nothing.
        shown = [bug for bug in extra if not run(draft, bug).holds]
        text, last = kept(shown)
    except ScenarioError as error:
        raise UsageError(f"this run cannot be written as a scenario: {error}") from error
    stem = file.id if file.id.endswith(BRANCH) else f"{file.id}{OBSERVED}"
    return _write(folder, stem, text), _judged(run(last), shown, [bug for bug in extra if bug not in shown])


def _judged(run: Run, shown: list[str], idle: list[str]) -> str:
    if not run.holds:
        broken = violated(run)
        why = f"it breaks {', '.join(broken)} without any defect" if broken else run.unmet[0].summary
        return f"a run of it does not hold: {why}"
    without = f"; {', '.join(idle)} changes nothing in it, so it is left out" if idle else ""
    return f"it holds; with --bug own it is violated{without}" if shown else f"it holds{without}"


def _write(folder: Path, stem: str, text: str) -> Path:
    try:
        return write_new(folder, stem, ".yaml", text.encode())
    except OSError as error:
        raise UsageError(f"{error.filename or folder} cannot be written: {error.strerror or error}") from error


def _entry(workspace: Workspace) -> ScenarioEntry:
    if workspace.open_run is None:
        raise UsageError("no run is open: s chooses a scenario")
    if workspace.entry is None:
        name = workspace.run.view.header.scenario.removesuffix(BRANCH)
        raise UsageError(
            f"this is {workspace.kind_of_trace}: faults and W need its scenario. "
            f"s chooses {name}; p first keeps this run as A"
        )
    return workspace.entry


def _branched(source: RunSource, entry: ScenarioEntry, faults: tuple[PlacedFault, ...]) -> ScenarioFile:
    try:
        return with_faults(_source(source).file(entry), faults)
    except ScenarioError as error:
        raise UsageError(str(error)) from error


def _source(source: RunSource) -> BranchSource:
    if not isinstance(source, BranchSource):
        raise UsageError("these runs cannot be changed: their scenarios are not at hand")
    return source
