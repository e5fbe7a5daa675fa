"""Tests of `trunkline.sim.invariants`."""
