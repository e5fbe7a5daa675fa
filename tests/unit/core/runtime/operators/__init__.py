"""Tests of `trunkline.core.runtime.operators`."""
