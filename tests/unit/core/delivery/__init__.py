"""Tests of `trunkline.core.delivery`."""
