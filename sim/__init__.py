"""Trunkline's simulator: the world around a gateway in virtual time, reproducible for the same seed.

from trunkline.sim import load_scenario, run_scenario

result = run_scenario(load_scenario("scenarios/tour/told-twice.yaml"))
result.holds, result.verdicts, result.trace
"""

from trunkline.sim.bugs import BUGS, find_bugs
from trunkline.sim.invariants import INVARIANTS, Status, Verdict, Violation, judge
from trunkline.sim.run.crash_at import CrashAt
from trunkline.sim.run.expectations import UnmetExpectation
from trunkline.sim.run.result import Run, RunResult
from trunkline.sim.run.runner import run_scenario
from trunkline.sim.scenario import ScenarioError, ScenarioFile, find_scenarios, load_scenario, scenario_home

__all__ = [
    "BUGS",
    "INVARIANTS",
    "CrashAt",
    "Run",
    "RunResult",
    "ScenarioError",
    "ScenarioFile",
    "Status",
    "UnmetExpectation",
    "Verdict",
    "Violation",
    "find_bugs",
    "find_scenarios",
    "judge",
    "load_scenario",
    "run_scenario",
    "scenario_home",
]
