"""Tests of `trunkline.core.text.markup`."""
