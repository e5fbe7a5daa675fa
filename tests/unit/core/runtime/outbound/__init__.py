"""Tests of `trunkline.core.runtime.outbound`."""
