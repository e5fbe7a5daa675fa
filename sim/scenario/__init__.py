"""Scenario files: what a person writes down about a run, checked before anything runs."""

from sim.scenario.find import find_scenarios, scenario_home
from sim.scenario.gateway import load_config, load_config_text
from sim.scenario.load import ScenarioFile, load_scenario, load_text
from sim.scenario.model import SCENARIO_VERSION, Scenario
from sim.scenario.places import PlaceError, PlaceRef, resolve_place
from sim.scenario.problems import Problem, ScenarioError
from sim.scenario.schema import reference_text, schema_text

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
    "reference_text",
    "resolve_place",
    "scenario_home",
    "schema_text",
]
