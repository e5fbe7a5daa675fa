"""Loads a scenario file: parses the text, validates the models, and reports every problem with its position.

Errors of the models are reworded in terms of the file: what was expected, what was found, and the nearest valid word.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, cast

from pydantic import ValidationError
from pydantic.alias_generators import to_snake

from trunkline.core.config import GatewayConfig
from trunkline.sim.scenario.checks.platform_promises import check_promises
from trunkline.sim.scenario.config_reloads import reloads_of
from trunkline.sim.scenario.cross_checks import KnownNames, check_references, world_of
from trunkline.sim.scenario.model.scenario import Scenario, WorldSpec
from trunkline.sim.scenario.model_fields import fields_of, homes_of, model_of, text_at, type_at
from trunkline.sim.scenario.place_refs import PlaceRef, resolve_place
from trunkline.sim.scenario.problems import Path, Positions, ProblemReport, dotted, nearest, shown
from trunkline.sim.scenario.step_rules import check_steps, items, say_ids, step_times
from trunkline.sim.scenario.yaml_reader import parse, read_text

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")
_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "names_type": "a list of names, or a mapping of names",
    "names_item": "a name",
    "names_twice": "each name once",
}
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}


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

    def resolve(self, place: str) -> PlaceRef:
        """The conversation that a place of this file names. Raises `PlaceError`."""
        return resolve_place(place, self.world)

    def line_of(self, path: Path) -> int | None:
        """The first line of a value of the file, e.g. of ``("expect", "accepted", 0)``; None if the file lacks it."""
        found, whole = self.positions.find(path)
        return self.positions.values[found][0] if whole else None


def load_scenario(
    path: str | os.PathLike[str],
    *,
    known_bugs: Collection[str] | None = None,
    known_invariants: Collection[str] | None = None,
) -> ScenarioFile:
    """Read, validate and check a scenario file. Raises `ScenarioError` with every problem.

    Names of bug switches and invariants are checked only if the known ones are given.
    """
    name = os.fspath(path)
    return load_text(read_text(name), name, known_bugs=known_bugs, known_invariants=known_invariants)


def load_text(
    text: str,
    path: str | os.PathLike[str] = "scenario.yaml",
    *,
    known_bugs: Collection[str] | None = None,
    known_invariants: Collection[str] | None = None,
) -> ScenarioFile:
    """`load_scenario` for a text; errors and the id use `path`. Raises `ScenarioError`."""
    file = FilePath(path)
    report = ProblemReport(os.fspath(path))
    tree = parse(text, report)
    scenario, faults = _validate(tree)
    world = _world(tree, scenario)
    check_steps(tree, report)
    check_references(tree, report, KnownNames(world=world, bugs=known_bugs, invariants=known_invariants))
    for fault in faults:
        explain_fault(fault, tree, report)
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


def explain_fault(fault: Mapping[str, Any], tree: object, report: ProblemReport) -> None:
    """Report one error of the models, worded for the file."""
    kind = str(fault["type"])
    facts = cast("Mapping[str, Any]", fault.get("ctx") or {})
    path = cast("Path", tuple(fault["loc"]))
    if kind in ("names_item", "names_twice"):
        path = (*path, int(facts["index"]))
    found = _value(tree, report.positions.find(path)[0])
    match kind:
        case "missing":
            report.add(path, f"the field `{path[-1]}` is missing", _docs(path))
        case "extra_forbidden":
            _explain_unknown(path, tree, report)
        case "literal_error" | "enum":
            words = _options(str(facts.get("expected", "")))
            expected = " or ".join(words) if len(words) == 1 else f"one of {', '.join(words)}"
            close = nearest(found, words) if isinstance(found, str) else None
            hint = "write it without quotes" if close == found else f"nearest valid word: {close!r}" if close else ""
            report.add(path, f"expected {expected}, found {shown(found)}", hint)
        case "too_short" | "string_too_short":
            if not found:  # a list whose items are all wrong is not too short
                report.add(path, f"expected {_filled(found)}, found {'an empty one' if found != '' else 'none'}")
        case "model_type" | "model_attributes_type":
            fields = ", ".join(fields_of(model)) if (model := model_of(type_at(path))) else ""
            report.add(path, f"expected a mapping, found {shown(found)}", f"its fields: {fields}")
        case "string_pattern_mismatch":
            report.add(path, f"expected {_docs(path) or 'another form'}, found {shown(found)}")
        case "value_error":
            _explain_value(path, found, str(fault["msg"]).removeprefix("Value error, "), report)
        case _ if kind in _BOUNDS:
            word, key = _BOUNDS[kind]
            report.add(path, f"expected {word} {facts[key]}, found {shown(found)}")
        case _:
            expected = _EXPECTED.get(kind, "another value")
            report.add(path, f"expected {expected}, found {shown(found)}", _quotes(kind, found))


def _explain_value(path: Path, found: object, message: str, report: ProblemReport) -> None:
    """Report an error in the model's own words, unless another problem of the gateway already explains it."""
    if not (path == ("gateway",) and any(problem.field.startswith("gateway.") for problem in report.problems)):
        report.add(path, message if repr(found) in message else f"{message}, found {shown(found)}")


def _explain_unknown(path: Path, tree: object, report: ProblemReport) -> None:
    """Report an unknown field, with the nearest one, the fields valid here, and where else it is valid."""
    name, parent = str(path[-1]), type_at(path[:-1])
    known = list(fields_of(model)) if (model := model_of(parent)) else []
    twin = to_snake(name)
    if twin in known and twin != name and twin in (items(_value(tree, path[:-1])) or {}):
        report.add(path, f"this is the field `{twin}` again", "remove one", at_key=True)
        return
    hints = list[str]()
    if close := nearest(name, known):
        hints.append(f"nearest valid word: {close!r}")
    if homes := homes_of(name):
        hints.append(f"this field belongs in {', '.join(homes[:3])}")
    if 0 < len(known) <= 12 or not hints:
        hints.append(f"fields here: {', '.join(known)}")
    owner = dotted(path[:-1]) or "a scenario"
    report.add(path, f"unknown field: expected a field of {owner}, found {name!r}", "; ".join(hints), at_key=True)


def _value(tree: Any, path: Path) -> Any:
    """The value at a path of the file."""
    for part in path:
        if isinstance(tree, dict):
            tree = cast("dict[Any, Any]", tree).get(part)
        elif isinstance(tree, list) and isinstance(part, int):
            tree = cast("list[Any]", tree)[part]
        else:
            return None
    return tree


def _options(expected: str) -> list[str]:
    """The valid words, parsed from pydantic's message."""
    quoted = [word.replace("\\'", "'") for word in _QUOTED.findall(expected)]
    return quoted or [expected.lower()]


def _docs(path: Path) -> str:
    """The reference text of a field, as part of a sentence."""
    text = text_at(path).partition("\n")[0].rstrip(".")
    return text[:1].lower() + text[1:]


def _filled(found: object) -> str:
    if isinstance(found, str):
        return "a text"
    return "a mapping that is not empty" if isinstance(found, dict) else "a list that is not empty"


def _quotes(kind: str, found: object) -> str:
    """The hint for a value that should be text."""
    if kind not in ("string_type", "names_item"):
        return ""
    if isinstance(found, dict | list):
        return "a text that begins with { or [ needs quotes"
    return "put it in quotes" if found is not None else "write '' for an empty text"
