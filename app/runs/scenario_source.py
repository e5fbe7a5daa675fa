"""Finds, loads and runs scenarios for the command line and the app."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trunkline.app.errors import error_line
from trunkline.app.runs.fault_labels import fault_labels
from trunkline.app.runs.model import Run, ScenarioEntry
from trunkline.core.errors import UsageError
from trunkline.sim import (
    BUGS,
    INVARIANTS,
    ScenarioError,
    ScenarioFile,
    find_scenarios,
    load_scenario,
    run_scenario,
    scenario_home,
)
from trunkline.sim.scenario.attach_only import attach_only


def load(path: Path) -> ScenarioFile:
    """Read a scenario file and check the bug switches and invariants that it names. Raises `ScenarioError`.

    A path below the working directory becomes relative, so that traces and commands read the same on any machine.
    """
    try:
        short = path.relative_to(Path.cwd()) if path.is_absolute() else path
    except (OSError, ValueError):
        # It is not below the working directory, or that directory was removed.
        short = path
    return load_scenario(short, known_bugs=BUGS, known_invariants=INVARIANTS)


def named_scenarios(names: Sequence[str]) -> tuple[Path, ...]:
    """The paths of files and folders, and of scenarios that come with Trunkline, named by id or its first part.

    A name that is neither stays as it is; loading it reports that it does not exist.
    """
    found: dict[Path, None] = {}
    shipped: list[Path] = []
    for name in names:
        path = Path(name)
        if not path.exists():
            shipped = shipped or find_scenarios((scenario_home(),))
            word = name.lower()
            own = [path for path in shipped if path.stem.lower() == word or path.stem.lower().startswith(f"{word}-")]
            found.update(dict.fromkeys(own or [path]))
        else:
            found[path] = None
    return tuple(found)


def entry_of(file: ScenarioFile) -> ScenarioEntry:
    """A scenario as a line of the picker."""
    scenario = file.scenario
    return ScenarioEntry(
        path=file.path,
        id=file.id,
        title=scenario.title,
        tags=scenario.tags,
        source=scenario.source,
        bugs=scenario.bugs,
        breaks=scenario.breaks,
        exercised=scenario.expect.exercised,
        troubles=fault_labels(file),
        story=scenario.story.strip(),
        seed=scenario.seed,
    )


class SimSource:
    """`trunkline.app.runs.model.RunSource` over scenario files below some paths."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)
        self._files: dict[Path, ScenarioFile] = {}

    def scenarios(self) -> Sequence[ScenarioEntry]:
        """All scenarios, the tour first; for an unreadable one the story is its problem."""
        paths = sorted(find_scenarios(self._paths), key=lambda path: path.parent.name != "tour")
        return tuple(self._entry(path) for path in paths)

    def _entry(self, path: Path) -> ScenarioEntry:
        try:
            return entry_of(self._load(path))
        except ScenarioError as error:
            return ScenarioEntry(path=path, id=path.stem, title="cannot be read", story=str(error), unread=True)

    def _load(self, path: Path) -> ScenarioFile:
        # A thread of the picker uses this too, so an entry may disappear between two look-ups.
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = load(path)
        return file

    def run(self, entry: ScenarioEntry, *, seed: int, bugs: tuple[str, ...]) -> Run:
        """Compute a run from the current file. Raises `UsageError` with a message to show."""
        return self.run_file(self.file(entry), seed=seed, bugs=bugs)

    def file(self, entry: ScenarioEntry) -> ScenarioFile:
        """The scenario as its file is now. Raises `UsageError`."""
        self._files.pop(entry.path, None)
        try:
            return self._load(entry.path)
        except ScenarioError as error:
            raise UsageError(str(error)) from error

    def run_file(self, file: ScenarioFile, *, seed: int, bugs: tuple[str, ...]) -> Run:
        """Run a scenario, possibly a changed one. Raises `UsageError` when its world fails, or it is not for runs."""
        if attach_only(file):
            how = f"trunkline attach {file.path} --gateway PROFILE"
            raise UsageError(f"{file.id} is for gateways that are not ours: {how}")
        try:
            return run_scenario(file, seed=seed, bugs=bugs)
        except Exception as error:
            raise UsageError(f"{file.id}, seed {seed}: its run broke: {error_line(error)}") from error
