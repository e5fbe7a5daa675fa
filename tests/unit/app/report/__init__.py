"""Tests of `trunkline.app.report`."""
