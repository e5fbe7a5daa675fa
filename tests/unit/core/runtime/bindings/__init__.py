"""Tests of `trunkline.core.runtime.bindings`."""
