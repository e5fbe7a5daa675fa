"""Crashes everywhere: a scenario run once per commit and once per step, with the process ended there."""

from trunkline.sim.explore.crash_plan import CrashPoints, CrashTrial, Sampling
from trunkline.sim.explore.explorer import PROMISES, Breach, CrashRun, Explorer
from trunkline.sim.explore.visible_difference import DifferenceCause, VisibleDifference

__all__ = [
    "PROMISES",
    "Breach",
    "CrashPoints",
    "CrashRun",
    "CrashTrial",
    "DifferenceCause",
    "Explorer",
    "Sampling",
    "VisibleDifference",
]
