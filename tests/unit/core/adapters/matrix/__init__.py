"""The decisions of the adapter of Matrix."""
