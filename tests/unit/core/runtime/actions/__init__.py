"""Tests of `trunkline.core.runtime.actions`."""
