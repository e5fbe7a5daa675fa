"""Tests of `trunkline.core.text.chunking`."""
