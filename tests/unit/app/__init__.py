"""Tests of `trunkline.app`."""
