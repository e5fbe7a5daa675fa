"""Heartbeats and the schedule of a running gateway."""
