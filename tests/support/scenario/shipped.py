"""The scenarios that ship, each read once for all tests of a process: reading all of them takes seconds."""

from functools import cache
from pathlib import Path

from tests.support.paths import ATTACH_FILES, SCENARIO_FILES
from trunkline.sim import ScenarioFile, load_scenario
from trunkline.sim.plugins import OURS
from trunkline.sim.scenario.attach_only import attach_only


@cache
def shipped_scenario(path: Path) -> ScenarioFile:
    """The scenario of a file, with the names of defects and invariants checked."""
    return load_scenario(path, names=OURS)


@cache
def played_here() -> list[Path]:
    """The files that `trunkline run` plays, in order: all but those that need a gateway that is not ours.

    Only those of that folder are read for it: it is asked when tests are collected.
    """
    ours = [path for path in ATTACH_FILES if not attach_only(shipped_scenario(path))]
    return sorted([*SCENARIO_FILES, *ours])
