"""Finds, loads and runs scenarios for the command line and the app."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from trunkline import sim
from trunkline.app.errors import error_line
from trunkline.app.runs.model import Run, ScenarioEntry
from trunkline.app.text.cells import clean
from trunkline.core.declared import filled
from trunkline.core.errors import UsageError
from trunkline.core.events import Event
from trunkline.sim.plugins import OURS, Toolbox
from trunkline.sim.run.result import with_culprits
from trunkline.sim.scenario.attach_only import attach_only
from trunkline.sim.scenario.model.steps import Fault, ScriptStep

# The faults of a scenario in words: one line for each step that disturbs the run, by time.

#: descriptions of faults, by their `on` and `do`
_FAULTS = {
    ("send", "lose-response"): "a send arrives, and its response is lost",
    ("send", "drop"): "a send never arrives, without a response",
    ("send", "reset"): "a send arrives, and the connection breaks",
    ("send", "reset-before"): "the connection breaks before a send arrives",
    ("send", "refuse-connection"): "a send cannot leave",
    ("send", "no-receipt"): "a send arrives, and its response names no message",
    ("send", "bad-receipt"): "a send arrives, and its response has an unusable message id",
    ("send", "refuse"): "a send is refused for good",
    ("send", "rate-limit"): "a send is rate limited",
    ("send", "error"): "a send is not taken, this time",
    ("send", "slow"): "a send is slow",
    ("send", "half-answer"): "a send arrives, and its response breaks off in the middle",
    ("send", "slow-loris"): "a send arrives, and its response comes byte by byte",
    ("send", "html"): "a proxy answers a send with a page, and the send never arrives",
    ("push", "duplicate"): "a message comes to the gateway twice",
    ("store", "error"): "the disk is full",
    ("store", "write-error"): "the disk fails",
    ("server", "slow"): "the network to the server of the store is slow",
    ("server", "reset-before"): "the connection to the server breaks before a commit arrives",
    ("server", "lose-response"): "a commit arrives at the server, and its answer is lost",
    ("server", "drop"): "a notification of the server is lost",
    ("server", "restart"): "the server of the store is started again",
    ("server", "failover"): "a standby takes the place of the server of the store",
    ("queue", "damage"): "a stored message becomes unreadable",
    ("mirror", "refuse"): "a delivered message cannot be mirrored",
    ("ready", "error"): "an account is not ready",
    ("connect", "error"): "an account has no connection",
    ("connect", "dead"): "the connection of an account goes silent without closing",
    ("boot", "missing"): "an adapter is missing at the start",
}
#: descriptions of `on` for other pairs
_STRUCK = {"lookup": "asking the platform about a send", "thread": "opening a thread"}


def fault_labels(file: sim.ScenarioFile) -> tuple[str, ...]:
    """The lines, in order of time; empty if nothing disturbs the run."""
    return tuple(
        clean(f"{at:g}s  {described(step, value)}")
        for step, at in zip(file.scenario.script, file.times, strict=True)
        for name, described in _DESCRIBED.items()
        if (value := getattr(step, name)) is not None
    )


def _fault(_step: ScriptStep, value: Any) -> str:
    fault = cast("Fault", value)
    struck = _STRUCK.get(fault.on, fault.on)
    words = _FAULTS.get((fault.on, fault.way), f"{struck}: {fault.way}")
    where = f", {fault.place}" if fault.place else ""
    which = f", only “{fault.text}”" if fault.text else ""
    which += f", from the {fault.nth}. on" if fault.nth > 1 else ""
    often = f", {fault.times} times" if fault.times > 1 else ""
    lasts = f", for {fault.for_:g}s" if "for_" in fault.model_fields_set else ""
    return f"{words}{where}{which}{often}{lasts}"


def _process(value: Any) -> str:
    return "the gateway" if value.process == "gateway" else "the second process"


def _when(value: Any) -> str:
    return f", at {value.when.event}" if value.when is not None else ""


_DESCRIBED: dict[str, Callable[[ScriptStep, Any], str]] = {
    "fault": _fault,
    "crash": lambda _, value: f"{_process(value)} is killed{_when(value)}, and is back after {value.restart_after:g}s",
    "restart": lambda _, value: f"{_process(value)} is restarted, down for {value.down:g}s",
    "second": lambda _, _value: "a second gateway process starts on the same store",
    "freeze": lambda _, value: f"{_process(value)} is frozen{_when(value)}, for {value.for_:g}s",
    "clock": lambda _, value: f"the wall clock is set by {value.forward - value.back:+g}s",
    "reload": lambda _, _value: "the configuration is changed",
    "reset": lambda step, _value: f"the session of {step.place} is reset",
    "replay": lambda _, _value: "the platform delivers old messages again",
    "archive": lambda step, _value: f"{step.place} is archived",
    "delete": lambda step, _value: f"{step.place} is deleted",
    "rotate": lambda _, value: f"{value.platform} gets a new token",
    "webhook": lambda _, value: f"the webhook in {value.place} is {value.state}",
    "unbind": lambda step, value: f"{value.place or value.session or step.place} is unbound",
}


def load(path: Path, tools: Toolbox = OURS) -> sim.ScenarioFile:
    """Read a scenario file, and check the names in it. Raises `ScenarioError`.

    A path below the working directory becomes relative, so that traces and commands read the same on any machine.
    """
    try:
        short = path.relative_to(Path.cwd()) if path.is_absolute() else path
    except (OSError, ValueError):
        # It is not below the working directory, or that directory was removed.
        short = path
    return sim.load_scenario(short, names=tools)


def named_scenarios(names: Sequence[str]) -> tuple[Path, ...]:
    """The paths of files and folders, and of scenarios that come with Trunkline, named by id or its first part.

    A name that is neither stays as it is; loading it reports that it does not exist.
    """
    found: dict[Path, None] = {}
    shipped: list[Path] = []
    for name in names:
        path = Path(name)
        if not path.exists():
            shipped = shipped or sim.find_scenarios((sim.scenario_home(),))
            word = name.lower()
            own = [path for path in shipped if path.stem.lower() == word or path.stem.lower().startswith(f"{word}-")]
            found.update(dict.fromkeys(own or [path]))
        else:
            found[path] = None
    return tuple(found)


def entry_of(file: sim.ScenarioFile) -> ScenarioEntry:
    """A scenario as a line of the picker."""
    scenario = file.scenario
    troubles, story = fault_labels(file), scenario.story.strip()
    return filled(ScenarioEntry, file, scenario, exercised=scenario.expect.exercised, troubles=troubles, story=story)


def play(
    file: sim.ScenarioFile, *, seed: int, bugs: Sequence[str], watch: Callable[[Event], None] | None = None
) -> sim.RunResult:
    """A run of a scenario. With a defect that breaks something it is compared with its sound twin."""
    run = sim.run_scenario(file, seed=seed, bugs=bugs, watch=watch)
    if not bugs or not run.violations:
        return run
    return with_culprits(run, sim.run_scenario(file, seed=seed))


class SimSource:
    """`trunkline.app.runs.model.RunSource` over scenario files below some paths."""

    def __init__(self, paths: Sequence[Path], tools: Toolbox = OURS) -> None:
        self._paths = tuple(paths)
        self.tools = tools
        self._files: dict[Path, sim.ScenarioFile] = {}

    def scenarios(self) -> Sequence[ScenarioEntry]:
        """All scenarios, the tour first; for an unreadable one the story is its problem."""
        paths = sorted(sim.find_scenarios(self._paths), key=lambda path: path.parent.name != "tour")
        return tuple(self._entry(path) for path in paths)

    def _entry(self, path: Path) -> ScenarioEntry:
        try:
            return entry_of(self._load(path))
        except sim.ScenarioError as error:
            return ScenarioEntry(path=path, id=path.stem, title="cannot be read", story=str(error), unread=True)

    def _load(self, path: Path) -> sim.ScenarioFile:
        # A thread of the picker uses this too, so an entry may disappear between two look-ups.
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = load(path, self.tools)
        return file

    def run(self, entry: ScenarioEntry, *, seed: int, bugs: tuple[str, ...]) -> Run:
        """Compute a run from the current file. Raises `UsageError` with a message to show."""
        return self.run_file(self.file(entry), seed=seed, bugs=bugs)

    def file(self, entry: ScenarioEntry) -> sim.ScenarioFile:
        """The scenario as its file is now. Raises `UsageError`."""
        self._files.pop(entry.path, None)
        try:
            return self._load(entry.path)
        except sim.ScenarioError as error:
            raise UsageError(str(error)) from error

    def run_file(self, file: sim.ScenarioFile, *, seed: int, bugs: tuple[str, ...]) -> Run:
        """Run a scenario, possibly a changed one. Raises `UsageError` when its world fails, or it is not for runs."""
        if attach_only(file):
            how = f"trunkline attach {file.path} --gateway PROFILE"
            raise UsageError(f"{file.id} is for gateways that are not ours: {how}")
        try:
            return play(file, seed=seed, bugs=bugs)
        except Exception as error:
            raise UsageError(f"{file.id}, seed {seed}: its run broke: {error_line(error)}") from error
