"""Scenario files: the description of a run, validated before it starts."""

from trunkline.sim.scenario.discovery import find_scenarios, scenario_home
from trunkline.sim.scenario.load import ScenarioError, ScenarioFile, load_scenario, load_text
from trunkline.sim.scenario.model.scenario import SCENARIO_VERSION, Scenario
from trunkline.sim.scenario.place_refs import PlaceError, PlaceRef, resolve_place
from trunkline.sim.scenario.schema import schema_text

__all__ = [
    "SCENARIO_VERSION",
    "PlaceError",
    "PlaceRef",
    "Scenario",
    "ScenarioError",
    "ScenarioFile",
    "find_scenarios",
    "load_scenario",
    "load_text",
    "resolve_place",
    "scenario_home",
    "schema_text",
]
