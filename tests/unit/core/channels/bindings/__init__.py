"""Tests of `trunkline.core.channels.bindings`."""
