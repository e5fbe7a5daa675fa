"""Crashes everywhere: a scenario run once per commit and once per step, with the process ended there."""

from sim.explore.explorer import PROMISES, Breach, Explorer, Tried
from sim.explore.points import Points, Sampling, Trial
from sim.explore.truth import Cause, Difference

__all__ = ["PROMISES", "Breach", "Cause", "Difference", "Explorer", "Points", "Sampling", "Trial", "Tried"]
