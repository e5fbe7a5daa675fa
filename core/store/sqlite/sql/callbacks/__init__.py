"""Callbacks: the report of a delegation, long results, and requests left for the gateway."""
