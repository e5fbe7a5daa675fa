"""Tests of `trunkline.core.keys`."""
