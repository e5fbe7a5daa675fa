"""Tests of `trunkline.core.events`."""
