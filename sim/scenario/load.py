"""Loads a scenario file: parses the text, validates the models, and reports every problem with its position.

Errors of the models are reworded in terms of the file: what was expected, what was found, and the nearest valid word.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, cast

from pydantic import ValidationError

from trunkline.core.config import GatewayConfig
from trunkline.core.config.files.faults import FileKind, explain_fault
from trunkline.core.config.files.problems import FileError, Path, Positions, ProblemReport
from trunkline.core.config.files.yaml_reader import parse, read_text
from trunkline.sim.scenario.checks.platform_promises import check_promises
from trunkline.sim.scenario.checks.strict import check_strict
from trunkline.sim.scenario.config_reloads import reloads_of
from trunkline.sim.scenario.cross_checks import KnownNames, check_references, world_of
from trunkline.sim.scenario.model.scenario import SCENARIO_VERSION, Scenario
from trunkline.sim.scenario.model.world import WorldSpec
from trunkline.sim.scenario.names import UNCHECKED, Names
from trunkline.sim.scenario.place_refs import PlaceRef, resolve_place
from trunkline.sim.scenario.step_rules import check_steps, items, say_ids, step_times

#: what scenario files are to messages
KIND = FileKind(model=Scenario, name="a scenario")
_BEGIN = f"a scenario begins with `scenario: {SCENARIO_VERSION}`"


class ScenarioError(FileError):
    """A scenario file is invalid. `problems` lists everything that is wrong with it, sorted by position."""


class ScenarioReport(ProblemReport):
    """Collects the problems of one scenario file."""

    error_type = ScenarioError


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFile:
    """A valid scenario, with the positions of its parts in the file."""

    #: as given
    path: FilePath
    #: file name without ``.yaml``
    id: str
    #: hex digest of the text
    sha256: str
    scenario: Scenario
    positions: Positions
    #: ids of the `say` steps, in order
    say_ids: tuple[str, ...]
    #: absolute time of each step of the script, in seconds
    times: tuple[float, ...]
    #: the scenario's world plus the threads that `auto_thread` opens, each named after its `say`
    world: WorldSpec
    #: the whole configuration after each `reload` of the script, in order
    reloads: tuple[GatewayConfig, ...]
    #: steps added to those of the file (`trunkline.sim.scenario.edit.with_step`), each as a line of a file
    steps: tuple[str, ...] = ()
    #: the names that the file may use; of plug-ins, with what they stand for (`trunkline.sim.plugins`)
    names: Names = UNCHECKED

    @property
    def strict(self) -> bool:
        """Whether a run must reach whatever the scenario arms, and whatever it expects must be able to fail."""
        return self.scenario.scenario == SCENARIO_VERSION

    @property
    def warning(self) -> str:
        """The warning about a scenario that is not strict; empty of one that is."""
        if self.strict:
            return ""
        line = self.line_of(("scenario",)) or 1
        facts = f"`scenario: {self.scenario.scenario}` is not strict: a fault that never strikes is not reported"
        return f"{self.path}:{line}: {facts} (trunkline upgrade {self.path})"

    def resolve(self, place: str) -> PlaceRef:
        """The conversation that a place of this file names. Raises `PlaceError`."""
        return resolve_place(place, self.world)

    def line_of(self, path: Path) -> int | None:
        """The first line of a value of the file, e.g. of ``("expect", "accepted", 0)``; None if the file lacks it."""
        found, whole = self.positions.find(path)
        return self.positions.values[found][0] if whole else None


def load_scenario(path: str | os.PathLike[str], *, names: Names = UNCHECKED) -> ScenarioFile:
    """Read, validate and check a scenario file. Raises `ScenarioError` with every problem.

    `names`: those that a file may use; a run takes from there what they stand for. By default bug switches and
    invariants are not checked, and there is no plug-in.
    """
    name = os.fspath(path)
    return load_text(read_text(ScenarioReport(name), "a scenario file"), name, names=names)


def load_text(text: str, path: str | os.PathLike[str] = "scenario.yaml", *, names: Names = UNCHECKED) -> ScenarioFile:
    """`load_scenario` for a text; errors and the id use `path`. Raises `ScenarioError`."""
    file = FilePath(path)
    report = ScenarioReport(os.fspath(path))
    tree = parse(text, report, begin=_BEGIN)
    scenario, faults = _validate(tree)
    world = _world(tree, scenario)
    check_steps(tree, report)
    check_references(tree, report, KnownNames(world=world, names=names))
    if items(tree, "scenario") == SCENARIO_VERSION:
        check_strict(tree, report)
    for fault in faults:
        explain_fault(fault, tree, report, KIND)
    if scenario is not None and world is not None and not report.problems:
        check_promises(scenario, world, report)
    reloads = () if scenario is None or report.problems else reloads_of(scenario, report)
    if scenario is None or world is None or report.problems:
        raise report.error()
    return ScenarioFile(
        path=file,
        id=file.name.removesuffix(".yaml").removesuffix(".yml"),
        sha256=hashlib.sha256(text.encode("utf-8")).hexdigest(),
        scenario=scenario,
        positions=report.positions,
        say_ids=say_ids(step.id for step in scenario.script if step.say is not None),
        times=step_times((step.at, step.after) for step in scenario.script),
        world=world,
        reloads=reloads,
        names=names,
    )


def _validate(tree: object) -> tuple[Scenario | None, list[Any]]:
    try:
        return Scenario.model_validate(tree), []
    except ValidationError as error:
        return None, cast("list[Any]", error.errors(include_url=False, include_input=False))


def _world(tree: object, scenario: Scenario | None) -> WorldSpec | None:
    """The world of a file, even if its other parts are invalid, so that its places can be checked."""
    try:
        return world_of(tree, scenario.world if scenario else WorldSpec.model_validate(items(tree, "world")))
    except ValidationError:
        return None
