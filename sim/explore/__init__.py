"""Crash exploration: runs a scenario once per commit and step, and ends the process there."""

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
