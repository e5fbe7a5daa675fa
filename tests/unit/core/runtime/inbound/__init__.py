"""Tests of `trunkline.core.runtime.inbound`."""
