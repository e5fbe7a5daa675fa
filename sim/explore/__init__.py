"""Crashes everywhere: a scenario run once per commit and once per step, with the process ended there."""

from trunkline.sim.explore.crash_plan import Points, Sampling, Trial
from trunkline.sim.explore.explorer import PROMISES, Breach, Explorer, Tried
from trunkline.sim.explore.visible_difference import Cause, Difference

__all__ = ["PROMISES", "Breach", "Cause", "Difference", "Explorer", "Points", "Sampling", "Trial", "Tried"]
