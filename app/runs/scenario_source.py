"""Runs over the simulator, for the command line and the app: which scenarios there are, and what they do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trunkline.app.cli.io.crash_report import sentence
from trunkline.app.runs.model import Run, ScenarioEntry
from trunkline.app.view.labels.scenario_faults import fault_labels
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


def load(path: Path) -> ScenarioFile:
    """Read a scenario file; its bug switches and invariants must exist. Raises `ScenarioError`.

    A file below the working directory is named from there, so that traces and commands read the same on any machine.
    """
    try:
        short = path.relative_to(Path.cwd()) if path.is_absolute() else path
    except (OSError, ValueError):
        # It is not below the working directory, or somebody removed that one.
        short = path
    return load_scenario(short, known_bugs=BUGS, known_invariants=INVARIANTS)


def named_scenarios(names: Sequence[str]) -> tuple[Path, ...]:
    """Files and folders by their paths, and scenarios that come with Trunkline by their ids, or how those begin.

    What is neither stays as it is: whoever looks for it there tells that it does not exist.
    """
    found: dict[Path, None] = {}
    shipped: list[Path] = []
    for name in names:
        path = Path(name)
        if not path.exists():
            shipped = shipped or find_scenarios((scenario_home(),))
            word = name.lower()
            own = [one for one in shipped if one.stem.lower() == word or one.stem.lower().startswith(f"{word}-")]
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
        """All scenarios, the tour first; one that cannot be read is listed with its problem as its story."""
        paths = sorted(find_scenarios(self._paths), key=lambda path: path.parent.name != "tour")
        return tuple(self._entry(path) for path in paths)

    def _entry(self, path: Path) -> ScenarioEntry:
        try:
            return entry_of(self._load(path))
        except ScenarioError as error:
            return ScenarioEntry(path=path, id=path.stem, title="cannot be read", story=str(error), unread=True)

    def _load(self, path: Path) -> ScenarioFile:
        # The picker runs everything in a thread while another run may be opened: what is looked up may be gone again.
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = load(path)
        return file

    def run(self, entry: ScenarioEntry, *, seed: int, bugs: tuple[str, ...]) -> Run:
        """Compute a run, from the file as it is now. Raises `UsageError` with what to show."""
        self._files.pop(entry.path, None)
        try:
            return run_scenario(self._load(entry.path), seed=seed, bugs=bugs)
        except ScenarioError as error:
            raise UsageError(str(error)) from error
        except Exception as error:
            raise UsageError(f"{entry.id}, seed {seed}: its run broke: {sentence(error)}") from error

    def file(self, entry: ScenarioEntry) -> ScenarioFile:
        """The scenario as its file is now. Raises `UsageError`."""
        self._files.pop(entry.path, None)
        try:
            return self._load(entry.path)
        except ScenarioError as error:
            raise UsageError(str(error)) from error

    def run_file(self, file: ScenarioFile, *, seed: int, bugs: tuple[str, ...]) -> Run:
        """Run a scenario that was changed here. Raises `UsageError` when its world fails."""
        try:
            return run_scenario(file, seed=seed, bugs=bugs)
        except Exception as error:
            raise UsageError(f"{file.id}, seed {seed}: its run broke: {sentence(error)}") from error
