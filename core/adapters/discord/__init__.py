"""The adapter of Discord."""
