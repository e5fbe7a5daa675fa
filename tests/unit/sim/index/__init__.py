"""Tests of `trunkline.sim.index`."""
