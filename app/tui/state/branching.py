"""Actions on a branch of the open run: offer, place and undo faults, and write the run as a scenario."""

from collections.abc import Mapping
from pathlib import Path

from trunkline.app.runs.model import Run, ScenarioEntry
from trunkline.app.runs.scenario_source import entry_of, load
from trunkline.app.tui.platform.file_export import write_new
from trunkline.app.tui.state.open_run import aside, branch_source, branched
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.faults.catalog import FaultOption, FaultTime, PaletteContext, PlacedFault, options
from trunkline.app.view.faults.save_as_scenario import saved_text
from trunkline.app.view.faults.upcoming import cursor_context, upcoming_after
from trunkline.core.errors import UsageError
from trunkline.sim.scenario import ScenarioError, ScenarioFile, load_text
from trunkline.sim.scenario.edit import BRANCH

#: suffix of the file name of a run without faults, and of a scenario that was made smaller
OBSERVED, SMALL = "-observed", "-small"


def offered(workspace: Workspace) -> tuple[FaultOption, ...]:
    """The faults that can be placed at the cursor. Raises `UsageError` if none can."""
    entry = _entry(workspace)
    file = branched(workspace.source, entry, workspace.branch.faults)
    view = workspace.run.view
    cursor = cursor_context(view, file, workspace.cursor)
    return options(
        PaletteContext(
            cursor=cursor, upcoming=upcoming_after(view, cursor), file=file, active=workspace.bugs, declared=entry.bugs
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


def save(workspace: Workspace, folder: Path) -> tuple[Path, str]:
    """Write the open run as a scenario file that expects what was observed. Returns the file and the result of a run.

    Nothing is overwritten: a name that is taken gets a number. Raises `UsageError`.
    """
    # Report first that the open run is live or recorded: that is the reason why it cannot be written.
    entry, faults = _entry(workspace), workspace.branch.faults
    source = branch_source(workspace.source)
    file = branched(source, entry, faults)
    seen = workspace.run.view.run
    extra = [bug for bug in seen.trace.header.bugs if bug not in file.scenario.with_bugs]
    sound = aside(lambda: source.run_file(file, seed=workspace.seed, bugs=())) if extra else seen
    words = [fault.word for fault in faults if fault.step is not None]

    def kept(bugs: Mapping[str, Run]) -> tuple[str, ScenarioFile]:
        text = saved_text(file, sound, defective=bugs, faults=words)
        return text, load_text(text, names=file.names)

    def run(of: ScenarioFile, *bugs: str) -> Run:
        return aside(lambda: source.run_file(of, seed=workspace.seed, bugs=bugs))

    try:
        _, draft = kept(dict.fromkeys(extra, seen))
        # `--bug own` tries each of them alone: one that breaks nothing by itself proves nothing.
        alone = {bug: run(draft, bug) for bug in extra}
        shown = [bug for bug in extra if not alone[bug].holds]
        text, last = kept({bug: alone[bug] for bug in shown})
    except ScenarioError as error:
        raise UsageError(f"this run cannot be written as a scenario: {error}") from error
    stem = file.id if file.id.endswith(BRANCH) else f"{file.id}{OBSERVED}"
    return _write(folder, stem, text), _judged(run(last), shown, [bug for bug in extra if bug not in shown])


def shrink(workspace: Workspace, folder: Path) -> tuple[ScenarioEntry, str]:
    """Write the smallest scenario that shows the first violation of the open run, and what it took.

    It takes seconds, and changes nothing else. Raises `UsageError` if nothing is wrong with the run.
    """
    from trunkline.app.runs.fuzzing import shrink_file

    entry = _entry(workspace)
    file = branched(workspace.source, entry, workspace.branch.faults)
    if workspace.run.view.run.holds:
        raise UsageError("this run holds: there is no violation to keep")
    violated = workspace.run.view.run.violated
    invariant = violated[0] if violated else None
    target = Path(f"{file.id.removesuffix(SMALL)}{SMALL}.yaml")
    small = shrink_file(file, workspace.bugs, target, invariant=invariant, seed=workspace.seed)
    path = _write(folder, target.stem, small.text)
    return entry_of(load(path)), f"{small.finding.kind}: {small.steps} of {small.before} steps are left, {path.name}"


def _judged(run: Run, shown: list[str], idle: list[str]) -> str:
    if not run.holds:
        broken = ", ".join(run.violated)
        why = f"it breaks {broken} without any defect" if broken else run.unmet[0].summary
        return f"a run of it does not hold: {why}"
    without = f"; {', '.join(idle)} changes nothing in it, so it is left out" if idle else ""
    return f"it holds; with --bug own it shows what it declares{without}" if shown else f"it holds{without}"


def _write(folder: Path, stem: str, text: str) -> Path:
    try:
        return write_new(folder, stem, ".yaml", text.encode())
    except OSError as error:
        raise UsageError(f"{error.filename or folder} cannot be written: {error.strerror or error}") from error


def _entry(workspace: Workspace) -> ScenarioEntry:
    if workspace.open_run is None:
        raise UsageError("no run is open: s chooses a scenario")
    if workspace.entry is None:
        if workspace.repeated:
            raise UsageError(workspace.repeated)
        name = workspace.run.view.header.scenario.removesuffix(BRANCH)
        raise UsageError(
            f"this is {workspace.kind_of_trace}: faults and W need its scenario. "
            f"s chooses {name}; p first keeps this run as A"
        )
    return workspace.entry
