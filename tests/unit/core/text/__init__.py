"""Tests of `trunkline.core.text`."""
