"""Tests of `trunkline.core.store`."""
