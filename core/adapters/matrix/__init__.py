"""The adapter of Matrix."""
