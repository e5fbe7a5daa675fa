"""Tests of `trunkline.app.view.sessions`."""
