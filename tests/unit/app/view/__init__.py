"""Tests of `trunkline.app.view`."""
