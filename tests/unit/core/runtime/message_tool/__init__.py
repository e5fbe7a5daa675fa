"""Tests of `trunkline.core.runtime.message_tool`."""
