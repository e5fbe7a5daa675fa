"""Tests of `trunkline.sim.scenario`."""
