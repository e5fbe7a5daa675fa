"""Tests of `trunkline.core.records`."""
