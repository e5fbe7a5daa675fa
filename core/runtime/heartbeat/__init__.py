"""Runs heartbeats and the schedule: timers, wake-ups, guards, and what becomes of the text."""
