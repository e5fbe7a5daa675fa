"""The adapter of Signal."""
