"""Scenario files on the wire."""
