"""Tests of `trunkline.core.runtime`."""
