"""Tests of `trunkline.sim.explore`."""
