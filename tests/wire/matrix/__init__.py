"""The adapter of Matrix against its server on the wire."""
