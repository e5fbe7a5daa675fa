"""Tests of `trunkline.core.delivery.chunking`."""
