"""Tests of `trunkline.app.view.explain`."""
