"""Tests of `trunkline.core.bindings`."""
