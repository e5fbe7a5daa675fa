"""The configuration after each `reload` of a script: each is merged into the one before."""

from collections.abc import Iterable
from typing import Any, cast

from pydantic import ValidationError

from trunkline.core.config import GatewayConfig
from trunkline.core.config.files.problems import ProblemReport
from trunkline.sim.scenario.model.scenario import Scenario
from trunkline.sim.scenario.model.steps import ReloadStep

_Tree = dict[str, Any]


def merged(config: GatewayConfig, part: ReloadStep) -> GatewayConfig:
    """A configuration with a part of it replaced: mappings are merged, everything else is replaced.

    Raises `pydantic.ValidationError` if the result is invalid.
    """
    whole = _over(config.model_dump(exclude_unset=True), part.model_dump(exclude_unset=True))
    return GatewayConfig.model_validate(whole)


def _over(base: _Tree, part: _Tree) -> _Tree:
    found = dict(base)
    for name, value in part.items():
        before = found.get(name)
        if isinstance(value, dict) and isinstance(before, dict):
            value = _over(cast("_Tree", before), cast("_Tree", value))
        found[name] = value
    return found


def reloads_of(scenario: Scenario, report: ProblemReport) -> tuple[GatewayConfig, ...]:
    """The whole configuration after each `reload` of the script, in order; reports invalid ones."""
    config, found = scenario.gateway, list[GatewayConfig]()
    for index, step in enumerate(scenario.script):
        if step.reload is None:
            continue
        try:
            config = merged(config, step.reload)
        except ValidationError as error:
            for fault in error.errors(include_url=False, include_input=False):
                message = str(fault["msg"]).removeprefix("Value error, ")
                report.add(("script", index, "reload", *fault["loc"]), f"the merged configuration: {message}")
        found.append(config)
    return tuple(found)


def agents_of(configs: Iterable[GatewayConfig]) -> tuple[str, ...]:
    """The agents of several configurations, each once."""
    return tuple(dict.fromkeys(agent.id for config in configs for agent in config.agents))
