"""Slack on the wire."""
