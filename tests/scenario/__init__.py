"""Scenario files and their golden histories."""
