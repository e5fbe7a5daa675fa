"""Trunkline's simulator: the world around a gateway in virtual time, reproducible for the same seed.

from trunkline.sim import load_scenario, run_scenario

result = run_scenario(load_scenario("scenarios/tour/told-twice.yaml"))
result.holds, result.verdicts, result.trace

Names are imported on first use, so that a part of the simulator does not load all of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trunkline.sim.bugs import BUGS, find_bugs
    from trunkline.sim.invariants import INVARIANTS, Status, Verdict, Violation, judge
    from trunkline.sim.run.crash_at import CrashAt
    from trunkline.sim.run.expectations import UnmetExpectation
    from trunkline.sim.run.result import Run, RunResult
    from trunkline.sim.run.runner import run_scenario
    from trunkline.sim.scenario import ScenarioError, ScenarioFile, find_scenarios, load_scenario, scenario_home

#: the module of each public name
_HOMES: dict[str, tuple[str, ...]] = {
    "trunkline.sim.bugs": ("BUGS", "find_bugs"),
    "trunkline.sim.invariants": ("INVARIANTS", "Status", "Verdict", "Violation", "judge"),
    "trunkline.sim.run.crash_at": ("CrashAt",),
    "trunkline.sim.run.expectations": ("UnmetExpectation",),
    "trunkline.sim.run.result": ("Run", "RunResult"),
    "trunkline.sim.run.runner": ("run_scenario",),
    "trunkline.sim.scenario": ("ScenarioError", "ScenarioFile", "find_scenarios", "load_scenario", "scenario_home"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["BUGS", "INVARIANTS", "CrashAt", "Run", "RunResult", "ScenarioError", "ScenarioFile", "Status"]
__all__ += ["UnmetExpectation", "Verdict", "Violation", "find_bugs", "find_scenarios", "judge", "load_scenario"]
__all__ += ["run_scenario", "scenario_home"]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
