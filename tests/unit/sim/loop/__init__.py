"""Tests of `trunkline.sim.loop`."""
