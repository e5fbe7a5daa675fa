"""Metrics in the text format of Prometheus, computed from events and requests."""
