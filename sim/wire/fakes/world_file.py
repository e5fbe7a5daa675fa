"""The world of the fakes: a file with `world` and, if somebody acts by themselves, `script`; or a small one of ours."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import cast

from trunkline.core.config.files.problems import Path, advice
from trunkline.core.config.files.yaml_reader import parse, read_text
from trunkline.core.errors import UsageError
from trunkline.sim.run.script.world_steps import WORLD_STEPS
from trunkline.sim.scenario import ScenarioFile, load_text
from trunkline.sim.scenario.load import ScenarioReport
from trunkline.sim.scenario.model.scenario import ScriptStep
from trunkline.sim.scenario.model.world import THREADLESS
from trunkline.sim.scenario.step_rules import STEP_ACTIONS
from trunkline.sim.wire.servers import ON_THE_WIRE

#: what a file without these is given: it stays a scenario for those who read it
_LACKING = {
    "scenario": "scenario: 1",
    "title": "title: fakes",
    "cast": "cast: {agents: {main: [{do: [{silent: true}]}]}}",
    "script": "script: [{at: 0s, note: nobody acts by themselves}]",
}
_PEOPLE = "ana, ben, cem"
#: what a step may do where no gateway of ours runs
STEPS_HERE = (*WORLD_STEPS, "note")
#: what a fault may strike there
FAULTS_HERE = ("send", "act", "lookup", "thread", "push", "connect")


def world_of_ours(platforms: Sequence[str]) -> ScenarioFile:
    """Three people, and on each platform a room `ops` with a thread `deploy` where it has threads, and a room `lobby`.

    Raises `UsageError` for a platform that cannot be on the wire.
    """
    check_platforms(platforms)
    lines = [f"world:\n  people: [{_PEOPLE}]"]
    for name in dict.fromkeys(platforms):
        rooms = "[ops, lobby]" if name in THREADLESS else "{ops: {threads: [deploy]}, lobby: {}}"
        lines.append(f"  {name}: {{rooms: {rooms}}}")
    return load_text("\n".join([*lines, *_LACKING.values()]), "fakes.yaml")


def read_world(path: str | os.PathLike[str], platforms: Sequence[str] = ()) -> tuple[ScenarioFile, tuple[str, ...]]:
    """The world of a file, and those of its platforms that go on the wire: the named ones, by default all that can.

    A scenario file is such a file too, if no step of its script needs a gateway of ours. Raises `UsageError`.
    """
    check_platforms(platforms)
    name = os.fspath(path)
    text = read_text(ScenarioReport(name), "a file with a world")
    report = ScenarioReport(name)
    tree = parse(text, report, begin="such a file begins with `world:`")
    given = cast("dict[str, object]", tree) if isinstance(tree, dict) else {}
    lacking = [line for key, line in _LACKING.items() if key not in given]
    file = load_text("\n".join([text, *lacking, ""]) if lacking else text, name)
    _check_script(file)
    there = tuple(platform for platform in file.scenario.world.platforms if platform in ON_THE_WIRE)
    missing = [platform for platform in platforms if platform not in there]
    if missing:
        raise UsageError(f"{name}: its world has no {missing[0]}; it has: {', '.join(there) or 'no such platform'}")
    if not there:
        raise UsageError(f"{name}: its world has no platform that can be on the wire: {', '.join(ON_THE_WIRE)}")
    return file, tuple(platforms) or there


def check_platforms(platforms: Sequence[str]) -> None:
    """Raise `UsageError` for a platform that cannot be on the wire."""
    for name in platforms:
        if name not in ON_THE_WIRE:
            raise UsageError(f"there is no fake {name!r} on the wire ({advice(name, ON_THE_WIRE)})")


def _check_script(file: ScenarioFile) -> None:
    """Raise `ScenarioError` for steps that need a gateway of ours."""
    report = ScenarioReport(os.fspath(file.path))
    report.positions = file.positions
    for index, step in enumerate(file.scenario.script):
        for field, problem in needs_gateway(step):
            hint = "`trunkline run --wire` plays it with one; here it would do nothing"
            report.add(("script", index, *field), problem, hint, at_key=True)
    if report.problems:
        raise report.error()


def needs_gateway(step: ScriptStep) -> Iterator[tuple[Path, str]]:
    """The field of a step that has no meaning without a gateway of ours, and why."""
    for field in STEP_ACTIONS:
        if field not in STEPS_HERE and getattr(step, field) is not None:
            yield (field,), f"`{field}` needs a gateway of Trunkline"
    if step.fault is not None and step.fault.on not in FAULTS_HERE:
        yield ("fault", "on"), f"a fault on `{step.fault.on}` needs a gateway of Trunkline"
