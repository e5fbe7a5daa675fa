"""Inbound messages from the homeserver."""
