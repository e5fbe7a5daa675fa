"""The run that the open one is compared with, the faults placed on it, and computing a branch."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from trunkline.app.runs.model import BranchSource, Run, RunSource, ScenarioEntry
from trunkline.app.tui.state.open_run import OpenRun
from trunkline.app.view.diff.compare import Diff
from trunkline.app.view.faults.palette import PlacedFault, with_faults
from trunkline.core.errors import UsageError
from trunkline.sim.scenario import ScenarioError, ScenarioFile

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
