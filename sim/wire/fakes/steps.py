"""Steps that somebody sends: the same words as in a scenario file, checked in the same way."""

from __future__ import annotations

import math
from typing import Any, cast

from trunkline.sim.scenario import ScenarioFile, load_text
from trunkline.sim.scenario.edit import text_of, tree_of
from trunkline.sim.scenario.load import ScenarioReport
from trunkline.sim.scenario.model.scenario import ScriptStep
from trunkline.sim.wire.fakes.world_file import needs_gateway

#: what errors call the step
STEP = "step"
#: parts of a scenario that a step does not refer to
_ASIDE = ("expect", "bugs", "breaks", "with_bugs", "stored", "story", "source", "tags")


def read_step(given: object, file: ScenarioFile) -> ScriptStep:
    """A step for the world of a file, whose places are those of now. Raises `ScenarioError` with every problem.

    The fields of problems begin with ``script[0].``; `plain_field` takes that away.
    """
    report = ScenarioReport(STEP)
    if not isinstance(given, dict):
        report.add((), 'a step is an object such as {"as": "ana", "in": "ops", "say": "hi"}')
        raise report.error()
    step = {key: value for key, value in cast("dict[str, Any]", given).items() if key not in ("at", "after")}
    if len(step) != len(cast("dict[str, Any]", given)):
        report.add((), "a step that is sent is played at once", "leave `at` and `after` out")
        raise report.error()
    if not _is_plain(step):
        report.add((), "a text has half a character, or a number is not finite", "write whole characters")
        raise report.error()
    tree = tree_of(file.scenario.model_copy(update={"world": file.world}))
    for name in _ASIDE:
        tree.pop(name, None)
    tree["script"] = [step]
    read = load_text(text_of(tree), STEP).scenario.script[0]
    for field, problem in needs_gateway(read):
        report.add(("script", 0, *field), problem, "control your own gateway instead")
    if report.problems:
        raise report.error()
    return read


def plain_field(field: str) -> str:
    """The field of a problem, as somebody who has sent one step knows it."""
    return field.removeprefix("script[0]").removeprefix(".")


def _is_plain(value: object) -> bool:
    """Whether a value can be stored."""
    match value:
        case str():
            return not any("\ud800" <= char <= "\udfff" for char in value)
        case float():
            return math.isfinite(value)
        case list():
            return all(map(_is_plain, cast("list[object]", value)))
        case dict():
            pairs = cast("dict[str, object]", value).items()
            return all(_is_plain(key) and _is_plain(item) for key, item in pairs)
        case _:
            return True
