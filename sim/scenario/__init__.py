"""Scenario files: the description of a run, validated before it starts."""

from trunkline.sim.scenario.discovery import find_scenarios, scenario_home
from trunkline.sim.scenario.load import ScenarioError, ScenarioFile, load_scenario, load_text
from trunkline.sim.scenario.place_refs import PlaceError, PlaceRef
from trunkline.sim.scenario.schema import schema_text

__all__ = ["PlaceError", "PlaceRef", "ScenarioError", "ScenarioFile", "find_scenarios", "load_scenario", "load_text"]
__all__ += ["scenario_home", "schema_text"]
