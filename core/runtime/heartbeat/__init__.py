"""Runs heartbeats and the schedule: timers, wake-ups, guards, and the outcome of their texts."""
