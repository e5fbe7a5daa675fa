"""Tests of `trunkline.core.channels`."""
