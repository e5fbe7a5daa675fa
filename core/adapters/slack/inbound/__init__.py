"""Inbound messages from Slack: by sockets or by HTTP, as envelopes."""
