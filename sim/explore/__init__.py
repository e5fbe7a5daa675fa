"""Crash exploration: runs a scenario once per commit and step, and ends the process there."""

from trunkline.sim.explore.crash_plan import Sampling
from trunkline.sim.explore.explorer import PROMISES, CrashRun, Explorer
from trunkline.sim.explore.visible_difference import DifferenceCause

__all__ = ["PROMISES", "CrashRun", "DifferenceCause", "Explorer", "Sampling"]
