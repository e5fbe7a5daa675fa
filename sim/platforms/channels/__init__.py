"""The fake platforms, one per module."""
