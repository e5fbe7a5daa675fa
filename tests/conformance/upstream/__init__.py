"""Rules that only upstream has, for its conformance tables."""
