"""Tests of `trunkline.core.sessions`."""
