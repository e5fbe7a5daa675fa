"""Tests of `trunkline.core.calendar`."""
