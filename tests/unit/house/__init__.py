"""The rules of the house, and what its documents say."""
