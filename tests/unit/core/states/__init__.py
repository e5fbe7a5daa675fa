"""Tests of `trunkline.core.states`."""
