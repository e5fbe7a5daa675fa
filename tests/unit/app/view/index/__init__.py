"""Tests of `trunkline.app.view.index`."""
