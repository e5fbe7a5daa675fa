"""Tests of `trunkline.sim.attach`."""
