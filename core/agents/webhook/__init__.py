"""Webhooks as agents: each turn is posted to a URL, and the response has the answer."""
