"""Tests of `trunkline.core`."""
