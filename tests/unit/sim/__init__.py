"""Tests of `trunkline.sim`."""
