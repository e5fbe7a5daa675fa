"""Tests of `trunkline.core.runtime.client_sends`."""
