"""Tests of `trunkline.core.routing`."""
