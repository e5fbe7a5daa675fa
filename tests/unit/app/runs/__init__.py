"""Tests of `trunkline.app.runs`."""
