"""Trunkline's simulator: a whole world around the gateway, in virtual time, the same for the same seed.

from sim import load_scenario, run_scenario

result = run_scenario(load_scenario("scenarios/tour/told-twice.yaml"))
result.holds, result.verdicts, result.trace
"""

from sim.bugs import BUGS, find_bugs
from sim.crash import CrashAt
from sim.expect import Unmet
from sim.invariants import INVARIANTS, Status, Verdict, Violation, judge
from sim.result import Run, RunResult
from sim.runner import run_scenario
from sim.scenario import ScenarioError, ScenarioFile, find_scenarios, load_scenario, scenario_home

__all__ = [
    "BUGS",
    "INVARIANTS",
    "CrashAt",
    "Run",
    "RunResult",
    "ScenarioError",
    "ScenarioFile",
    "Status",
    "Unmet",
    "Verdict",
    "Violation",
    "find_bugs",
    "find_scenarios",
    "judge",
    "load_scenario",
    "run_scenario",
    "scenario_home",
]
