"""Tests of `trunkline.app.view.timeline`."""
