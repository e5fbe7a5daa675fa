"""Scenario files: the description of a run, validated before it starts."""

from trunkline.sim.scenario.discovery import find_scenarios, scenario_home
from trunkline.sim.scenario.gateway_config import load_config, load_config_text
from trunkline.sim.scenario.load import ScenarioFile, load_scenario, load_text
from trunkline.sim.scenario.model.scenario import SCENARIO_VERSION, Scenario
from trunkline.sim.scenario.place_refs import PlaceError, PlaceRef, resolve_place
from trunkline.sim.scenario.problems import Problem, ScenarioError
from trunkline.sim.scenario.schema import schema_text

__all__ = [
    "SCENARIO_VERSION",
    "PlaceError",
    "PlaceRef",
    "Problem",
    "Scenario",
    "ScenarioError",
    "ScenarioFile",
    "find_scenarios",
    "load_config",
    "load_config_text",
    "load_scenario",
    "load_text",
    "resolve_place",
    "scenario_home",
    "schema_text",
]
