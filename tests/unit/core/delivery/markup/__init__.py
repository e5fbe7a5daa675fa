"""Tests of `trunkline.core.delivery.markup`."""
