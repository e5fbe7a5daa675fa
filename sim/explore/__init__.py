"""Crash exploration: runs a scenario once per commit and step, and ends the process there."""

from trunkline.sim.explore.crash_plan import Sampling
from trunkline.sim.explore.explorer import PROMISES, CrashRun, Explorer

__all__ = ["PROMISES", "CrashRun", "Explorer", "Sampling"]
