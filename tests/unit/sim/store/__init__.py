"""Tests of `trunkline.sim.store`."""
